package counterfactual

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A RoundChange describes what differs in a round. The zero RoundChange changes nothing.
type RoundChange struct {
	Without string                 // this site does not bid
	Carbon  *protocol.Microdollars // weight of carbon, per kilogram
	Job     protocol.JobID         // the job that Only and Slack apply to
	Only    string                 // only this site bids for the job
	Slack   time.Duration          // the job's deadline is later by this, and the job is flexible
}

// A ChangedJob is one job of a round that was cleared twice.
type ChangedJob struct {
	Job      protocol.Job
	Was, Now auction.Decision

	// PlacedBefore and PlacedAfter report whether the clearing has an option for the job, whose
	// cost is in its certificate.
	PlacedBefore, PlacedAfter bool

	// KeptBefore and KeptAfter report whether it uses capacity that is kept for other jobs, which a
	// round gives a job for want of another place only.
	KeptBefore, KeptAfter bool
}

// A RoundOutcome is a round cleared unchanged and with a change. Decisions are in the
// order of the round's jobs.
type RoundOutcome struct {
	Jobs     []ChangedJob
	Was, Now protocol.Certificate
}

// CountMoves counts the jobs whose site or time differs.
func (o RoundOutcome) CountMoves() (n int) {
	for _, m := range o.Jobs {
		if !SameDecision(m.Was, m.Now) {
			n++
		}
	}
	return n
}

// PlacesSameJobs reports whether both clearings have options for the same jobs. Only then do the
// costs of their certificates compare.
func (o RoundOutcome) PlacesSameJobs() bool {
	return !slices.ContainsFunc(o.Jobs, func(x ChangedJob) bool { return x.PlacedBefore != x.PlacedAfter })
}

// TakesMoreKept reports whether the change has a job use capacity that is kept for others.
func (o RoundOutcome) TakesMoreKept() bool {
	return slices.ContainsFunc(o.Jobs, func(x ChangedJob) bool { return x.KeptAfter && !x.KeptBefore })
}

// SameDecision reports whether two decisions are the same apart from their reasons.
func SameDecision(x, y auction.Decision) bool {
	return x.Verdict == y.Verdict && x.Site == y.Site && x.Option == y.Option
}

// ClearWithChange clears a round unchanged, which must reproduce the ledger, and then with a
// change. An error says why that is impossible.
func (r *RoundReplay) ClearWithChange(round uint64, c RoundChange) (RoundOutcome, error) {
	i, err := r.indexOf(round)
	if err != nil {
		return RoundOutcome{}, err
	}
	was := r.rounds[i]
	state := r.auctionStateBefore(i)
	out := RoundOutcome{Was: was.out.Proof}
	if got := state.Clone().Clear(was.in); !slices.EqualFunc(got.Decisions, was.out.Decisions, SameDecision) || got.Proof != was.out.Proof {
		return RoundOutcome{}, fmt.Errorf("counterfactual: round %d cannot be cleared anew: the same inputs give another outcome", round)
	}
	now := state.Clear(c.applyTo(was.in))
	out.Now = now.Proof
	for k, lot := range was.in.Lots {
		out.Jobs = append(out.Jobs, ChangedJob{lot.Job, was.out.Decisions[k], now.Decisions[k], was.out.Placed[k], now.Placed[k], was.out.TakesKept[k], now.TakesKept[k]})
	}
	return out, nil
}

// ObstacleTo returns what kept a round from giving a job, which it awarded, an option of another
// site that costs less. An error says why that is not known.
func (r *RoundReplay) ObstacleTo(round uint64, job protocol.JobID, site string, o protocol.BidOption) (auction.Obstacle, error) {
	i, err := r.indexOf(round)
	if err != nil {
		return 0, err
	}
	return r.auctionStateBefore(i).CheckRound(r.rounds[i].in).ObstacleTo(job, site, o), nil
}

// indexOf returns where a round is among those that can be cleared. An error says why it is not there.
func (r *RoundReplay) indexOf(round uint64) (int, error) {
	i, ok := r.index[round]
	missing := ""
	switch {
	case ok:
		return i, nil
	case r.live != nil:
		missing = r.live.missingInput()
	}
	return 0, fmt.Errorf("counterfactual: round %d cannot be cleared anew: %s", round, cmp.Or(r.fault, missing, "the ledger does not contain the round's inputs"))
}

// auctionStateBefore returns the auction's state before the ith round: the last stored one,
// advanced by the rounds since.
func (r *RoundReplay) auctionStateBefore(i int) *auction.Auction {
	first := i
	for r.rounds[first].from == nil {
		first--
	}
	a := r.rounds[first].from.Clone()
	for ; first < i; first++ {
		a.Clear(r.rounds[first].in)
	}
	return a
}

// applyTo returns the changed round. It copies what it changes: the recorded round is cleared
// several times.
func (c RoundChange) applyTo(in auction.Round) auction.Round {
	if c.Carbon != nil {
		in.Weights.Carbon = *c.Carbon
	}
	if c.Without != "" {
		in.Sites = slices.DeleteFunc(slices.Clone(in.Sites), func(s auction.Site) bool { return s.Name == c.Without })
	}
	in.TieTolerance = auction.TieTolerance{} // a judge's answer to the changed round is unknown, so none is asked
	in.Lots = slices.Clone(in.Lots)
	for i := range in.Lots {
		l := &in.Lots[i]
		mine := l.Job.ID == c.Job
		l.Bids = slices.DeleteFunc(slices.Clone(l.Bids), func(m auction.SiteBids) bool {
			return m.Site == c.Without && c.Without != "" || mine && c.Only != "" && m.Site != c.Only
		})
		if mine && c.Slack != 0 {
			l.Job.Deadline, l.Job.Urgency = l.Job.Deadline.Add(c.Slack), protocol.UrgencyFlexible
		}
	}
	return in
}
