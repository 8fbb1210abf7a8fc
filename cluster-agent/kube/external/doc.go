// Package external handles what does not belong to the site's own runs in its cluster:
// foreign pods and device claims, which reduce the capacity that the site can offer,
// and Jobs of the cluster's own users, which a run borrows (a Loan): a suspended Job
// that its owner queued for the market, or one that Kueue creates. A borrowed Job is
// released and returned, and never deleted.
package external
