// Package external is about what others have in a site's cluster: pods and device
// claims that are not of the site's own runs, for which a node has less to sell, and
// Jobs of the cluster's own users, which a run takes on loan: a suspended Job that
// its owner queued for the market, or one that Kueue brings. A Job on loan is
// released and given back, and never deleted.
package external
