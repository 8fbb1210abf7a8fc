package packing

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/gridbid/gridbid/agents/fgd"
)

// minMoveGain is the fall of F, in thousandths of a GPU, from which a move pays.
const minMoveGain = 200

// consolidateInterval is the seconds after which room is sought again for a request that
// none was found for.
const consolidateInterval = 900

// canMove says whether j may be moved at all, and runs long enough yet.
func (s *churnStudy) canMove(j *runningJob, now int64) bool {
	return j.Moves && j.Request.GPUs > 0 && j.end-now >= 2*s.o.MoveCost
}

// bookMove books that job n goes on at p, and longer for it.
func (s *churnStudy) bookMove(n int, p fgd.Placement, now int64) {
	j := s.runningJobs[n]
	j.p = p
	j.end += s.o.MoveCost
	j.moveSeconds += s.o.MoveCost
	heap.Push(&s.ends, scheduledEnd{j.end, n})
	if s.isMeasured(now) {
		s.moves++
	}
}

// consolidateJobs moves jobs that may be moved, oldest first, where F falls enough.
func (s *churnStudy) consolidateJobs(now int64) {
	s.order = slices.DeleteFunc(s.order, func(n int) bool { return s.runningJobs[n] == nil })
	moves := s.v.Moves
	for _, n := range s.order {
		j := s.runningJobs[n]
		if moves == 0 {
			return
		}
		if !s.canMove(j, now) {
			continue
		}
		before := s.fragmentationShare()
		s.releasePlacement(j.p)
		q := s.c.QuoteRequest(j.Request)
		if !q.Fits || before-s.fragmentationShare()-float64(q.DeltaF) < minMoveGain {
			s.takePlacement(j.p)
			continue
		}
		s.takePlacement(q.Placement)
		s.bookMove(n, q.Placement, now)
		moves--
	}
}

// makeRoomFor moves jobs off one node so that r fits there: the node where the
// least GPU has to move, of those from which all can go elsewhere.
func (s *churnStudy) makeRoomFor(r fgd.Request, now int64) (p fgd.Placement, ok bool) {
	if s.movesLeft == 0 || r.GPUs == 0 || now < s.nextConsolidation[r] {
		return p, false
	}
	s.nextConsolidation[r] = now + consolidateInterval
	type victims struct {
		node  int
		total int64
		jobs  []int
	}
	by := map[int]*victims{}
	var nodes []*victims
	for _, n := range s.order {
		j := s.runningJobs[n]
		if j == nil || !s.canMove(j, now) {
			continue
		}
		v := by[j.p.Node]
		if v == nil {
			v = &victims{node: j.p.Node}
			by[j.p.Node] = v
			nodes = append(nodes, v)
		}
		v.total += j.Request.TotalMilli()
		v.jobs = append(v.jobs, n)
	}
	slices.SortFunc(nodes, func(a, b *victims) int {
		return cmp.Or(cmp.Compare(a.total, b.total), cmp.Compare(a.node, b.node))
	})
	for _, v := range nodes {
		if len(v.jobs) <= s.movesLeft {
			if p, ok = s.clearNode(r, v.node, v.jobs, now); ok {
				return p, true
			}
		}
	}
	return p, false
}

// clearNode tries to move jobs off node, and to place r there.
func (s *churnStudy) clearNode(r fgd.Request, node int, jobs []int, now int64) (p fgd.Placement, ok bool) {
	for _, n := range jobs {
		s.releasePlacement(s.runningJobs[n].p)
	}
	// Nothing fitted before, so if r fits now it fits here.
	if p, ok = s.c.PlaceRequest(r); !ok {
		for _, n := range jobs {
			s.takePlacement(s.runningJobs[n].p)
		}
		return p, false
	}
	var gone []fgd.Placement
	for _, n := range jobs {
		q, fits := s.c.PlaceRequest(s.runningJobs[n].Request)
		if !fits {
			for _, g := range gone {
				s.releasePlacement(g)
			}
			s.releasePlacement(p)
			for _, n := range jobs {
				s.takePlacement(s.runningJobs[n].p)
			}
			return p, false
		}
		gone = append(gone, q)
	}
	for i, n := range jobs {
		if gone[i].Node != node || gone[i].Devices != s.runningJobs[n].p.Devices { // else it stayed
			s.bookMove(n, gone[i], now)
			s.movesLeft--
		}
	}
	return p, true
}

func (s *churnStudy) releasePlacement(p fgd.Placement) {
	if err := s.c.ReleasePlacement(p); err != nil {
		panic(err) // Invariant: what runs was placed.
	}
}

func (s *churnStudy) takePlacement(p fgd.Placement) {
	if err := s.c.TakePlacement(p); err != nil {
		panic(err) // Invariant: it fitted there a moment ago.
	}
}

func (s *churnStudy) fragmentationShare() float64 {
	num, den := s.c.Fragmentation()
	return float64(num) / float64(den)
}
