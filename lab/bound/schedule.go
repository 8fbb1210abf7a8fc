package bound

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// A clairvoyantSchedule places all jobs of a problem on nodes, with full knowledge. Its cost can
// be reached, so its distance to the bound shows how much too low the bound may be.
type clairvoyantSchedule struct {
	p          *boundProblem
	nodes      [][]nodeCalendar // by pool
	placements []placement      // by job
	now        float64          // earliest start of a placement
	end        int              // planned slots
}

// A placement is where and when a job runs; config -1: nowhere.
type placement struct {
	config, node int
	start        float64
	value        float64 // cost without capacity
}

// cellsPerSlot: capacity is counted in cells of half a minute, and a run holds all
// cells that it touches.
const cellsPerSlot = 30

// newSchedule returns an empty schedule with idle nodes.
func newSchedule(p *boundProblem) *clairvoyantSchedule {
	s := &clairvoyantSchedule{p: p, nodes: make([][]nodeCalendar, len(p.pools)), placements: make([]placement, len(p.jobs)), end: 2 * p.slots}
	for i := range p.jobs { // leave as much time after the last arrival as a one-day scenario has
		s.end = max(s.end, int(p.jobs[i].arrival)+2*p.slots-p.slots/3)
	}
	for i, q := range p.pools {
		s.nodes[i] = make([]nodeCalendar, int(q.GPUs)/q.Size)
		for k := range s.nodes[i] {
			s.nodes[i][k] = newNodeCalendar(s.end)
		}
	}
	for i := range s.placements {
		s.placements[i].config = -1
	}
	s.blockOutages()
	return s
}

// blockOutages takes all capacity of nodes without power: nothing is placed there.
func (s *clairvoyantSchedule) blockOutages() {
	for i, all := range s.p.outages {
		for _, o := range all {
			first, last := cellsOfRun(o[0], o[1]-o[0])
			for k := range s.nodes[i] {
				s.nodes[i][k].fill(first, last, int32(s.p.pools[i].Size)*1000)
			}
		}
	}
}

// cellsOfRun returns the range of cells that a run touches. A small tolerance keeps runs
// that meet at a boundary from sharing a cell.
func cellsOfRun(start, length float64) (first, last int) {
	const hair = 1e-6
	return int(start*cellsPerSlot + hair), int(math.Ceil((start+length)*cellsPerSlot - hair))
}

// bestFitNode returns the fullest node of a pool that has room for a run (best fit), or -1.
func (s *clairvoyantSchedule) bestFitNode(pool int, milli int32, start, length float64) int {
	first, last := cellsOfRun(start, length)
	best, fullest := -1, int32(-1)
	room := int32(s.p.pools[pool].Size)*1000 - milli
	for k := range s.nodes[pool] {
		n := &s.nodes[pool][k]
		if last > len(n.held) {
			return -1
		}
		if full, ok := n.mostHeld(first, last, room); ok && full > fullest {
			best, fullest = k, full
		}
	}
	return best
}

// occupyPlacement takes the capacity of a job's place, or returns it with sign -1.
func (s *clairvoyantSchedule) occupyPlacement(i int, sign int32) {
	x := s.placements[i]
	if x.config < 0 || x.node < 0 {
		return
	}
	w := &s.p.jobs[i].configs[x.config]
	first, last := cellsOfRun(x.start, w.length)
	s.nodes[w.pool][x.node].add(first, last, sign*toMilliGPUs(s.p.jobs[i].gpusOf(w)))
}

// toMilliGPUs converts GPUs to thousandths.
func toMilliGPUs(gpus float64) int32 { return int32(math.Round(gpus * 1000)) }

