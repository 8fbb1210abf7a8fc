package bound

import (
	"cmp"
	"math"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A job that can be paused runs whole, as any other, or it is paused at least
// once. Then it may run in any slots and by any ways that suit it, one at a time,
// if it does all its work and each pause's own; moving input and checkpoint is
// paid once. What the rules ask for beyond that only costs more. Which slots are
// the best is a linear program with one row, its work. At a price mu of a whole
// job's work slots choose apart from one another, and
//
//	mu x work + sum over slots of min(0, min over ways (cost of running - mu x progress))
//
// is not above its value for any mu, and is its value for the best.

// pausing is what the rules say of a job's pauses.
type pausing struct {
	again  float64   // work that each adds, in whole jobs
	length float64   // of time; no part is shorter
	hidden float64   // what rounding may hide of a part
	moved  []float64 // what bringing the input costs, by site
	moving float64   // what moving on costs at least
}

// piecework is how a job may run that is paused: at one site or at several, to
// its end or not.
type piecework struct {
	ways  []lane
	fixed float64 // for moving, less what may be hidden of two parts
	work  float64 // to be done, in whole jobs
	floor float64 // the least price of work: below it more pauses would pay
	hides float64 // what rounding may hide besides, in each slot of running
	due   float64 // from then on each slot until the end is late
	least float64 // no value is below, whatever room costs
	speed float64 // of its fastest lane
	earns float64 // no slot of running earns more

	mu float64 // the price of work that was the best last
}

// A lane is a way, for a part of a job.
type lane struct {
	*way
	speed float64   // whole jobs in a slot
	rates *rates    // of its site
	price []float64 // of its room, by slot
}

// A mix is two prices of work with the best between them, and how much of what
// slots choose at the upper one goes into the best.
type mix struct{ low, high, part float64 }

func pausable(j protocol.Job) bool { return j.Pause > 0 }

// pausing returns what the rules say of a job's pauses.
func (m *modeller) pausing(j protocol.Job, x *work) pausing {
	r := pausing{
		again: float64(j.Pause) / float64(j.Run), length: float64(j.Pause) / float64(slot),
		hidden: rounding + 2*perHour(m.weights), moving: math.Inf(1),
	}
	cost := func(j protocol.Job, to int) float64 {
		_, paid, emitted := m.network.Move(j, m.script.Sites[to].Name)
		return float64(paid + m.weights.CarbonCost(emitted))
	}
	may := make([]bool, len(m.script.Sites))
	for k := range x.ways {
		may[x.ways[k].site] = true
	}
	for from, site := range m.script.Sites {
		r.moved = append(r.moved, cost(j, from))
		for to := range may {
			if from != to && may[from] && may[to] {
				r.moving = min(r.moving, cost(j.Rest(site.Name, j.Run), to))
			}
		}
	}
	return r
}

// parted adds how a job may run in parts: at each site, and at several.
func (p *problem) parted(j *work, r pausing) {
	bySite, all := make([][]lane, len(p.sites)), make([]lane, 0, len(j.ways))
	for k := range j.ways {
		w := &j.ways[k]
		l := lane{way: w, speed: 1 / w.run, rates: &p.sites[w.site]}
		if w.pool >= 0 {
			l.price = p.pools[w.pool].price
		}
		bySite[w.site], all = append(bySite[w.site], l), append(all, l)
	}
	for i, lanes := range bySite {
		p.piecework(j, r, lanes, r.moved[i])
	}
	if !math.IsInf(r.moving, 1) {
		p.piecework(j, r, all, r.moving)
	}
	// Or it never ends, and runs wherever that earns something.
	p.add(j, piecework{ways: all, fixed: j.never - r.hidden, hides: r.hidden / r.length, due: float64(p.end)})
	slices.SortStableFunc(j.pieces, func(x, y piecework) int { return cmp.Compare(x.least, y.least) })
}

// piecework adds a way to run in parts that does all the work.
func (p *problem) piecework(j *work, r pausing, lanes []lane, moving float64) {
	p.add(j, piecework{
		ways: lanes, fixed: moving - 2*r.hidden, work: 1 + r.again, floor: r.hidden / r.again,
		due: min(max(j.arrival, j.deadline), float64(p.end)),
	})
}

// add adds a way to run in parts, if it may cost less than not to run.
func (p *problem) add(j *work, f piecework) {
	if len(f.ways) == 0 {
		return
	}
	for _, l := range f.ways {
		f.speed = max(f.speed, l.speed)
		f.earns = max(f.earns, l.hour+f.hides+float64(l.power*max(-l.rates.low, 0)))
	}
	if f.least, _ = p.cheapest(j, &f, j.never); f.least < j.never {
		j.pieces = append(j.pieces, f)
	}
}

// running returns what a slot of a part costs, with so much for its room.
func (l *lane) running(i int, room float64) float64 {
	r := l.rates
	v := float64(l.power*(r.all[i+1]-r.all[i])) + room - l.hour
	if l.awake > 0 {
		v += float64(l.awake * (r.plus[i+1] - r.plus[i]))
	}
	return v
}

// choose returns the best lane of a slot at a price of work, -1 to sleep, and
// what it costs for all of the slot, its work sold.
func (f *piecework) choose(gpus float64, i int, mu float64) (best int, value float64) {
	best = -1
	for k := range f.ways {
		l := &f.ways[k]
		room := 0.0
		if i < len(l.price) {
			room = float64(gpus * l.price[i])
		}
		if v := l.running(i, room) - f.hides - float64(mu*l.speed); v < value {
			best, value = k, v
		}
	}
	return best, value
}

// worth returns the value of a job's parts at a price of work, the work that
// slots do, and when the last of them ends. Slots past the deadline are taken up
// to where that is worth most; all time until then is late, asleep or not.
func (p *problem) worth(j *work, f *piecework, mu float64) (value, done, end float64) {
	value, end = f.fixed+float64(mu*f.work), f.due
	over, least, more, most := 0.0, 0.0, 0.0, 0.0
	last := float64(p.end)
	if float64(mu*f.speed)+f.earns <= j.late {
		last = f.due // no slot is worth being late for
	}
	for t := j.arrival; t < last; {
		next := min(math.Floor(t)+1, last)
		if t < f.due {
			next = min(next, f.due)
		}
		k, v := f.choose(j.gpus, int(t), mu)
		v, work := float64(v*(next-t)), 0.0
		if k >= 0 {
			work = float64(f.ways[k].speed * (next - t))
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

// near is how close to the best price of work the search for it comes, as a part
// of the value.
const near = 1e-7

// cheapest returns the value of a job's parts at the best price of work, and the
// mix that has it; or something that is not below most. The value is concave in
// the price, so it lies below the lines that touch it on both sides of the best.
func (p *problem) cheapest(j *work, f *piecework, most float64) (value float64, m mix) {
	type point struct{ mu, value, done float64 }
	touch := func(mu float64) point {
		v, done, _ := p.worth(j, f, mu)
		return point{mu, v, done}
	}
	low := touch(max(f.mu, f.floor))
	high := low
	for low.done > f.work && low.mu > f.floor && low.value < most {
		high, low = low, touch(max(low.mu/2, f.floor))
	}
	if low.done >= f.work { // more pauses than one are worth what they cost
		f.mu = low.mu
		return low.value, mix{low.mu, low.mu, 1}
	}
	for high.done < f.work && high.value < most {
		low, high = high, touch(max(2*high.mu, math.Abs(high.value), 1))
	}
	for low.value < most && high.value < most {
		rise, fall := f.work-low.done, high.done-f.work
		mid := (high.value - low.value + float64(rise*low.mu) + float64(fall*high.mu)) / (rise + fall)
		top := low.value + float64(rise*(mid-low.mu))
		if mid <= low.mu || mid >= high.mu || top-max(low.value, high.value) <= near*math.Abs(top) {
			break
		}
		if x := touch(mid); x.done < f.work {
			low = x
		} else {
			high = x
		}
	}
	best := low
	if high.value > low.value {
		best = high
	}
	f.mu = best.mu
	return best.value, mix{low.mu, high.mu, (f.work - low.done) / (high.done - low.done)}
}

// inParts returns the least that a job costs that is paused, in which piecework
// and how; nil if it is not below most.
func (p *problem) inParts(j *work, most float64) (value float64, best *piecework, how mix) {
	value = most
	for k := range j.pieces {
		f := &j.pieces[k]
		if f.least >= value {
			break
		}
		if v, m := p.cheapest(j, f, value); v < value {
			value, best, how = v, f, m
		}
	}
	return value, best, how
}

// hold adds the GPUs that a job holds in parts, on average in each slot.
func (p *problem) hold(use [][]float64, j *work, f *piecework, m mix) {
	for _, x := range []struct{ mu, part float64 }{{m.low, 1 - m.part}, {m.high, m.part}} {
		if x.part == 0 {
			continue
		}
		_, _, end := p.worth(j, f, x.mu)
		for t := j.arrival; t < end; t = math.Floor(t) + 1 {
			if k, _ := f.choose(j.gpus, int(t), x.mu); k >= 0 && f.ways[k].pool >= 0 {
				spread(use[f.ways[k].pool], t, min(math.Floor(t)+1, end), float64(x.part*j.gpus))
			}
		}
	}
}
