package bound

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// leastCostInParts returns the lowest cost of a job that is paused at least once, or a value
// not below best. The search uses a price of work; here the cheapest hours are bought
// one after the other until the work is done.
func (k *certificateChecker) leastCostInParts(j protocol.Job, all []runOption, never, best float64) float64 {
	p := pausedJob{k: k, j: j, pauseOverhead: float64(j.Pause) / float64(j.Run), hidden: jobRoundingError + 2*hourlyRoundingBound(k.weights)}
	// In parts at one site: no input is moved twice.
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
		best = min(best, p.leastCost(p.runs[0].transferCost-2*p.hidden, best))
	}
	// In parts across sites: at least one move between two of them.
	p.runs = all
	if moving := k.leastMoveCost(j, all); !math.IsInf(moving, 1) {
		best = min(best, p.leastCost(moving-2*p.hidden, best))
	}
	// Never finished: the job may run wherever that earns money, up to the end.
	if never-p.hidden-p.maxSavingRate(p.hidden/j.Pause.Hours())*k.end.Sub(j.Arrival).Hours() < best {
		best = min(best, never+p.neverFinishedCost())
	}
	return best
}

// leastMoveCost returns the lowest cost of moving a paused job between two sites.
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

// pausedJob is a job that runs in segments.
type pausedJob struct {
	k             *certificateChecker
	j             protocol.Job
	runs          []runOption // allowed for its segments
	pauseOverhead float64     // work that a pause adds, as a fraction of the job
	hidden        float64     // rounding error of a segment's bill
}

// leastCost buys the work before the deadline, and then with ever more time past it,
// until lateness alone costs more than best, or as much as it can: see lateLimit. Work beyond the
// required one is worth at most floor for a whole job, because further pauses could use it.
func (p pausedJob) leastCost(fixed, best float64) float64 {
	due, floor := max(p.j.Arrival, p.j.Deadline), p.hidden/p.pauseOverhead
	// Work before the deadline has no lateness.
	on := p.workBetween(p.j.Arrival, due, 0)
	// A cheap lower bound first; it often suffices.
	lowest := fixed + floor*(1+p.pauseOverhead)
	for _, s := range on {
		lowest += min(s.cost-floor*s.work, 0)
	}
	fastest := 0.0
	for _, r := range p.runs {
		fastest = max(fastest, p.workPerHour(r))
	}
	hour, saves := float64(protocol.GPUHoursCost(chargedGPUs(p.j), time.Hour, p.k.weights.Late)), p.maxSavingRate(floor*fastest)
	limit, most := p.lateLimit(due, hour)
	if limit < p.k.end && lowest+most-saves*p.k.end.Sub(due).Hours() < best {
		// From the limit on all time until the end costs the same.
		best = min(best, fixed+most+p.buyWork(p.workBetween(p.j.Arrival, p.k.end, 0), floor))
	}
	if lowest >= best {
		return best
	}
	best = min(best, fixed+p.buyWork(on, floor))
	// Without a cost of lateness all time counts alike.
	if hour == 0 {
		return min(best, fixed+p.buyWork(p.workBetween(p.j.Arrival, p.k.end, 0), floor))
	}
	for at := due; at < limit; {
		past := float64(at-due) / msHour
		if lowest+(hour-saves)*past >= best && hour >= saves {
			break
		}
		next := min(p.pieceEnd(at), limit)
		best = min(best, fixed+hour*past+p.buyWork(append(slices.Clone(on), p.workBetween(at, next, hour)...), floor))
		on = append(on, p.workBetween(at, next, 0)...)
		at = next
	}
	return best
}

// lateLimit returns the instant from which lateness costs no more, and what it costs then; the end
// of all replays if it has no limit before that. Hour is the price of an hour.
func (p pausedJob) lateLimit(due protocol.Time, hour float64) (protocol.Time, float64) {
	if hour == 0 || p.k.weights.LateMost == 0 {
		return p.k.end, 0
	}
	most := float64(p.k.weights.MostLateCost(&p.j))
	return min(p.k.end, due+protocol.Time(most/hour*msHour)), most
}

// maxSavingRate returns an upper bound, plus more, of what an hour of running can earn.
func (p pausedJob) maxSavingRate(more float64) float64 {
	v := 0.0
	for _, r := range p.runs {
		v = max(v, hourlyRoundingBound(p.k.weights)+r.power*max(-r.grid.least, 0))
	}
	return v + more
}

// chargedGPUs returns the thousandths of GPUs on which delay and lateness are charged;
// sixteen cores count as one GPU (METHOD, section 1).
func chargedGPUs(j protocol.Job) protocol.Milli {
	if j.TotalGPUMilli() == 0 {
		return j.CPU / 16
	}
	return j.TotalGPUMilli()
}

// workPerHour returns the fraction of the job that a run does in an hour.
func (p pausedJob) workPerHour(r runOption) float64 {
	v := int64(1000)
	if r.config.Choice.Speed > 0 {
		v = int64(r.config.Choice.Speed)
	}
	return float64(v) / 1000 / r.run.Hours()
}

// A workOffer is an amount of work that can be bought, with its cost.
type workOffer struct{ work, cost float64 }

// buyWork returns the cost of doing all work, cheapest stretches first. Every stretch
// cheaper than floor is bought; excess work is sold back at floor.
func (p pausedJob) buyWork(of []workOffer, floor float64) (cost float64) {
	// Cheapest per work first; cross-multiplied, so that nothing is divided by zero.
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
		return math.Inf(1) // the work cannot be done in time
	}
	return cost + floor*left
}

// pieceEnd returns the end of the interval around t within which rates and prices are
// constant.
func (p pausedJob) pieceEnd(t protocol.Time) protocol.Time {
	from := protocol.Time(p.k.c.From)
	return min(t.Floor(time.Hour).Add(time.Hour), from.Add(t.Sub(from).Truncate(p.k.c.Slot)+p.k.c.Slot))
}

// workBetween returns the work that can be bought in [from, to), with more added to the
// cost of each hour.
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

// convexHullAt returns the lower convex hull of cost over work at t, from pausing to the
// fastest run, as steps of increasing cost per work.
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

// costPerHour returns the cost of an hour of a segment at t.
func (r runOption) costPerHour(t protocol.Time) float64 {
	rate := r.grid.hours[int((t-r.grid.from)/msHour)]
	v := r.power*rate + r.part*max(rate, 0) - hourlyRoundingBound(r.k.weights)
	if i := int((t - protocol.Time(r.k.c.From)) / protocol.Time(r.k.c.Slot.Milliseconds())); i < len(r.room) {
		v += float64(r.room[i]) * float64(r.gpus) / 1000
	}
	return v
}

// neverFinishedCost returns what a job earns that is paused and never finished: in each hour
// with a negative cost it may run a segment of a pause's length.
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
