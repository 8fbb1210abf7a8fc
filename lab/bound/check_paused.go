package bound

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// leastCostInParts returns the least that a job costs that is paused at least once, or
// something that is not below best. The search sells work at a price and turns
// until the price is right; here the cheapest hours are bought one after the
// other until the work is done.
func (k *certificateChecker) leastCostInParts(j protocol.Job, all []runOption, never, best float64) float64 {
	p := pausedJob{k: k, j: j, pauseOverhead: float64(j.Pause) / float64(j.Run), hidden: jobRoundingError + 2*hourlyRoundingBound(k.weights)}
	for a := range k.s.Sites {
		p.runs = nil
		for _, r := range all {
			if r.site == a {
				p.runs = append(p.runs, r)
			}
		}
		if len(p.runs) == 0 {
			continue
		}
		best = min(best, p.leastCost(p.runs[0].moved-2*p.hidden, best))
	}
	p.runs = all
	if moving := k.leastMoveCost(j, all); !math.IsInf(moving, 1) {
		best = min(best, p.leastCost(moving-2*p.hidden, best))
	}
	if never-p.hidden-p.maxSavingRate(p.hidden/j.Pause.Hours())*k.end.Sub(j.Arrival).Hours() < best {
		best = min(best, never+p.neverFinishedCost())
	}
	return best
}

// leastMoveCost returns the least cost of a paused job's move between two sites.
func (k *certificateChecker) leastMoveCost(j protocol.Job, all []runOption) float64 {
	least := math.Inf(1)
	for _, a := range all {
		for _, b := range all {
			if a.site != b.site {
				_, paid, emitted := k.network.TransferNeeds(j.RemainderAfterPause(k.s.Sites[a.site].Name, j.Run), k.s.Sites[b.site].Name)
				least = min(least, float64(paid+k.weights.CarbonCost(emitted)))
			}
		}
	}
	return least
}

// pausedJob is a job that runs in parts.
type pausedJob struct {
	k             *certificateChecker
	j             protocol.Job
	runs          []runOption // that its parts may be
	pauseOverhead float64     // work that a pause adds, in whole jobs
	hidden        float64     // what rounding may hide of a part
}

// leastCost buys work on time, and then with one more piece past due after the other,
// until being late alone costs more than best. Work is not worth more than floor
// for a whole job, beyond what must be done: further pauses cost no more.
func (p pausedJob) leastCost(fixed, best float64) float64 {
	due, floor := max(p.j.Arrival, p.j.Deadline), p.hidden/p.pauseOverhead
	on := p.workBetween(p.j.Arrival, due, 0)
	lowest := fixed + floor*(1+p.pauseOverhead)
	for _, s := range on {
		lowest += min(s.cost-floor*s.work, 0)
	}
	if lowest >= best {
		return best
	}
	best = min(best, fixed+p.buyWork(on, floor))
	hour := float64(protocol.GPUHoursCost(chargedGPUs(p.j), time.Hour, p.k.weights.Late))
	if hour == 0 {
		return min(best, fixed+p.buyWork(p.workBetween(p.j.Arrival, p.k.end, 0), floor))
	}
	fastest := 0.0
	for _, r := range p.runs {
		fastest = max(fastest, p.workPerHour(r))
	}
	saves := p.maxSavingRate(floor * fastest)
	for at := due; at < p.k.end; {
		past := float64(at-due) / msHour
		if lowest+(hour-saves)*past >= best && hour >= saves {
			break
		}
		next := p.pieceEnd(at)
		best = min(best, fixed+hour*past+p.buyWork(append(slices.Clone(on), p.workBetween(at, next, hour)...), floor))
		on = append(on, p.workBetween(at, next, 0)...)
		at = next
	}
	return best
}

// maxSavingRate returns what no hour of running saves more of, with so much on top.
func (p pausedJob) maxSavingRate(more float64) float64 {
	v := 0.0
	for _, r := range p.runs {
		v = max(v, hourlyRoundingBound(p.k.weights)+r.power*max(-r.grid.least, 0))
	}
	return v + more
}

// chargedGPUs returns the thousandths of GPUs by which delay and lateness are charged.
func chargedGPUs(j protocol.Job) protocol.Milli {
	if j.TotalGPUMilli() == 0 {
		return j.CPU / 16
	}
	return j.TotalGPUMilli()
}

