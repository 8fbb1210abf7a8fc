package agents

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/protocol"
)

// bidPricing prices options for one call.
type bidPricing struct {
	agent    *Agent
	now      protocol.Time
	weights  protocol.Weights
	planning protocol.Planning // valid
	shadow   shadowPrices
	strategy MarginalCost // decides which starts and options are priced
	// estimated says that the job states no run time, and has this site's estimate. Waiting and
	// lateness are priced as the market will, which does not know the estimate.
	estimated bool
	// called is an elastic job as it was called while one of its sizes is priced: its waiting and lateness are
	// priced as the market will, whatever its size. Else nil.
	called *protocol.Job
	lent   *lendingPlan // see lendingPlan; nil: not computed yet

	shared []sharedBid   // of the jobs so far, the newest last
	latest protocol.Time // finish of all options that were priced for a job

	spreads []protocol.Spread     // of the gangs so far
	holes   []protocol.Hole       // of the gangs so far, for options that start later
	largest []protocol.LargestSet // of the gangs so far that the site can never hold
	within  []protocol.JobID      // gangs so far with options that keep to the topology that they require
}

// lendingPlan returns what jobs of other tenants hold, for all jobs of the call.
func (p *bidPricing) lendingPlan() lendingPlan {
	if p.lent == nil {
		lent := p.agent.planLending(p.now, "")
		p.lent = &lent
	}
	return *p.lent
}

// A pricedOption is an option and its cost by the call's weights, the price of capacity included.
type pricedOption struct {
	protocol.BidOption
	cost protocol.Microdollars
}

// bidsForJob returns the options for a job, or why there are none. The order of the checks
// matters: the market rejects a job for good only for permanent reasons, so temporary ones replace
// them while the site's nodes are incomplete.
func (p *bidPricing) bidsForJob(j protocol.Job) protocol.JobBids {
	a := p.agent
	if len(j.Regions) > 0 && !slices.Contains(j.Regions, a.cfg.Site) {
		return protocol.JobBids{Job: j.ID, Why: protocol.Reason{Code: protocol.NotAllowed}}
	}
	if why := a.cfg.Terms.Refusal(&j); why != "" {
		return protocol.JobBids{Job: j.ID, Why: protocol.Reason{Code: protocol.RefusedByTerms, Note: a.cfg.Site + " " + why}}
	}
	if until := a.rebidAfter[j.ID]; until > p.now {
		return protocol.JobBids{Job: j.ID, Why: protocol.Reason{Code: protocol.NoCapacity, Note: "this site lost it, and does not offer for it before " + until.String()}}
	}
	if a.curve == nil {
		return protocol.JobBids{Job: j.ID, Why: protocol.Reason{Code: protocol.NoSignal}}
	}
	if a.cfg.Network.transferTime(j, a.cfg.Site) > protocol.MaxRun {
		return protocol.JobBids{Job: j.ID, Why: protocol.Reason{Code: protocol.PastDeadline, Note: "its input takes over 720h to come"}}
	}
	known := len(p.largest)
	m := p.bidsForEqual(j)
	if pods := p.fewerPods(&j, m.Options); pods > 0 {
		p.largest = p.largest[:known]
		fewer := p.bidsForSize(j.WithPodCount(pods), len(m.Options))
		if m.Options, m.Why = append(m.Options, fewer.Options...), fewer.Why; len(m.Options) > 0 {
			m.Why = protocol.Reason{}
		}
	}
	return m
}

