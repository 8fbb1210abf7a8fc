package bound

import (
	"cmp"
	"slices"
)

// slotsPerHour is the number of slots in an hour.
const slotsPerHour = 4

// onlineCost returns the cost of a plain schedule that knows all prices, intensities and
// nodes, but no job before its arrival. Each job gets its cheapest place at arrival.
// Once an hour, jobs that have not started are replanned, each by itself and then all
// together, large ones first, if that costs less. With pay, capacity costs its shadow
// price of the bound, which stands for the jobs that are yet to come.
//
// It is not a bound: other online rules may be better. It indicates which part of a
// gap is due to arrivals that no online rule can know.
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

// replanJobs places jobs that have not started anew, and keeps the result if it is cheaper.
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
	// Replanning all together can be worse, as places are chosen greedily: keep a way
	// back.
	was, before := cost(), make([]placement, len(open))
	for k, i := range open {
		before[k] = s.placements[i]
	}
	s.reinsertJobs(open, pay)
	if cost() <= was {
		return
	}
	for _, i := range open {
		s.occupyPlacement(i, -1)
	}
	for k, i := range open {
		s.placements[i] = before[k]
		s.occupyPlacement(i, 1)
	}
}