// placeJob gives a job the cheapest place with room, with pay including capacity at the
// prices of p. It returns false if there is none.
func (s *clairvoyantSchedule) placeJob(i int, pay bool) bool {
	j := &s.p.jobs[i]
	best, value := placement{config: -1, node: -1}, math.Inf(1)
	// try keeps the place of configuration k at t if it is cheaper than the best so far.
	try := func(k int, t float64) {
		if t < s.now {
			return
		}
		w := &j.configs[k]
		v := s.p.costWithoutRoom(j, w, t)
		own := v
		if pay && w.pool >= 0 {
			sums := s.p.pools[w.pool].sums
			v += float64(j.gpusOf(w) * (interpolateSum(sums, t+w.length) - interpolateSum(sums, t)))
		}
		// Cost is cheap to compute; look for a node only if the place would be the best
		// so far.
		if v >= value {
			return
		}
		n := -1
		if w.pool >= 0 {
			if n = s.bestFitNode(w.pool, toMilliGPUs(j.gpusOf(w)), t, w.length); n < 0 {
				return
			}
		}
		best, value = placement{k, n, t, own}, v
	}
	// Blocks ascend by their lower bound of cost, so the search ends at the first that cannot win.
	for _, b := range j.blocks {
		if b.least >= value {
			break
		}
		w := &j.configs[b.config]
		// Cost is piecewise linear between these starts: begin of the block, begins and ends of the
		// run at a slot's boundary, and the end at the deadline.
		try(b.config, max(b.from, min(s.now, b.to)))
		for t := math.Ceil(b.from); t < b.to; t++ {
			try(b.config, t)
		}
		for t := math.Ceil(b.from+w.length) - w.length; t < b.to; t++ {
			try(b.config, t)
		}
		if t := j.deadline - w.length; t >= b.from && t < b.to {
			try(b.config, t)
		}
	}
	s.placements[i] = best
	s.occupyPlacement(i, 1)
	return best.config >= 0
}

// bestKnownSchedule returns the cost of the best schedule found in so many steps and the number
// of jobs without a place, which are charged as never run.
func (p *boundProblem) bestKnownSchedule(steps int) (float64, int) {
	k := p.newKnownSearch()
	k.tryGreedyStarts(steps / 4)
	k.improveBest(steps - k.steps)
	return k.best.totalCost()
}

// reinsertJobs removes jobs and places them anew, in their order.
func (s *clairvoyantSchedule) reinsertJobs(jobs []int, pay bool) {
	for _, i := range jobs {
		s.occupyPlacement(i, -1)
	}
	for _, i := range jobs {
		s.placeJob(i, pay)
	}
}

// pickNeighbours returns a random part of the jobs that run within a few hours of each other,
// mostly large ones first.
func (s *clairvoyantSchedule) pickNeighbours(order []int, dice *rand.Rand) (out []int) {
	at := dice.Float64() * float64(s.end) / 4
	wide := 4 + 28*dice.Float64()
	keep := 0.01 + 0.12*dice.Float64()
	for _, i := range order {
		x := s.placements[i]
		near := x.config < 0 || x.start < at+wide && x.start+s.p.jobs[i].configs[x.config].length > at
		if near && dice.Float64() < keep {
			out = append(out, i)
		}
	}
	// Some jobs change places, so that the same jobs are tried in several orders.
	for k := range out {
		if dice.IntN(8) == 0 {
			o := dice.IntN(len(out))
			out[k], out[o] = out[o], out[k]
		}
	}
	return out
}

// orderJobs returns the jobs by descending figure, then by descending size, delay cost
// and payment for capacity.
func (p *boundProblem) orderJobs(figure func(*jobModel) float64) []int {
	order, paid := make([]int, len(p.jobs)), make([]float64, len(p.jobs))
	for i := range order {
		order[i] = i
		if j := &p.jobs[i]; len(j.blocks) > 0 {
			_, _, v := p.bestAtPrices(j)
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

// totalCost returns the cost of a schedule and the number of jobs without a place.
func (s *clairvoyantSchedule) totalCost() (sum float64, out int) {
	sum = s.p.constant
	for i, x := range s.placements {
		if x.config < 0 {
			sum += s.p.jobs[i].neverRunCost
			out++
			continue
		}
		sum += x.value
	}
	return sum, out
}
