package agents

import (
	"cmp"
	"maps"
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
	if until := a.rebidAfter[j.ID]; until > p.now {
		return protocol.JobBids{Job: j.ID, Why: protocol.Reason{Code: protocol.NoCapacity, Note: "this site lost it, and does not offer for it before " + until.String()}}
	}
	if a.curve == nil {
		return protocol.JobBids{Job: j.ID, Why: protocol.Reason{Code: protocol.NoSignal}}
	}
	if a.cfg.Network.transferTime(j, a.cfg.Site) > protocol.MaxRun {
		return protocol.JobBids{Job: j.ID, Why: protocol.Reason{Code: protocol.PastDeadline, Note: "its input takes over 720h to come"}}
	}
	var ways []capacity.RunConfig
	var why protocol.Reason
	if a.delivery.AsOffered {
		ways, why = a.fleet.RunConfigs(j)
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
		}
		return protocol.JobBids{Job: j.ID, Why: why}
	}
	options := a.proposeOptions(&BidRequest{Now: p.now, Site: a.cfg.Site, Job: j, Weights: p.weights, Planning: p.planning, Ways: ways, pricing: p})
	if len(options) == 0 {
		a.lackedCapacity = true
		return protocol.JobBids{Job: j.ID, Why: protocol.Reason{Code: protocol.NoCapacity}}
	}
	return protocol.JobBids{Job: j.ID, Options: options}
}

// optionsPerModel returns the options on each GPU model, soonest first. Every job gets options on
// every model: if all jobs were bid only the cheapest one, the market would find it full, without
// alternatives among the bids.
func (p *bidPricing) optionsPerModel(j protocol.Job, ways []capacity.RunConfig) (out []protocol.BidOption) {
	for len(ways) > 0 {
		n := slices.IndexFunc(ways, func(w capacity.RunConfig) bool { return w.Model != ways[0].Model })
		if n < 0 {
			n = len(ways)
		}
		out = append(out, pickSpreadOptions(p.bestOptionPerStart(j, ways[:n]), p.strategy.maxOptions())...)
		ways = ways[n:]
	}
	slices.SortStableFunc(out, byStart)
	return out
}

// byStart orders options by start.
func byStart(x, y protocol.BidOption) int { return cmp.Compare(x.Start, y.Start) }

// bestOptionPerStart returns the cheapest of the given run configurations for each start that is
// worth pricing, soonest first. Starts lie on the planning's slots, except the earliest.
func (p *bidPricing) bestOptionPerStart(j protocol.Job, ways []capacity.RunConfig) []pricedOption {
	best := make(map[protocol.Time]pricedOption)
	for _, w := range ways {
		run := w.Run + p.agent.cfg.Network.transferTime(j, p.agent.cfg.Site)
		model := w.Model
		if !p.strategy.SweepModelsAndCaps {
			model = ""
		}
		earliest := p.now
		place, ok := p.agent.fleet.QuotePlacement(p.now, j, model, run)
		if !ok {
			if earliest, ok = p.agent.fleet.EarliestStart(p.now, j, model, p.now, run); !ok {
				continue
			}
			if earliest <= p.now {
				earliest = p.now.Add(time.Second) // enough GPUs are free in total, but no single node has them now
			}
		}
		last := earliest
		if p.strategy.TemporalShift && j.Deferrable {
			last = max(earliest, min(capacity.LatestStart(j, run), p.now.Add(p.planning.Horizon)))
		}
		idle := protocol.Milliwatts(0)
		if p.strategy.ChargeIdle {
			idle = p.agent.fleet.IdlePowerShare(j, w.Model)
		}
		opening := protocol.Time(0) // first start at which the job fits; there is none between the last search and it
		for t := earliest; t <= last; t = t.Add(time.Second).Ceil(p.planning.Slot) {
			at := capacity.PlacementQuote{}
			if t == p.now {
				at = place
			}
			// From FirmLead before the deadline on, the market has a site reserve the capacity, so
			// the calendar is searched node by node; always for jobs of several GPUs, because the
			// total of free GPUs does not tell whether one node has them.
			if t > earliest && (j.GPUs > 1 || t.Add(run+p.planning.FirmLead) > j.Deadline) {
				if t > opening {
					if opening, ok = p.agent.fleet.EarliestStart(p.now, j, w.Model, t, run); !ok {
						break // nor is there a later one
					}
				}
				if t < opening {
					continue
				}
			}
			if o := p.priceOption(j, w, t, run, idle, at); isCheaperOption(o, best[t]) {
				best[t] = o
			}
		}
	}
	out := make([]pricedOption, 0, len(best))
	for _, t := range slices.Sorted(maps.Keys(best)) {
		out = append(out, best[t])
	}
	return out
}

// priceOption returns the option of running j in configuration w from start on, and its cost. Idle
// is the job's share of its node's idle power.
func (p *bidPricing) priceOption(j protocol.Job, w capacity.RunConfig, start protocol.Time, run time.Duration, idle protocol.Milliwatts, at capacity.PlacementQuote) pricedOption {
	finish := start.Add(run)
	o := protocol.BidOption{Start: start, Finish: finish, Model: w.Model, Cap: w.Choice.Cap, FragmentationDelta: at.FragmentationDelta, Score: at.Score}
	o.Energy, o.Carbon, o.Money = p.agent.curve.CostBetween(start, finish, w.Power)
	if idle > 0 {
		_, carbon, money := p.agent.curve.CostBetween(start, finish, idle)
		o.NodeIdleShare = money + p.weights.CarbonCost(carbon)
	}
	o.Transfer = p.agent.cfg.Network.transferCost(j, p.agent.cfg.Site)
	o.Carbon += p.agent.cfg.Network.transferCarbon(j, p.agent.cfg.Site)
	room := p.shadow.meanPrice(w.Model, start, finish)
	return pricedOption{o, p.weights.CostOf(j, o, room).Total() + protocol.GPUHoursCost(j.TotalGPUMilli(), run, room)}
}

// isCheaperOption reports whether x beats y; ties go by finish, model and cap, so that the result
// does not depend on the order of search. The zero pricedOption loses.
func isCheaperOption(x, y pricedOption) bool {
	if y.Finish == 0 {
		return true
	}
	return cmp.Or(cmp.Compare(x.cost, y.cost), cmp.Compare(x.Finish, y.Finish),
		cmp.Compare(x.Model, y.Model), cmp.Compare(x.Cap, y.Cap)) < 0
}

// pickSpreadOptions picks at most most options: the soonest, which the market may need; then the
// cheapest, first among those at least two hours, then one hour apart from the ones picked. So the
// market has other hours to choose from when the jobs of all sites want the same one. The result
// is sorted by start.
func pickSpreadOptions(starts []pricedOption, most int) []protocol.BidOption {
	if len(starts) == 0 {
		return nil
	}
	order := make([]int, len(starts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(starts[x].cost, starts[y].cost) })
	picked := []int{0}
	for _, apart := range []time.Duration{2 * time.Hour, time.Hour, 0} {
		for _, i := range order {
			if len(picked) >= most {
				break
			}
			near := slices.ContainsFunc(picked, func(k int) bool {
				d := starts[i].Start.Sub(starts[k].Start)
				return i == k || k != 0 && max(d, -d) < apart
			})
			if !near {
				picked = append(picked, i)
			}
		}
	}
	slices.Sort(picked)
	out := make([]protocol.BidOption, len(picked))
	for i, k := range picked {
		out[i] = starts[k].BidOption
	}
	return out
}
