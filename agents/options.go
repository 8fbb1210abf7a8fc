package agents

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/protocol"
)

// pricing makes the menus of one call.
type pricing struct {
	agent    *Agent
	now      protocol.Time
	terms    protocol.Weights
	planning protocol.Planning // valid
	shadow   shadow
	strategy MarginalCost // of starts and options
}

// A priced option is what one option costs by the call's own terms, with the
// room that it takes paid for.
type priced struct {
	protocol.Option
	cost protocol.Microdollars
}

// menu returns the options for a job, or why there is none.
func (p *pricing) menu(j protocol.Job) protocol.Menu {
	a := p.agent
	if len(j.Regions) > 0 && !slices.Contains(j.Regions, a.cfg.Site) {
		return protocol.Menu{Job: j.ID, Why: protocol.Reason{Code: protocol.NotAllowed}}
	}
	if until := a.rests[j.ID]; until > p.now {
		return protocol.Menu{Job: j.ID, Why: protocol.Reason{Code: protocol.NoRoom, Note: "this site lost it, and does not offer for it before " + until.String()}}
	}
	if a.curve == nil {
		return protocol.Menu{Job: j.ID, Why: protocol.Reason{Code: protocol.NoSignal}}
	}
	if a.cfg.Network.takes(j, a.cfg.Site) > protocol.MaxRun {
		return protocol.Menu{Job: j.ID, Why: protocol.Reason{Code: protocol.PastDeadline, Note: "its input takes over 720h to come"}}
	}
	var ways []capacity.Way
	var why protocol.Reason
	if a.delivery.AsOffered {
		ways, why = a.fleet.Ways(j)
	} else if w, reason, ok := a.fleet.Plain(p.now, j); ok {
		ways = []capacity.Way{w}
	} else {
		why = reason
	}
	if len(ways) == 0 {
		switch {
		case p.now < a.absent:
			why = protocol.Reason{Code: protocol.NoRoom, Note: "nodes of this site are gone, and may come back"}
		case len(a.fleet.Pools()) == 0: // begun anew: what it consists of is not known yet
			why = protocol.Reason{Code: protocol.NoRoom, Note: "this site does not know its nodes yet"}
		}
		return protocol.Menu{Job: j.ID, Why: why}
	}
	options := a.proposeOptions(&BidRequest{Now: p.now, Site: a.cfg.Site, Job: j, Weights: p.terms, Planning: p.planning, Ways: ways, pricing: p})
	if len(options) == 0 {
		a.short = true
		return protocol.Menu{Job: j.ID, Why: protocol.Reason{Code: protocol.NoRoom}}
	}
	return protocol.Menu{Job: j.ID, Options: options}
}

// options returns what is offered on each GPU model, soonest first. Every job is
// offered every model: if all were offered the one that is cheapest for all, the
// market would find it full, and nothing of the others on the menu.
func (p *pricing) options(j protocol.Job, ways []capacity.Way) (out []protocol.Option) {
	for len(ways) > 0 {
		n := slices.IndexFunc(ways, func(w capacity.Way) bool { return w.Model != ways[0].Model })
		if n < 0 {
			n = len(ways)
		}
		out = append(out, choose(p.starts(j, ways[:n]), p.strategy.maxOptions())...)
		ways = ways[n:]
	}
	slices.SortStableFunc(out, byStart)
	return out
}

func byStart(x, y protocol.Option) int { return cmp.Compare(x.Start, y.Start) }

// starts returns, for each start that is worth a thought, the best of some ways to
// run then, soonest first.
func (p *pricing) starts(j protocol.Job, ways []capacity.Way) []priced {
	best := make(map[protocol.Time]priced)
	for _, w := range ways {
		run := w.Run + p.agent.cfg.Network.takes(j, p.agent.cfg.Site)
		model := w.Model
		if !p.strategy.SweepModelsAndCaps {
			model = ""
		}
		earliest := p.now
		place, ok := p.agent.fleet.Place(p.now, j, model, run)
		if !ok {
			if earliest, ok = p.agent.fleet.Opening(p.now, j, model, p.now, run); !ok {
				continue
			}
			if earliest <= p.now {
				earliest = p.now.Add(time.Second) // fits by sums, not by placement
			}
		}
		last := earliest
		if p.strategy.TemporalShift && j.Deferrable {
			last = max(earliest, min(capacity.Latest(j, run), p.now.Add(p.planning.Horizon)))
		}
		idle := protocol.Milliwatts(0)
		if p.strategy.ChargeIdle {
			idle = p.agent.fleet.Share(j, w.Model)
		}
		opening := protocol.Time(0) // from there back to where it was looked for there is none
		for t := earliest; t <= last; t = t.Add(time.Second).Ceil(p.planning.Slot) {
			at := capacity.Place{}
			if t == p.now {
				at = place
			}
			// By FirmLead before the deadline the market has a site keep the room, so it
			// is looked for node by node; and always for jobs of several GPUs: of their
			// room the sum of what is free says nothing.
			if t > earliest && (j.GPUs > 1 || t.Add(run+p.planning.FirmLead) > j.Deadline) {
				if t > opening {
					if opening, ok = p.agent.fleet.Opening(p.now, j, w.Model, t, run); !ok {
						break // nor is there later
					}
				}
				if t < opening {
					continue
				}
			}
			if o := p.price(j, w, t, run, idle, at); better(o, best[t]) {
				best[t] = o
			}
		}
	}
	out := make([]priced, 0, len(best))
	for _, t := range slices.Sorted(maps.Keys(best)) {
		out = append(out, best[t])
	}
	return out
}

// price says what it takes to run j one way from a start on. Idle is its share of
// what its node draws for being awake.
func (p *pricing) price(j protocol.Job, w capacity.Way, start protocol.Time, run time.Duration, idle protocol.Milliwatts, at capacity.Place) priced {
	finish := start.Add(run)
	o := protocol.Option{Start: start, Finish: finish, Model: w.Model, Cap: w.Choice.Cap, Fragment: at.Fragment, Score: at.Score}
	o.Energy, o.Carbon, o.Money = p.agent.curve.Cost(start, finish, w.Power)
	if idle > 0 {
		_, carbon, money := p.agent.curve.Cost(start, finish, idle)
		o.Awake = money + p.terms.CarbonCost(carbon)
	}
	o.Transfer = p.agent.cfg.Network.costs(j, p.agent.cfg.Site)
	o.Carbon += p.agent.cfg.Network.emits(j, p.agent.cfg.Site)
	room := p.shadow.of(w.Model, start, finish)
	return priced{o, p.terms.Of(j, o, room).Total() + protocol.GPUHours(j.GPU(), run, room)}
}

func better(x, y priced) bool {
	if y.Finish == 0 {
		return true
	}
	return cmp.Or(cmp.Compare(x.cost, y.cost), cmp.Compare(x.Finish, y.Finish),
		cmp.Compare(x.Model, y.Model), cmp.Compare(x.Cap, y.Cap)) < 0
}

// choose picks at most most options out of starts: the soonest, which the
// market may need; then the cheapest, and the cheapest of those that lie apart
// from the ones chosen, so that the market has other hours to turn to when all
// sites' jobs want the same one. They come out soonest first.
func choose(starts []priced, most int) []protocol.Option {
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
	out := make([]protocol.Option, len(picked))
	for i, k := range picked {
		out[i] = starts[k].Option
	}
	return out
}
