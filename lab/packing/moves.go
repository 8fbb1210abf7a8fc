package packing

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/gridbid/gridbid/agents/fgd"
)

// worthMoving is the fall of F, in thousandths of a GPU, from which a move pays.
const worthMoving = 200

// tryAgain is the seconds after which room is sought again for a request that
// none was found for.
const tryAgain = 900

// movable says whether j may be moved at all, and runs long enough yet.
func (s *study) movable(j *running, now int64) bool {
	return j.Moves && j.Request.GPUs > 0 && j.end-now >= 2*s.o.MoveCost
}

// moved books that job n goes on at p, and longer for it.
func (s *study) moved(n int, p fgd.Placement, now int64) {
	j := s.live[n]
	j.p = p
	j.end += s.o.MoveCost
	j.lost += s.o.MoveCost
	heap.Push(&s.ends, ending{j.end, n})
	if s.measured(now) {
		s.moves++
	}
}

// consolidate moves jobs that may be moved, oldest first, where F falls enough.
func (s *study) consolidate(now int64) {
	s.order = slices.DeleteFunc(s.order, func(n int) bool { return s.live[n] == nil })
	moves := s.v.Moves
	for _, n := range s.order {
		j := s.live[n]
		if moves == 0 {
			return
		}
		if !s.movable(j, now) {
			continue
		}
		before := s.fragment()
		s.release(j.p)
		q := s.c.Quote(j.Request)
		if !q.Fits || before-s.fragment()-float64(q.DeltaF) < worthMoving {
			s.take(j.p)
			continue
		}
		s.take(q.Placement)
		s.moved(n, q.Placement, now)
		moves--
	}
}

// makeRoom moves jobs off one node so that r fits there: the node where the
// least GPU has to move, of those from which all can go elsewhere.
func (s *study) makeRoom(r fgd.Request, now int64) (p fgd.Placement, ok bool) {
	if s.room == 0 || r.GPUs == 0 || now < s.again[r] {
		return p, false
	}
	s.again[r] = now + tryAgain
	type victims struct {
		node  int
		total int64
		jobs  []int
	}
	by := map[int]*victims{}
	var nodes []*victims
	for _, n := range s.order {
		j := s.live[n]
		if j == nil || !s.movable(j, now) {
			continue
		}
		v := by[j.p.Node]
		if v == nil {
			v = &victims{node: j.p.Node}
			by[j.p.Node] = v
			nodes = append(nodes, v)
		}
		v.total += j.Request.Total()
		v.jobs = append(v.jobs, n)
	}
	slices.SortFunc(nodes, func(a, b *victims) int {
		return cmp.Or(cmp.Compare(a.total, b.total), cmp.Compare(a.node, b.node))
	})
	for _, v := range nodes {
		if len(v.jobs) <= s.room {
			if p, ok = s.clear(r, v.node, v.jobs, now); ok {
				return p, true
			}
		}
	}
	return p, false
}

// clear tries to move jobs off node, and to place r there.
func (s *study) clear(r fgd.Request, node int, jobs []int, now int64) (p fgd.Placement, ok bool) {
	for _, n := range jobs {
		s.release(s.live[n].p)
	}
	// Nothing fitted before, so if r fits now it fits here.
	if p, ok = s.c.Place(r); !ok {
		for _, n := range jobs {
			s.take(s.live[n].p)
		}
		return p, false
	}
	var gone []fgd.Placement
	for _, n := range jobs {
		q, fits := s.c.Place(s.live[n].Request)
		if !fits {
			for _, g := range gone {
				s.release(g)
			}
			s.release(p)
			for _, n := range jobs {
				s.take(s.live[n].p)
			}
			return p, false
		}
		gone = append(gone, q)
	}
	for i, n := range jobs {
		if gone[i].Node != node || gone[i].Devices != s.live[n].p.Devices { // else it stayed
			s.moved(n, gone[i], now)
			s.room--
		}
	}
	return p, true
}

func (s *study) release(p fgd.Placement) {
	if err := s.c.Release(p); err != nil {
		panic(err) // Invariant: what runs was placed.
	}
}

func (s *study) take(p fgd.Placement) {
	if err := s.c.Take(p); err != nil {
		panic(err) // Invariant: it fitted there a moment ago.
	}
}

func (s *study) fragment() float64 {
	num, den := s.c.Fragment()
	return float64(num) / float64(den)
}
