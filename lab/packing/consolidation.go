package packing

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/gridbid/gridbid/agents/fgd"
)

// minMoveGain is the decrease of F, in thousandths of a GPU, from which a move pays off.
const minMoveGain = 200

// consolidateInterval is the number of seconds before makeRoomFor searches again for a request that
// it could not serve.
const consolidateInterval = 900

// canMove reports whether j may be moved and still runs long enough for a move.
func (s *churnStudy) canMove(j *runningJob, now int64) bool {
	return j.Moves && j.Request.GPUs > 0 && j.end-now >= 2*s.o.MoveCost
}

// recordMove records that job n continues at p and ends later by the cost of a move.
func (s *churnStudy) recordMove(n int, p fgd.Placement, now int64) {
	j := s.runningJobs[n]
	j.p = p
	j.end += s.o.MoveCost
	j.moveSeconds += s.o.MoveCost
	heap.Push(&s.ends, scheduledEnd{j.end, n})
	if s.isMeasured(now) {
		s.moves++
	}
}

// consolidateJobs moves movable jobs, oldest first, if that lowers F enough.
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
		// The gain is F now, less F without the job and what it adds at its new place.
		before := s.fragmentationShare()
		s.releasePlacement(j.p)
		q := s.c.QuoteRequest(j.Request)
		if !q.Fits || before-s.fragmentationShare()-float64(q.DeltaF) < minMoveGain {
			s.takePlacement(j.p)
			continue
		}
		s.takePlacement(q.Placement)
		s.recordMove(n, q.Placement, now)
		moves--
	}
}

// makeRoomFor moves jobs off one node so that r fits there. Of the nodes that can be
// cleared it takes the one with the least GPU to move.
func (s *churnStudy) makeRoomFor(r fgd.Request, now int64) (p fgd.Placement, ok bool) {
	if s.movesLeft == 0 || r.GPUs == 0 || now < s.nextConsolidation[r] {
		return p, false
	}
	s.nextConsolidation[r] = now + consolidateInterval
	// victims are the movable jobs of one node.
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
	// Fewest GPUs to move first; the node's index makes ties deterministic.
	slices.SortFunc(nodes, func(a, b *victims) int {
		return cmp.Or(cmp.Compare(a.total, b.total), cmp.Compare(a.node, b.node))
	})
	// Clearing a node may fail: its jobs need room elsewhere. Then try the next.
	for _, v := range nodes {
		if len(v.jobs) <= s.movesLeft {
			if p, ok = s.clearNode(r, v.node, v.jobs, now); ok {
				return p, true
			}
		}
	}
	return p, false
}

// clearNode tries to move jobs off node and to place r there. If that fails, it undoes
// everything.
func (s *churnStudy) clearNode(r fgd.Request, node int, jobs []int, now int64) (p fgd.Placement, ok bool) {
	for _, n := range jobs {
		s.releasePlacement(s.runningJobs[n].p)
	}
	// No node had room before, so if r fits now, it is on this node.
	if p, ok = s.c.PlaceRequest(r); !ok {
		for _, n := range jobs {
			s.takePlacement(s.runningJobs[n].p)
		}
		return p, false
	}
	// The others need room for each of the moved jobs, or all goes back.
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
	for i, n := range jobs { // otherwise the job stayed in place
		if gone[i].Node != node || gone[i].Devices != s.runningJobs[n].p.Devices { // else it stayed
			s.recordMove(n, gone[i], now)
			s.movesLeft--
		}
	}
	return p, true
}

// releasePlacement frees a placement.
func (s *churnStudy) releasePlacement(p fgd.Placement) {
	if err := s.c.ReleasePlacement(p); err != nil {
		panic(err) // Invariant: running jobs have a valid placement.
	}
}

// takePlacement occupies a placement that was released before.
func (s *churnStudy) takePlacement(p fgd.Placement) {
	if err := s.c.TakePlacement(p); err != nil {
		panic(err) // Invariant: the placement was released just before.
	}
}

// fragmentationShare returns F of the cluster, in thousandths of a GPU.
func (s *churnStudy) fragmentationShare() float64 {
	num, den := s.c.Fragmentation()
	return float64(num) / float64(den)
}
