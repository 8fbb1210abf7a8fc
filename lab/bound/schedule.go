package bound

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// A schedule places every job of a problem on nodes, for one who knows all of
// them from the start. What it costs can be reached, so the distance between it
// and the bound is how far the bound may be too low.
type schedule struct {
	p     *problem
	nodes [][]node // by pool
	at    []place  // by job
	now   float64  // no job is placed earlier
	end   int      // slots that it plans
}

// A node is the thousandths of GPUs that are held in each cell of time.
type node struct{ held []int32 }

// A place is where a job runs; way -1: nowhere.
type place struct {
	way, node int
	start     float64
	value     float64 // cost without the price of room
}

// cellsPerSlot: room is counted in cells of half a minute, and a run holds all
// cells that it touches.
const cellsPerSlot = 30

func newSchedule(p *problem) *schedule {
	s := &schedule{p: p, nodes: make([][]node, len(p.pools)), at: make([]place, len(p.jobs)), end: 2 * p.slots}
	for i := range p.jobs { // as long after the last arrival as after a day of them
		s.end = max(s.end, int(p.jobs[i].arrival)+2*p.slots-p.slots/3)
	}
	for i, q := range p.pools {
		s.nodes[i] = make([]node, int(q.GPUs)/q.Size)
		for k := range s.nodes[i] {
			s.nodes[i][k].held = make([]int32, s.end*cellsPerSlot)
		}
	}
	for i := range s.at {
		s.at[i].way = -1
	}
	return s
}

// cells returns the cells that a run touches. It may touch its neighbours' last
// instant, so a hair is taken off.
func cells(start, length float64) (first, last int) {
	const hair = 1e-6
	return int(start*cellsPerSlot + hair), int(math.Ceil((start+length)*cellsPerSlot - hair))
}

// fits returns the fullest node of a pool that has room for a run, or -1.
func (s *schedule) fits(pool int, milli int32, start, length float64) int {
	first, last := cells(start, length)
	best, fullest := -1, int32(-1)
	for k := range s.nodes[pool] {
		held := s.nodes[pool][k].held
		if last > len(held) {
			return -1
		}
		room, full := int32(s.p.pools[pool].Size)*1000-milli, int32(0)
		ok := true
		for _, h := range held[first:last] {
			if h > room {
				ok = false
				break
			}
			full = max(full, h)
		}
		if ok && full > fullest {
			best, fullest = k, full
		}
	}
	return best
}

// hold takes or gives back, with sign -1, the room of a job's place.
func (s *schedule) hold(i int, sign int32) {
	x := s.at[i]
	if x.way < 0 || x.node < 0 {
		return
	}
	w := &s.p.jobs[i].ways[x.way]
	first, last := cells(x.start, w.length)
	held := s.nodes[w.pool][x.node].held
	for c := first; c < last; c++ {
		held[c] += sign * milli(s.p.jobs[i].gpus)
	}
}

func milli(gpus float64) int32 { return int32(math.Round(gpus * 1000)) }

// put gives a job the cheapest place that has room, room paid for at the
// prices of p if asked. It reports whether there was one.
func (s *schedule) put(i int, pay bool) bool {
	j := &s.p.jobs[i]
	best, value := place{way: -1, node: -1}, math.Inf(1)
	try := func(k int, t float64) {
		if t < s.now {
			return
		}
		w := &j.ways[k]
		v := s.p.cost(j, w, t)
		own := v
		if pay && w.pool >= 0 {
			sums := s.p.pools[w.pool].sums
			v += float64(j.gpus * (at(sums, t+w.length) - at(sums, t)))
		}
		if v >= value {
			return
		}
		n := -1
		if w.pool >= 0 {
			if n = s.fits(w.pool, milli(j.gpus), t, w.length); n < 0 {
				return
			}
		}
		best, value = place{k, n, t, own}, v
	}
	for _, b := range j.blocks {
		if b.least >= value {
			break
		}
		w := &j.ways[b.way]
		try(b.way, max(b.from, min(s.now, b.to)))
		for t := math.Ceil(b.from); t < b.to; t++ {
			try(b.way, t)
		}
		for t := math.Ceil(b.from+w.length) - w.length; t < b.to; t++ {
			try(b.way, t)
		}
		if t := j.deadline - w.length; t >= b.from && t < b.to {
			try(b.way, t)
		}
	}
	s.at[i] = best
	s.hold(i, 1)
	return best.way >= 0
}

