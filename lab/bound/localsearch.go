package bound

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// A knownSearch improves schedules by large neighbourhood search: each step removes some
// jobs, places them anew, and keeps the result unless it costs more. It is deterministic.
type knownSearch struct {
	p        *boundProblem
	best     *clairvoyantSchedule
	least    float64 // cost of best
	order    []int   // jobs, large ones first
	steps    int     // taken
	improved int     // steps that lowered the cost of their schedule
	dice     *rand.Rand
}

// newKnownSearch returns a search without a schedule yet.
func (p *boundProblem) newKnownSearch() *knownSearch {
	return &knownSearch{
		p: p, least: math.Inf(1), dice: rand.New(rand.NewPCG(1, uint64(len(p.jobs)))),
		order: p.orderJobs(func(j *jobModel) float64 { return j.gpus }),
	}
}

// tryGreedyStarts tries greedy schedules in three orders: large jobs first, jobs that cannot
// wait, jobs with the least time. Each is improved in so many steps.
func (k *knownSearch) tryGreedyStarts(steps int) {
	for _, first := range []func(*jobModel) float64{
		func(j *jobModel) float64 { return j.gpus },
		func(j *jobModel) float64 { return min(j.delay, 1) },
		func(j *jobModel) float64 { return -max(j.deadline-j.arrival, 0) },
	} {
		s := newSchedule(k.p)
		order := k.p.orderJobs(first)
		for _, i := range order {
			s.placeJob(i, true)
		}
		// Then each job alone, now that all others have their places, without paying for capacity.
		for _, i := range order {
			s.reinsertJobs([]int{i}, false)
		}
		k.tryStart(s, steps)
	}
}

// tryStart improves a schedule in so many steps and keeps it if it is the best so far.
func (k *knownSearch) tryStart(s *clairvoyantSchedule, steps int) {
	k.improve(s, steps)
	if v, _ := s.totalCost(); v < k.least {
		k.best, k.least = s, v
	}
}

// improveBest improves the best schedule in so many steps.
func (k *knownSearch) improveBest(steps int) {
	if k.best != nil {
		k.improve(k.best, steps)
		k.least, _ = k.best.totalCost()
	}
}

// improve takes so many steps on a schedule, unless the caller ends the search.
func (k *knownSearch) improve(s *clairvoyantSchedule, steps int) {
	for range steps {
		if k.p.isStopped() {
			return
		}
		k.steps++
		saved := 0.0
		// A step on hours takes several times as long as one on a job, and finds less.
		if k.dice.IntN(16) == 0 {
			saved = k.stepOnHours(s)
		} else {
			saved = k.stepOnOneJob(s)
		}
		if saved > 0 {
			k.improved++
		}
	}
}

// stepOnHours places a part of the jobs of some hours anew, large ones first, and returns what
// that saved; a step that saves nothing is undone.
func (k *knownSearch) stepOnHours(s *clairvoyantSchedule) float64 {
	part := s.pickNeighbours(k.order, k.dice)
	before := s.placementsOf(part)
	// Three of four steps charge capacity at the bound's prices, which keeps scarce room free.
	s.reinsertJobs(part, k.dice.IntN(4) > 0)
	return s.keepIfCheaper(part, before)
}

// stepOnOneJob moves one job to a place that it would pay less for, also where others are, and
// places those anew. This is what a gang needs that finds parts of all nodes taken.
func (k *knownSearch) stepOnOneJob(s *clairvoyantSchedule) float64 {
	i := k.pickDearJob(s)
	to, ok := k.pickCheapPlace(s, i)
	if !ok {
		return 0
	}
	part, ok := s.clearPlace(i, to)
	before := s.placementsOf(part)
	if !ok {
		s.restore(part, before)
		return 0
	}
	s.placements[i] = to
	s.occupyPlacement(i, 1)
	pay := k.dice.IntN(2) > 0
	for _, o := range part[1:] {
		s.placeJob(o, pay)
	}
	return s.keepIfCheaper(part, before)
}

// pickDearJob returns the one of some random jobs that pays the most above its best place.
func (k *knownSearch) pickDearJob(s *clairvoyantSchedule) int {
	best, most := 0, math.Inf(-1)
	for range 1 + k.dice.IntN(8) {
		i := k.dice.IntN(len(s.placements))
		if v := s.costOf(i) - s.p.leastCostOf(i); v > most {
			best, most = i, v
		}
	}
	return best
}

