package agents

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// mostShared is how many bids of a call are kept for equal jobs: those of an array come one after the other.
const mostShared = 4

// A sharedBid is what was bid for a job of a call. A quote takes no room, so it holds for equal jobs of the call.
type sharedBid struct {
	job    protocol.Job
	bids   protocol.JobBids
	latest protocol.Time // finish of all options that were priced, also of those that others beat
}

// bidsForEqual returns the bids for a job: those for an equal job of the same call, if there was one.
func (p *bidPricing) bidsForEqual(j protocol.Job) protocol.JobBids {
	// An outside strategy may look at anything; gangs and elastic jobs have state beside their bids.
	if _, own := p.agent.strategy.(MarginalCost); !own || j.IsGang() || j.IsElastic() || p.called != nil || p.estimated {
		return p.bidsForSize(j, 0)
	}
	for i := range p.shared {
		if s := &p.shared[i]; s.holdsFor(&j) {
			m := s.bids
			m.Job = j.ID
			return m
		}
	}
	p.latest = 0
	m := p.bidsForSize(j, 0)
	if len(p.shared) == mostShared {
		p.shared = slices.Delete(p.shared, 0, 1)
	}
	p.shared = append(p.shared, sharedBid{j, m, p.latest})
	return m
}

// holdsFor reports whether a shared bid is that of another job, too: the jobs are equal but for the id. A job that may not wait has options of one start for each model, which depend
// on its arrival and its deadline only if one of them would be late.
func (s *sharedBid) holdsFor(y *protocol.Job) bool {
	x := &s.job
	return x.AsksTheSame(y) && x.Tenant == y.Tenant &&
		(x.Arrival == y.Arrival && x.Deadline == y.Deadline || !x.MayWait() && s.latest != 0 && s.latest <= min(x.Deadline, y.Deadline))
}