// known returns the cost of the best schedule that it finds, and how many jobs
// it could not place; those are charged as if they never ran. It places jobs one
// by one at the prices of room, in a few orders, and then again and again takes
// out those of some hours at random and places them anew.
func (p *problem) known(rounds int) (float64, int) {
	var best *schedule
	least := math.Inf(1)
	for _, first := range []func(*work) float64{
		func(j *work) float64 { return j.gpus },
		func(j *work) float64 { return min(j.delay, 1) },
		func(j *work) float64 { return -max(j.deadline-j.arrival, 0) },
	} {
		s := newSchedule(p)
		order := p.order(first)
		for _, i := range order {
			s.put(i, true)
		}
		for _, i := range order {
			s.redo([]int{i}, false)
		}
		s.improve(order, rounds/4)
		if v, _ := s.total(); v < least {
			best, least = s, v
		}
	}
	best.improve(p.order(func(j *work) float64 { return j.gpus }), rounds-3*(rounds/4))
	return best.total()
}

// improve takes some jobs out and places them anew, a number of times, and
// keeps what is no worse.
func (s *schedule) improve(order []int, rounds int) {
	best, _ := s.total()
	dice := rand.New(rand.NewPCG(1, uint64(len(order))))
	for range rounds {
		if s.p.stopped() {
			return
		}
		before := slices.Clone(s.at)
		part := s.some(order, dice)
		s.redo(part, dice.IntN(4) > 0)
		if v, _ := s.total(); v <= best {
			best = v
			continue
		}
		for _, i := range part {
			s.hold(i, -1)
		}
		for _, i := range part {
			s.at[i] = before[i]
			s.hold(i, 1)
		}
	}
}

// redo takes jobs out and places them again, in their order.
func (s *schedule) redo(jobs []int, pay bool) {
	for _, i := range jobs {
		s.hold(i, -1)
	}
	for _, i := range jobs {
		s.put(i, pay)
	}
}

// some returns jobs that run within a few hours of each other, a part of them,
// big ones first but for some luck.
func (s *schedule) some(order []int, dice *rand.Rand) (out []int) {
	at := dice.Float64() * float64(s.end) / 4
	wide := 4 + 28*dice.Float64()
	keep := 0.05 + 0.5*dice.Float64()
	for _, i := range order {
		x := s.at[i]
		near := x.way < 0 || x.start < at+wide && x.start+s.p.jobs[i].ways[x.way].length > at
		if near && dice.Float64() < keep {
			out = append(out, i)
		}
	}
	for k := range out {
		if dice.IntN(8) == 0 {
			o := dice.IntN(len(out))
			out[k], out[o] = out[o], out[k]
		}
	}
	return out
}

// order returns the jobs, those with the most of a figure first, of equals the
// big ones, then those that cannot wait, then those that pay most for room.
func (p *problem) order(figure func(*work) float64) []int {
	order, paid := make([]int, len(p.jobs)), make([]float64, len(p.jobs))
	for i := range order {
		order[i] = i
		if j := &p.jobs[i]; len(j.blocks) > 0 {
			_, _, v := p.favourite(j)
			paid[i] = v - j.blocks[0].least
		}
	}
	slices.SortStableFunc(order, func(x, y int) int {
		a, b := &p.jobs[x], &p.jobs[y]
		return cmp.Or(cmp.Compare(figure(b), figure(a)), cmp.Compare(b.gpus, a.gpus),
			cmp.Compare(b.delay, a.delay), cmp.Compare(paid[y], paid[x]))
	})
	return order
}

func (s *schedule) total() (sum float64, out int) {
	sum = s.p.constant
	for i, x := range s.at {
		if x.way < 0 {
			sum += s.p.jobs[i].never
			out++
			continue
		}
		sum += x.value
	}
	return sum, out
}
