package auction

import "time"

// The tuned constants of the rule. Those that sites need to know too are in the call's
// protocol.Planning: FirmLead (2 h), MaxStartDelay (15 min) and Horizon (72 h). tuned_test.go has
// a table for each that fails where a change would change a decision.
const (
	// ampleSlack is how much time must remain between planned end and deadline for a job of
	// several GPUs, or one bound to one site, to be left to the next full round. The plan reserves
	// its place nowhere: a node that small jobs break up becomes free only when the longest of
	// them ends, and a job with one site has no alternative once that is full. With FirmLead's two
	// hours such jobs were hours late (decision 0012, point 9).
	ampleSlack = 6 * time.Hour

	// maxPremiumThousandths is how much more than its best option a job with time to spare pays,
	// in thousandths, capacity included: a tenth. In the round of its arrival planned capacity
	// looks taken, and jobs of several GPUs were sold for up to four times the cost of a dozen
	// hours at cheap sites (decision 0012, point 2). The same tenth is what waiting costs in an
	// assignment (decision 0015).
	maxPremiumThousandths = 100

	// minSaving is added to that tenth, in microdollars: $0.001. A tenth of a best option that
	// costs nothing, or less, leaves no margin, and a job would wait half an hour for a fraction
	// of a cent.
	minSaving = 1000

	// minRecallNotice is how far ahead a planned start must be for the job to be deferred until
	// then: gathering, calling and awarding take seconds, and sites' clocks differ by about as
	// much, so for a nearer start the site reserves the capacity.
	minRecallNotice = time.Minute
)
