package agents

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/protocol"
)

// bidPricing makes the menus of one call.
type bidPricing struct {
	agent    *Agent
	now      protocol.Time
	weights  protocol.Weights
	planning protocol.Planning // valid
	shadow   shadowPrices
	strategy MarginalCost // of starts and options
}

// A pricedOption option is what one option costs by the call's own terms, with the
// room that it takes paid for.
type pricedOption struct {
	protocol.BidOption
	cost protocol.Microdollars
}

// bidsForJob returns the options for a job, or why there is none.
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
		case len(a.fleet.PoolTotals()) == 0: // begun anew: what it consists of is not known yet
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

// optionsPerModel returns what is offered on each GPU model, soonest first. Every job is
// offered every model: if all were offered the one that is cheapest for all, the
// market would find it full, and nothing of the others on the menu.
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

func byStart(x, y protocol.BidOption) int { return cmp.Compare(x.Start, y.Start) }

// bestOptionPerStart returns, for each start that is worth a thought, the best of some ways to
// run then, soonest first.
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
				earliest = p.now.Add(time.Second) // fits by sums, not by placement
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
		opening := protocol.Time(0) // from there back to where it was looked for there is none
		for t := earliest; t <= last; t = t.Add(time.Second).Ceil(p.planning.Slot) {
			at := capacity.PlacementQuote{}
			if t == p.now {
				at = place
			}
			// By FirmLead before the deadline the market has a site keep the room, so it
			// is looked for node by node; and always for jobs of several GPUs: of their
			// room the sum of what is free says nothing.
			if t > earliest && (j.GPUs > 1 || t.Add(run+p.planning.FirmLead) > j.Deadline) {
				if t > opening {
					if opening, ok = p.agent.fleet.EarliestStart(p.now, j, w.Model, t, run); !ok {
						break // nor is there later
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

// priceOption says what it takes to run j one way from a start on. Idle is its share of
// what its node draws for being awake.
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

func isCheaperOption(x, y pricedOption) bool {
	if y.Finish == 0 {
		return true
	}
	return cmp.Or(cmp.Compare(x.cost, y.cost), cmp.Compare(x.Finish, y.Finish),
		cmp.Compare(x.Model, y.Model), cmp.Compare(x.Cap, y.Cap)) < 0
}

// pickSpreadOptions picks at most most options out of starts: the soonest, which the
// market may need; then the cheapest, and the cheapest of those that lie apart
// from the ones chosen, so that the market has other hours to turn to when all
// sites' jobs want the same one. They come out soonest first.
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
