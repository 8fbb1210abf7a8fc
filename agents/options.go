package agents

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/fleet"
	"github.com/gridbid/gridbid/protocol"
)

// pricing makes the menus of one call.
type pricing struct {
	agent  *Agent
	now    protocol.Time
	terms  protocol.Weights
	shadow shadow
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
	if a.curve == nil {
		return protocol.Menu{Job: j.ID, Why: protocol.Reason{Code: protocol.NoSignal}}
	}
	if a.cfg.Network.takes(j, a.cfg.Site) > protocol.MaxRun {
		return protocol.Menu{Job: j.ID, Why: protocol.Reason{Code: protocol.PastDeadline, Note: "its input takes over 720h to come"}}
	}
	var ways []fleet.Way
	var why protocol.Reason
	if a.cfg.Habit.Choose {
		ways, why = a.fleet.Ways(j)
	} else if w, reason, ok := a.fleet.Plain(j); ok {
		ways = []fleet.Way{w}
	} else {
		why = reason
	}
	if len(ways) == 0 {
		return protocol.Menu{Job: j.ID, Why: why}
	}
	starts := p.starts(j, ways)
	if len(starts) == 0 {
		return protocol.Menu{Job: j.ID, Why: protocol.Reason{Code: protocol.NoRoom}}
	}
	return protocol.Menu{Job: j.ID, Options: choose(starts, a.cfg.Habit.Most)}
}

// starts returns, for each start that is worth a thought, the best way to run
// then, soonest first.
func (p *pricing) starts(j protocol.Job, ways []fleet.Way) []priced {
	best := make(map[protocol.Time]priced)
	var earliest protocol.Time
	var place fleet.Place
	for i, w := range ways {
		if i == 0 || w.Model != ways[i-1].Model {
			model := w.Model
			if !p.agent.cfg.Habit.Choose {
				model = ""
			}
			var ok bool
			if place, ok = p.agent.fleet.Place(p.now, j, model); ok {
				earliest = p.now
			} else if earliest, ok = p.agent.fleet.Earliest(p.now, j, model); !ok {
				continue
			} else if earliest <= p.now {
				earliest = p.now.Add(time.Second) // fits by sums, not by placement
			}
		}
		run := w.Run + p.agent.cfg.Network.takes(j, p.agent.cfg.Site)
		last := earliest
		if p.agent.cfg.Habit.Later && j.Deferrable {
			spare := min(margin, (j.Deadline.Sub(j.Arrival)-j.Run)/4)
			last = max(earliest, min(j.Deadline.Add(-run-spare), p.now.Add(slots*slot)))
		}
		share := p.agent.fleet.Share(j, w.Model)
		later := share * protocol.Milliwatts(p.agent.fleet.Asleep(p.now, w.Model)) / 1000
		for t := earliest; t <= last; t = t.Add(time.Second).Ceil(slot) {
			at, awake := fleet.Place{}, later
			if t == p.now {
				at, awake = place, 0
				if place.Wake > 0 {
					awake = share
				}
			}
			if o := p.price(j, w, t, run, awake, at); better(o, best[t]) {
				best[t] = o
			}
		}
	}
	out := make([]priced, 0, len(best))
	for _, t := range sortedTimes(best) {
		out = append(out, best[t])
	}
	return out
}

// margin is how long before the last possible moment a job is planned to start
// at the latest, or a quarter of its slack if that is shorter. Room that the
// plan counts on may be late, and a job that has no time left takes what there
// is.
const margin = 45 * time.Minute

// price says what it takes to run j one way from a start on. Awake is what it
// adds to the draw of nodes for being awake. A job on a node that is awake
// anyway adds nothing; one that wakes a node is charged its share of it and not
// the whole, or every job would wait for another to come first; and where the
// node is not known yet, by the share of nodes that sleep.
func (p *pricing) price(j protocol.Job, w fleet.Way, start protocol.Time, run time.Duration, awake protocol.Milliwatts, at fleet.Place) priced {
	finish := start.Add(run)
	o := protocol.Option{Start: start, Finish: finish, Model: w.Model, Cap: w.Choice.Cap, Fragment: at.Fragment, Score: at.Score}
	o.Energy, o.Carbon, o.Money = p.agent.curve.Cost(start, finish, w.Power)
	_, carbon, money := p.agent.curve.Cost(start, finish, awake)
	o.Awake = money + p.terms.CarbonCost(carbon)
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

// typical is the job that a site's rates are quoted for: one GPU, four cores.
var typical = protocol.Job{GPUs: 1, Share: 1000, CPU: 4000, Run: time.Hour}

// rates returns what energy and carbon of one busy GPU of a model would cost
// per hour, by slot.
func (p *pricing) rates(model string, from protocol.Time) []protocol.Microdollars {
	j := typical
	j.Models = []string{model}
	ways, _ := p.agent.fleet.Ways(j)
	if len(ways) == 0 || p.agent.curve == nil {
		return nil
	}
	out := make([]protocol.Microdollars, slots)
	power := ways[0].Power
	for i := range out {
		t := from.Add(time.Duration(i) * slot)
		_, carbon, money := p.agent.curve.Cost(t, t.Add(time.Hour), power)
		out[i] = money + p.terms.CarbonCost(carbon)
	}
	return out
}