// bidsForSize returns the options for a job with the pods that it has, or why there are none. Before is
// how many options there are for it with more pods.
func (p *bidPricing) bidsForSize(j protocol.Job, before int) protocol.JobBids {
	a := p.agent
	var ways []capacity.RunConfig
	var why protocol.Reason
	if a.delivery.AsOffered {
		ways, why = a.fleet.AppendRunConfigs(a.ways[:0], &j)
		a.ways = ways
	} else if w, reason, ok := a.fleet.Default(p.now, j); ok {
		ways = []capacity.RunConfig{w}
	} else {
		why = reason
	}
	if len(ways) == 0 {
		switch {
		case p.now < a.nodeLossUntil:
			why = protocol.Reason{Code: protocol.NoCapacity, Note: "nodes of this site are gone, and may come back"}
		case len(a.fleet.PoolTotals()) == 0: // restarted: the inventory has not come yet
			why = protocol.Reason{Code: protocol.NoCapacity, Note: "this site does not know its nodes yet"}
		case j.IsGang() && why.Code == protocol.FitsNoNode:
			p.largest = append(p.largest, protocol.LargestSet{Job: j.ID, Pods: a.fleet.LargestSet(&j)})
		}
		return protocol.JobBids{Job: j.ID, Why: why}
	}
	options := a.proposeOptions(&BidRequest{Now: p.now, Site: a.cfg.Site, Job: j, Weights: p.weights, Planning: p.planning, Ways: ways, pricing: p})
	if j.IsGang() {
		options = p.spreadOptions(&j, ways, options, before)
		if j.LimitsPlaces() && len(options) > 0 && !slices.Contains(p.within, j.ID) {
			p.within = append(p.within, j.ID) // SpreadAt knows no others
		}
	}
	if len(options) == 0 {
		a.lackedCapacity = true
		why := protocol.Reason{Code: protocol.NoCapacity}
		if !a.cfg.Terms.IsZero() && !a.cfg.Terms.IsOwn(j.Tenant) {
			why.Note = "on its terms for other tenants"
		} else if j.IsGang() {
			why.Note = fmt.Sprintf("room for %d of its %d pods", a.fleet.PodsThatFit(p.now, &j, "", ways[0].Run), j.PodCount())
		}
		return protocol.JobBids{Job: j.ID, Why: why}
	}
	return protocol.JobBids{Job: j.ID, Options: options}
}

// optionsPerModel returns the options on each GPU model, soonest first. Every job gets options on
// every model: if all jobs were bid only the cheapest one, the market would find it full, without
// alternatives among the bids.
func (p *bidPricing) optionsPerModel(j *protocol.Job, ways []capacity.RunConfig) (out []protocol.BidOption) {
	models := 1
	for i := 1; i < len(ways); i++ {
		if ways[i].Model != ways[i-1].Model {
			models++
		}
	}
	most := p.strategy.maxOptions()
	out = make([]protocol.BidOption, 0, models*min(most, maxOptions))
	for len(ways) > 0 {
		n := slices.IndexFunc(ways, func(w capacity.RunConfig) bool { return w.Model != ways[0].Model })
		if n < 0 {
			n = len(ways)
		}
		out = p.startsOf(j, ways[:n]).appendSpread(out, most)
		ways = ways[n:]
	}
	if models > 1 {
		slices.SortStableFunc(out, byStart)
	}
	return out
}

// byStart orders options by start.
func byStart(x, y protocol.BidOption) int { return cmp.Compare(x.Start, y.Start) }

// firstAllowedOpening returns the first start, at or after an opening, that the site's terms allow
// and for which there is capacity; false if there is none.
func (c *configPricing) firstAllowedOpening(j *protocol.Job, model string, opening protocol.Time, length time.Duration, terms *termsCheck) (start protocol.Time, ok bool) {
	for start = opening; ; start = opening {
		if opening, ok = terms.earliest(start, length); !ok || opening == start {
			return start, ok
		}
		if opening, ok = c.agent.fleet.EarliestStart(c.now, *j, model, opening, c.run); !ok {
			return 0, false
		}
	}
}

// needsNodeByNode reports whether a later start must be searched node by node: from FirmLead
// before the deadline on the market has the site reserve it, and for several GPUs the total of
// free GPUs does not tell whether one node has them.
func (p *bidPricing) needsNodeByNode(j *protocol.Job, finish protocol.Time) bool {
	return j.GPUs > 1 || j.IsGang() || finish.Add(p.planning.FirmLead) > j.Deadline
}

// asDeclared returns j as its submitter described it: without the estimate of its run time.
func (p *bidPricing) asDeclared(j *protocol.Job) *protocol.Job {
	if !p.estimated {
		return j
	}
	declared := *j
	declared.Run = 0
	return &declared
}

// isCheaperOption reports whether x beats y; ties go by finish, model and cap, so that the result
// does not depend on the order of search.
func isCheaperOption(x, y *pricedOption) bool {
	return cmp.Or(cmp.Compare(x.cost, y.cost), cmp.Compare(x.Finish, y.Finish),
		cmp.Compare(x.Model, y.Model), cmp.Compare(x.Cap, y.Cap)) < 0
}