// workPerHour returns how much of the job a run does in an hour.
func (p pausedJob) workPerHour(r runOption) float64 {
	v := int64(1000)
	if r.config.Choice.Speed > 0 {
		v = int64(r.config.Choice.Speed)
	}
	return float64(v) / 1000 / p.j.Run.Hours()
}

// A workOffer is work that may be bought.
type workOffer struct{ work, cost float64 }

// buyWork returns what it costs to do all work, cheapest first, all that costs less
// than floor being bought, and sold again at floor if it is too much.
func (p pausedJob) buyWork(of []workOffer, floor float64) (cost float64) {
	slices.SortFunc(of, func(x, y workOffer) int { return cmp.Compare(x.cost*y.work, y.cost*x.work) })
	left := 1 + p.pauseOverhead
	for _, s := range of {
		if dear := s.cost > floor*s.work; dear && left <= 0 {
			break
		} else if dear && s.work >= left {
			return cost + s.cost*left/s.work
		}
		cost, left = cost+s.cost, left-s.work
	}
	if left > 1e-9 {
		return math.Inf(1) // it cannot be done in time
	}
	return cost + floor*left
}

// pieceEnd returns the end of the piece of time that begins at t, in which nothing
// changes.
func (p pausedJob) pieceEnd(t protocol.Time) protocol.Time {
	from := protocol.Time(p.k.c.From)
	return min(t.Floor(time.Hour).Add(time.Hour), from.Add(t.Sub(from).Truncate(p.k.c.Slot)+p.k.c.Slot))
}

// workBetween returns the work that may be bought in [from, to), with what each hour
// of running costs more.
func (p pausedJob) workBetween(from, to protocol.Time, more float64) (out []workOffer) {
	to = min(to, p.k.end)
	for at := from; at < to; {
		next := min(p.pieceEnd(at), to)
		hours := float64(next-at) / msHour
		for _, s := range p.convexHullAt(at, more) {
			out = append(out, workOffer{s.work * hours, s.cost * hours})
		}
		at = next
	}
	return out
}

// convexHullAt returns what one hour can do at t at the least cost, from sleeping to the
// fastest run, in steps that become dearer.
func (p pausedJob) convexHullAt(t protocol.Time, more float64) (steps []workOffer) {
	points := make([]workOffer, 0, len(p.runs))
	for _, r := range p.runs {
		points = append(points, workOffer{p.workPerHour(r), more + r.costPerHour(t)})
	}
	slices.SortFunc(points, func(x, y workOffer) int { return cmp.Or(cmp.Compare(x.work, y.work), cmp.Compare(x.cost, y.cost)) })
	last := workOffer{}
	for i := 0; i < len(points); {
		best := -1
		for k := i; k < len(points); k++ {
			if best < 0 || (points[k].cost-last.cost)*(points[best].work-last.work) < (points[best].cost-last.cost)*(points[k].work-last.work) {
				best = k
			}
		}
		steps = append(steps, workOffer{points[best].work - last.work, points[best].cost - last.cost})
		last = points[best]
		for i = best + 1; i < len(points) && points[i].work <= last.work; i++ {
		}
	}
	return steps
}

// costPerHour returns what an hour of a part costs at t.
func (r runOption) costPerHour(t protocol.Time) float64 {
	rate := r.grid.hours[int((t-r.grid.from)/msHour)]
	v := r.power*rate + r.part*max(rate, 0) - hourlyRoundingBound(r.k.weights)
	if i := int((t - protocol.Time(r.k.c.From)) / protocol.Time(r.k.c.Slot.Milliseconds())); i < len(r.room) {
		v += float64(r.room[i]) * float64(r.j.TotalGPUMilli()) / 1000
	}
	return v
}

// neverFinishedCost returns what a job earns that is paused and never ends: in each hour
// that pays for running, a part for each pause's time.
func (p pausedJob) neverFinishedCost() float64 {
	sum := -p.hidden
	for t := p.j.Arrival; t < p.k.end; {
		next := p.pieceEnd(t)
		best := 0.0
		for _, r := range p.runs {
			best = min(best, r.costPerHour(t)-p.hidden/p.j.Pause.Hours())
		}
		sum += best * float64(next-t) / msHour
		t = next
	}
	return sum
}
