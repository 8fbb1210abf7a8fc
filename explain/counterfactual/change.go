package counterfactual

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A Change is what is otherwise in a round. The zero Change changes nothing.
type Change struct {
	Without string                 // this site said nothing
	Carbon  *protocol.Microdollars // per kilogram
	Job     protocol.JobID         // whose Only and Slack are meant
	Only    string                 // no other site offered for the job
	Slack   time.Duration          // the job's deadline is later by this, and it may be deferred
}

// A Moved is one job of a round that was cleared twice.
type Moved struct {
	Job      protocol.Job
	Was, Now auction.Decision
}

// An Outcome is a round cleared as it was, and again with a change. Decisions
// are in the order of the round's jobs.
type Outcome struct {
	Jobs     []Moved
	Was, Now protocol.Certificate
}

// Moves counts the jobs that would have gone to another site, or at another
// time.
func (o Outcome) Moves() (n int) {
	for _, m := range o.Jobs {
		if !Alike(m.Was, m.Now) {
			n++
		}
	}
	return n
}

// Alike reports whether two decisions are the same but for their reasons.
func Alike(x, y auction.Decision) bool {
	return x.Verdict == y.Verdict && x.Site == y.Site && x.Option == y.Option
}

// Clear clears a round again: as it was, which has to give what the ledger
// says, and then with a change. The error says why it cannot be.
func (r *Run) Clear(round uint64, c Change) (Outcome, error) {
	i, ok := r.index[round]
	if !ok {
		return Outcome{}, fmt.Errorf("again: round %d cannot be cleared again: %s", round, r.why())
	}
	was := r.rounds[i]
	state := r.state(i)
	out := Outcome{Was: was.out.Proof}
	if got := state.Clone().Clear(was.in); !slices.EqualFunc(got.Decisions, was.out.Decisions, Alike) || got.Proof != was.out.Proof {
		return Outcome{}, fmt.Errorf("again: round %d cannot be cleared again: the same inputs give another outcome", round)
	}
	now := state.Clear(c.apply(was.in))
	out.Now = now.Proof
	for k, lot := range was.in.Lots {
		out.Jobs = append(out.Jobs, Moved{lot.Job, was.out.Decisions[k], now.Decisions[k]})
	}
	return out, nil
}

// why says why a round is not known.
func (r *Run) why() string {
	missing := ""
	if r.live != nil {
		missing = r.live.missing()
	}
	return cmp.Or(r.fault, missing, "the ledger does not hold what it was cleared from")
}

// state returns an auction as it was before the ith round.
func (r *Run) state(i int) *auction.Auction {
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

// apply returns the round as it would have been.
func (c Change) apply(in auction.Round) auction.Round {
	if c.Carbon != nil {
		in.Terms.Carbon = *c.Carbon
	}
	if c.Without != "" {
		in.Sites = slices.DeleteFunc(slices.Clone(in.Sites), func(s auction.Site) bool { return s.Name == c.Without })
	}
	in.Leeway = auction.Leeway{} // what a judge would have said is not known
	in.Lots = slices.Clone(in.Lots)
	for i := range in.Lots {
		l := &in.Lots[i]
		mine := l.Job.ID == c.Job
		l.Menus = slices.DeleteFunc(slices.Clone(l.Menus), func(m auction.Menu) bool {
			return m.Site == c.Without && c.Without != "" || mine && c.Only != "" && m.Site != c.Only
		})
		if mine && c.Slack != 0 {
			l.Job.Deadline, l.Job.Deferrable = l.Job.Deadline.Add(c.Slack), true
		}
	}
	return in
}
