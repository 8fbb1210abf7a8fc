package auction

import "time"

// The tuned constants of the rule. Those that sites have to know, too, are the Call's
// protocol.Planning: FirmLead (2 h), MaxStartDelay (15 min) and Horizon (72 h). Each
// has a table in tuned_test.go that fails where it would change a decision.
const (
	// ampleSlack is how much time has to be left after its planned end for a job of several
	// GPUs, or one that may run at one site alone, to be left to the next full round.
	// The plan keeps its place nowhere: a node that small jobs break up meanwhile comes
	// free only when the longest of them has ended, and who has one site has no other
	// when that is full. With FirmLead's two hours such jobs were hours late
	// (decision 0012, point 9).
	ampleSlack = 6 * time.Hour

	// maxPremiumThousandths is how much more than its best option costs, in thousandths and with room
	// paid for, a job pays that has time: a tenth. In the round of its arrival the
	// plan's room looks gone, and gangs were sold for up to four times as much as a
	// dozen hours at cheap sites cost (decision 0012, point 2). The same tenth is what
	// a job that waits counts in the worth of a round (decision 0015).
	maxPremiumThousandths = 100

	// minSaving is added to that tenth, in microdollars: $0.001. Of a best option that
	// costs nothing, or is paid for, a tenth is no leeway at all, and a job would wait
	// for half an hour over a fraction of a cent.
	minSaving = 1000

	// minRecallNotice is how soon a planned start is too soon for the job to be held until then:
	// gathering, calling and awarding take seconds, and clocks of sites differ by about
	// as much, so a site keeps the place instead.
	minRecallNotice = time.Minute
)
