package bound

import (
	"cmp"
	"math"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A job that can be paused runs whole, like any other, or is paused at least once. In
// the second case the relaxation lets it run in any slots and ways, one at a time, if
// it does all its work plus each pause's own, and pays for moving input and
// checkpoint once; further rules only add cost. The best choice of slots is a linear
// program with one constraint, the work. At a price mu for a whole job's work, slots
// choose independently, and
//
//	mu x work + sum over slots of min(0, min over ways (cost of running - mu x progress))
//
// is a lower bound of its value for any mu, and equals it for the best one.

// pauseRules has the parameters of a job's pauses.
type pauseRules struct {
	pauseOverhead float64   // work that each pause adds, as a fraction of the job
	length        float64   // duration of a pause, in slots; no segment is shorter
	hidden        float64   // rounding error of a segment's bill
	transferCosts []float64 // cost of moving the input, by site
	moving        float64   // lowest cost of moving the paused job between two sites
}

// pausedRun is one kind of segmented run: at one site or across sites, completed or not.
type pausedRun struct {
	options      []pausedOption
	fixed        float64 // cost of moving, less the rounding error of two segments
	work         float64 // required work, in whole jobs
	minWorkPrice float64 // lower bound of the price of work: below it more pauses would pay
	hides        float64 // further rounding error, for each slot of running
	due          float64 // slot from which each slot until the end is late
	until        float64 // slot from which it does not run
	lowerBound   float64 // lower bound of the value for any prices of capacity
	speed        float64 // of the fastest option
	earns        float64 // upper bound of what a slot of running earns

	mu float64 // the best price of work of the last search: a warm start
}

// A pausedOption is a way, used for a segment of a job.
type pausedOption struct {
	*runConfig
	speed float64          // fraction of the job done in a slot
	rates *cumulativeRates // of its site
	price []float64        // of its capacity, by slot
}

// A priceMix is two prices of work with the best one between them, and the weight of the
// upper price's choices in the best solution.
type priceMix struct{ low, high, part float64 }

// canPause reports whether a job can be paused.
func canPause(j protocol.Job) bool { return j.Pause > 0 }

// pauseRulesOf returns the parameters of a job's pauses.
func (m *scenarioModeller) pauseRulesOf(j protocol.Job, x *jobModel) pauseRules {
	r := pauseRules{
		pauseOverhead: float64(j.Pause) / float64(j.Run), length: float64(j.Pause) / float64(slotLength),
		hidden: jobRoundingError + 2*hourlyRoundingBound(m.weights), moving: math.Inf(1),
	}
	cost := func(j protocol.Job, to int) float64 {
		_, paid, emitted := m.network.TransferNeeds(j, m.scenario.Sites[to].Name)
		return float64(paid + m.weights.CarbonCost(emitted))
	}
	may := make([]bool, len(m.scenario.Sites))
	for k := range x.configs {
		may[x.configs[k].site] = true
	}
	// Only sites at which the job may run count for moving.
	for from, site := range m.scenario.Sites {
		r.transferCosts = append(r.transferCosts, cost(j, from))
		for to := range may {
			if from != to && may[from] && may[to] {
				r.moving = min(r.moving, cost(j.RemainderAfterPause(site.Name, j.Run), to))
			}
		}
	}
	return r
}

// addPausedRuns adds the segmented runs of a job: at each site, and across sites.
func (p *boundProblem) addPausedRuns(j *jobModel, r pauseRules) {
	// Every way may serve a segment; speed is the fraction of the job in a slot.
	bySite, all := make([][]pausedOption, len(p.sites)), make([]pausedOption, 0, len(j.configs))
	for k := range j.configs {
		w := &j.configs[k]
		l := pausedOption{runConfig: w, speed: 1 / w.run, rates: &p.sites[w.site]}
		if w.pool >= 0 {
			l.price = p.pools[w.pool].price
		}
		bySite[w.site], all = append(bySite[w.site], l), append(all, l)
	}
	for i, lanes := range bySite {
		p.addPausedRun(j, r, lanes, r.transferCosts[i])
	}
	if !math.IsInf(r.moving, 1) {
		p.addPausedRun(j, r, all, r.moving)
	}
	// The job may also never finish, and run wherever that earns money.
	p.addIfCheaperThanNeverRunning(j, pausedRun{options: all, fixed: j.neverRunCost - r.hidden, hides: r.hidden / r.length, due: float64(p.end), until: float64(p.end)})
	slices.SortStableFunc(j.pieces, func(x, y pausedRun) int { return cmp.Compare(x.lowerBound, y.lowerBound) })
}

// addPausedRun adds a segmented run that does all the work. If lateness has a limit, it adds two: one
// that ends before lateness costs that limit, and one that pays the limit and then runs whenever it
// likes. Each is convex in the work; the best of both would not be, and its price of work loose.
func (p *boundProblem) addPausedRun(j *jobModel, r pauseRules, lanes []pausedOption, moving float64) {
	run := pausedRun{
		options: lanes, fixed: moving - 2*r.hidden, work: 1 + r.pauseOverhead, minWorkPrice: r.hidden / r.pauseOverhead,
		due: min(max(j.arrival, j.deadline), float64(p.end)), until: float64(p.end),
	}
	if j.late > 0 && j.lateMost > 0 && run.due+j.lateMost/j.late < run.until {
		whenever := run
		whenever.fixed, whenever.due = run.fixed+j.lateMost, run.until
		p.addIfCheaperThanNeverRunning(j, whenever)
		run.until = run.due + j.lateMost/j.late
	}
	p.addIfCheaperThanNeverRunning(j, run)
}

// addIfCheaperThanNeverRunning adds a segmented run if it may cost less than not running the job.
func (p *boundProblem) addIfCheaperThanNeverRunning(j *jobModel, f pausedRun) {
	if len(f.options) == 0 {
		return
	}
	// Bounds that are the same for all prices, computed once.
	for _, l := range f.options {
		f.speed = max(f.speed, l.speed)
		f.earns = max(f.earns, l.hour+f.hides+float64(l.power*max(-l.rates.low, 0)))
	}
	if f.lowerBound, _ = p.bestWorkPrice(j, &f, j.neverRunCost); f.lowerBound < j.neverRunCost {
		j.pieces = append(j.pieces, f)
	}
}

// slotCost returns the cost of a slot of running, with room as the cost of its capacity.
func (l *pausedOption) slotCost(i int, room float64) float64 {
	r := l.rates
	v := float64(l.power*(r.prefixSums[i+1]-r.prefixSums[i])) + room - l.hour
	if l.awake > 0 {
		v += float64(l.awake * (r.plus[i+1] - r.plus[i]))
	}
	return v
}

// bestOptionInSlot returns the best option of a slot at a price of work (-1: pause) and the
// slot's cost minus the value of its work.
func (f *pausedRun) bestOptionInSlot(j *jobModel, i int, mu float64) (best int, value float64) {
	best = -1
	for k := range f.options {
		l := &f.options[k]
		room := 0.0
		if i < len(l.price) {
			room = float64(j.gpusOf(l.runConfig) * l.price[i])
		}
		if v := l.slotCost(i, room) - f.hides - float64(mu*l.speed); v < value {
			best, value = k, v
		}
	}
	return best, value
}

// valueAtWorkPrice returns the value of a segmented run at a price of work, the work that slots
// do, and the end of the last slot. Slots past the deadline are used as far as that
// lowers the value; all time until then counts as late, paused or not.
func (p *boundProblem) valueAtWorkPrice(j *jobModel, f *pausedRun, mu float64) (value, done, end float64) {
	value, end = f.fixed+float64(mu*f.work), f.due
	over, least, more, most := 0.0, 0.0, 0.0, 0.0
	last := f.until
	// At this price of work no slot past the deadline can pay for its lateness.
	if float64(mu*f.speed)+f.earns <= j.late {
		last = f.due // no slot is worth being late for
	}
	for t := j.arrival; t < last; {
		next := min(math.Floor(t)+1, last)
		if t < f.due {
			next = min(next, f.due)
		}
		// Up to the deadline each slot counts by itself; past it, time is late whether used or not.
		k, v := f.bestOptionInSlot(j, int(t), mu)
		v, work := float64(v*(next-t)), 0.0
		if k >= 0 {
			work = float64(f.options[k].speed * (next - t))
		}
		if t < f.due {
			value, done = value+v, done+work
		} else {
			over, more = over+v+float64(j.late*(next-t)), more+work
			if over < least {
				least, most, end = over, more, next
			}
		}
		t = next
	}
	return value + least, done + most, end
}

// convergenceTolerance is the relative accuracy of the search for the best price of work.
const convergenceTolerance = 1e-7

// bestWorkPrice returns the value of a segmented run at the best price of work and the mix
// that attains it, or a value not below most. The value is concave in the price, so
// it lies below its tangents on both sides of the maximum; their intersection is the
// next trial.
func (p *boundProblem) bestWorkPrice(j *jobModel, f *pausedRun, most float64) (value float64, m priceMix) {
	type point struct{ mu, value, done float64 }
	touch := func(mu float64) point {
		v, done, _ := p.valueAtWorkPrice(j, f, mu)
		return point{mu, v, done}
	}
	// Bracket the maximum: done falls short of the work at low and exceeds it at high.
	low := touch(max(f.mu, f.minWorkPrice))
	high := low
	for low.done > f.work && low.mu > f.minWorkPrice && low.value < most {
		high, low = low, touch(max(low.mu/2, f.minWorkPrice))
	}
	if low.done >= f.work { // more than one pause is worth its cost
		f.mu = low.mu
		return low.value, priceMix{low.mu, low.mu, 1}
	}
	for high.done < f.work && high.value < most {
		low, high = high, touch(max(2*high.mu, math.Abs(high.value), 1))
	}
	for low.value < most && high.value < most {
		rise, fall := f.work-low.done, high.done-f.work
		mid := (high.value - low.value + float64(rise*low.mu) + float64(fall*high.mu)) / (rise + fall)
		top := low.value + float64(rise*(mid-low.mu))
		if mid <= low.mu || mid >= high.mu || top-max(low.value, high.value) <= convergenceTolerance*math.Abs(top) {
			break
		}
		if x := touch(mid); x.done < f.work {
			low = x
		} else {
			high = x
		}
	}
	// Either end is a valid lower bound; return the better one.
	best := low
	if high.value > low.value {
		best = high
	}
	f.mu = best.mu
	return best.value, priceMix{low.mu, high.mu, (f.work - low.done) / (high.done - low.done)}
}

// leastPausedCost returns the lowest cost of a job that is paused, with the kind of run and
// the mix; nil if it is not below most.
func (p *boundProblem) leastPausedCost(j *jobModel, most float64) (value float64, best *pausedRun, how priceMix) {
	value = most
	for k := range j.pieces {
		f := &j.pieces[k]
		if f.lowerBound >= value {
			break
		}
		if v, m := p.bestWorkPrice(j, f, value); v < value {
			value, best, how = v, f, m
		}
	}
	return value, best, how
}

// addPausedUsage adds the GPUs that a segmented run holds to use, averaged over each slot by
// the mix.
func (p *boundProblem) addPausedUsage(use [][]float64, j *jobModel, f *pausedRun, m priceMix) {
	for _, x := range []struct{ mu, part float64 }{{m.low, 1 - m.part}, {m.high, m.part}} {
		if x.part == 0 {
			continue
		}
		_, _, end := p.valueAtWorkPrice(j, f, x.mu)
		for t := j.arrival; t < end; t = math.Floor(t) + 1 {
			if k, _ := f.bestOptionInSlot(j, int(t), x.mu); k >= 0 && f.options[k].pool >= 0 {
				addToSlots(use[f.options[k].pool], t, min(math.Floor(t)+1, end), float64(x.part*j.gpusOf(f.options[k].runConfig)))
			}
		}
	}
}