// pickCheapPlace returns a place at which job i would pay less than where it is, capacity free,
// on the node that has the least in the way; false if there is none.
func (k *knownSearch) pickCheapPlace(s *clairvoyantSchedule, i int) (placement, bool) {
	j := &s.p.jobs[i]
	now := s.costOf(i)
	n, _ := slices.BinarySearchFunc(j.blocks, now, func(b startBlock, v float64) int { return cmp.Compare(b.least, v) })
	if n == 0 {
		return placement{}, false
	}
	// Cheap blocks are more likely.
	b := j.blocks[int(float64(n)*math.Pow(k.dice.Float64(), 2))]
	w := &j.configs[b.config]
	var t float64
	if k.dice.IntN(2) == 0 {
		_, t = s.p.cheapestStart(j, w, b.from, b.to) // capacity at its price
	} else {
		t = b.from + float64(k.dice.Float64()*(b.to-b.from))
		t = min(max(math.Floor(t), b.from), b.to)
	}
	v := s.p.costWithoutRoom(j, w, t)
	if v >= now || t < s.now || !s.isPlanned(w, t) {
		return placement{}, false
	}
	to := placement{b.config, -1, t, v}
	if w.pool >= 0 {
		to.node = s.emptiestNode(w, t)
	}
	return to, w.pool < 0 || to.node >= 0
}

// clearPlace removes job i, and the jobs that are in its way at a place, from the calendar. It
// returns them, i first and then those with the most GPUs; false if the place has no room even so.
func (s *clairvoyantSchedule) clearPlace(i int, to placement) (part []int, ok bool) {
	part = []int{i}
	s.occupyPlacement(i, -1)
	w := &s.p.jobs[i].configs[to.config]
	if w.pool < 0 {
		return part, true
	}
	first, last := cellsOfRun(to.start, w.length)
	n := &s.nodes[w.pool][to.node]
	room := int32(s.p.pools[w.pool].Size)*1000 - toMilliGPUs(s.p.jobs[i].gpusOf(w))
	// The smallest give way first, until there is room.
	there := s.jobsOnNode(w.pool, to.node, to.start, to.start+w.length)
	slices.SortStableFunc(there, func(x, y int) int { return cmp.Compare(s.p.jobs[x].gpus, s.p.jobs[y].gpus) })
	for _, o := range there {
		if _, ok := n.mostHeld(first, last, room); ok {
			break
		}
		if o != i {
			s.occupyPlacement(o, -1)
			part = append(part, o)
		}
	}
	slices.Reverse(part[1:])
	_, ok = n.mostHeld(first, last, room)
	return part, ok
}

// jobsOnNode returns the jobs that hold GPUs of a node at some time in [from, to).
func (s *clairvoyantSchedule) jobsOnNode(pool, node int, from, to float64) (out []int) {
	for i, x := range s.placements {
		if x.config < 0 || x.node != node {
			continue
		}
		if w := &s.p.jobs[i].configs[x.config]; w.pool == pool && x.start < to && x.start+w.length > from {
			out = append(out, i)
		}
	}
	return out
}

// emptiestNode returns the node of a configuration's pool whose GPUs are held least in a run's time.
func (s *clairvoyantSchedule) emptiestNode(w *runConfig, start float64) int {
	first, last := cellsOfRun(start, w.length)
	best, least := -1, int64(math.MaxInt64)
	for n := range s.nodes[w.pool] {
		sum := int64(0)
		for _, h := range s.nodes[w.pool][n].held[first:last] {
			sum += int64(h)
		}
		if sum < least {
			best, least = n, sum
		}
	}
	return best
}

// isPlanned reports whether a run lies within the planned slots.
func (s *clairvoyantSchedule) isPlanned(w *runConfig, start float64) bool {
	_, last := cellsOfRun(start, w.length)
	return last <= s.end*cellsPerSlot
}

// costOf returns what a job costs where it is, capacity free.
func (s *clairvoyantSchedule) costOf(i int) float64 {
	if s.placements[i].config < 0 {
		return s.p.jobs[i].neverRunCost
	}
	return s.placements[i].value
}

// leastCostOf returns what a job costs at its best place, capacity free.
func (p *boundProblem) leastCostOf(i int) float64 {
	if j := &p.jobs[i]; len(j.blocks) > 0 {
		return j.blocks[0].least
	}
	return p.jobs[i].neverRunCost
}

// placementsOf returns a copy of the placements of some jobs.
func (s *clairvoyantSchedule) placementsOf(part []int) []placement {
	out := make([]placement, len(part))
	for k, i := range part {
		out[k] = s.placements[i]
	}
	return out
}

// restore puts jobs that are not in the calendar back to where they were.
func (s *clairvoyantSchedule) restore(part []int, before []placement) {
	for k, i := range part {
		s.placements[i] = before[k]
		s.occupyPlacement(i, 1)
	}
}

// keepIfCheaper returns what jobs save where they are, against where they were before; if they
// cost more, they go back and save nothing.
func (s *clairvoyantSchedule) keepIfCheaper(part []int, before []placement) float64 {
	was, now := 0.0, 0.0
	for k, i := range part {
		now += s.costOf(i)
		was += s.p.jobs[i].neverRunCost
		if before[k].config >= 0 {
			was += before[k].value - s.p.jobs[i].neverRunCost
		}
	}
	if now <= was {
		return was - now
	}
	for _, i := range part {
		s.occupyPlacement(i, -1)
	}
	s.restore(part, before)
	return 0
}
