package bound

import (
	"cmp"
	"slices"
)

// slotsPerHour is how many slots there are in an hour.
const slotsPerHour = 4

// onlineCost returns what it costs to place jobs as they arrive, by one who knows all
// prices and intensities, and every node, but no job before it is there. Each job
// is given its cheapest place at once; once an hour, those that have not started
// move to a cheaper one, each by itself and then all together, big ones first, if
// that costs less. With pay, room costs what it
// does in the bound, so what is yet to come is known by its price.
//
// No rule that decides on actual prices is beaten by construction: this is how
// far one gets by the plainest plan, and so what of a gap is due to jobs that
// nobody could know of.
func (p *boundProblem) onlineCost(pay bool) float64 {
	s := newSchedule(p)
	order := make([]int, len(p.jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(p.jobs[x].arrival, p.jobs[y].arrival) })
	k := 0
	for hour := slotsPerHour; hour <= s.end-p.slots && !p.isStopped(); hour += slotsPerHour {
		for ; k < len(order) && p.jobs[order[k]].arrival < float64(hour); k++ {
			s.now = p.jobs[order[k]].arrival
			s.placeJob(order[k], pay)
		}
		s.now = float64(hour)
		var open []int
		for _, i := range order[:k] {
			if s.placements[i].config < 0 || s.placements[i].start > s.now {
				open = append(open, i)
			}
		}
		slices.SortStableFunc(open, func(x, y int) int { return cmp.Compare(p.jobs[y].gpus, p.jobs[x].gpus) })
		s.replanJobs(open, pay)
	}
	v, _ := s.totalCost()
	return v
}

// replanJobs places jobs anew that have not started, and keeps what is cheaper.
func (s *clairvoyantSchedule) replanJobs(open []int, pay bool) {
	for _, i := range open {
		s.reinsertJobs([]int{i}, pay)
	}
	cost := func() (v float64) {
		for _, i := range open {
			if s.placements[i].config < 0 {
				v += s.p.jobs[i].neverRunCost
			} else {
				v += s.placements[i].value
			}
		}
		return v
	}
	was, before := cost(), make([]placement, len(open))
	for k, i := range open {
		before[k] = s.placements[i]
	}
	s.reinsertJobs(open, pay)
	if cost() <= was {
		return
	}
	for _, i := range open {
		s.bookPlacement(i, -1)
	}
	for k, i := range open {
		s.placements[i] = before[k]
		s.bookPlacement(i, 1)
	}
}
