package packing

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"math/rand"
	"slices"

	"github.com/gridbid/gridbid/agents/fgd"
)

// study is one run: jobs drawn from the trace with replacement arrive as a
// Poisson process, wait in rounds, run, and end.
type study struct {
	o     StudyOptions
	v     Variant
	c     *fgd.Cluster
	gpus  int64
	queue []waiting
	ends  endings
	live  map[int]*running // by number of arrival
	order []int            // keys of live, oldest first, some gone
	room  int              // moves left in this hour to make room
	again map[fgd.Request]int64

	start, stop int64
	done        float64 // GPU-milli-seconds of work in the measured time
	waits       []float64
	arrived     [3]float64 // jobs, GPU-milli-seconds, jobs of whole GPUs
	failed      [3]float64
	moves       float64
}

type waiting struct {
	Job
	n  int
	at int64
}

type running struct {
	Job
	p          fgd.Placement
	since, end int64
	lost       int64 // seconds that moves cost
}

type ending struct {
	at int64
	n  int
}

type endings []ending

func (e endings) Len() int { return len(e) }
func (e endings) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e[i].at, e[j].at), cmp.Compare(e[i].n, e[j].n)) < 0
}
func (e endings) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)   { *e = append(*e, x.(ending)) }
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// Study runs one variant on nodes, with jobs drawn from a trace.
func Study(nodes []fgd.Node, jobs []Job, v Variant, o StudyOptions) (Outcome, error) {
	classes := make([]fgd.Class, len(jobs))
	var work float64
	for i, j := range jobs {
		classes[i] = fgd.Class{Request: j.Request, Count: 1}
		work += float64(float64(j.Request.Total()) * float64(j.Duration))
	}
	r := rand.New(rand.NewSource(o.Seed))
	c, err := fgd.New(fgd.Config{Policy: v.Policy, Rank: r.Perm(len(nodes)), MaxJobs: maxJobs, Seed: uint64(o.Seed), Window: v.Window},
		nodes, fgd.Popular(classes, popularPercent))
	if err != nil {
		return Outcome{}, fmt.Errorf("pack: %w", err)
	}
	s := &study{o: o, v: v, c: c, live: map[int]*running{}, again: map[fgd.Request]int64{}}
	s.gpus = c.Idle()
	s.start, s.stop = int64(o.Days)*86400, int64(o.Days)*2*86400
	if work == 0 || s.gpus == 0 || o.Round <= 0 {
		return Outcome{}, fmt.Errorf("pack: a study needs work, GPUs and rounds")
	}
	gap := work / float64(len(jobs)) / (o.Load * float64(s.gpus)) // seconds between arrivals
	next := r.ExpFloat64() * gap
	for now, n := o.Round, 0; now <= s.stop; now += o.Round {
		for ; next <= float64(now); next += float64(r.ExpFloat64() * gap) {
			j := jobs[r.Intn(len(jobs))]
			s.arrive(waiting{Job: j, n: n, at: int64(next)})
			n++
		}
		s.end(now)
		s.giveUp(now)
		s.round(now)
		if now%3600 < o.Round {
			s.room = v.Room
			s.consolidate(now)
		}
	}
	return s.outcome(), nil
}

func (s *study) measured(at int64) bool { return at >= s.start }

// size is what a job counts for in arrived and failed.
func size(j Job) [3]float64 {
	out := [3]float64{1, float64(j.Request.Total()) * float64(j.Duration), 0}
	if j.Request.Milli == 1000 {
		out[2] = 1
	}
	return out
}

func (s *study) arrive(w waiting) {
	s.c.Observe(w.Request)
	s.queue = append(s.queue, w)
	if s.measured(w.at) {
		for i, x := range size(w.Job) {
			s.arrived[i] += x
		}
	}
}

// account books work done from since to now, as far as it was measured.
func (s *study) account(j *running, now int64) {
	from, to := max(j.since, s.start), min(now-j.lost, s.stop)
	if to > from {
		s.done += float64(float64(j.Request.Total()) * float64(to-from))
	}
}

func (s *study) end(now int64) {
	for len(s.ends) > 0 && s.ends[0].at <= now {
		e := heap.Pop(&s.ends).(ending)
		j, ok := s.live[e.n]
		if !ok || j.end != e.at { // it was moved, and ends later
			continue
		}
		s.account(j, e.at)
		s.release(j.p)
		delete(s.live, e.n)
	}
}

func (s *study) giveUp(now int64) {
	s.queue = slices.DeleteFunc(s.queue, func(w waiting) bool {
		late := now-w.at > s.o.Patience
		if late && s.measured(w.at) {
			for i, x := range size(w.Job) {
				s.failed[i] += x
			}
		}
		return late
	})
}

// round places what fits of the queue.
func (s *study) round(now int64) {
	if s.v.Gradient {
		s.bestFirst(now)
		return
	}
	order := s.queue
	if s.v.Largest {
		order = slices.Clone(s.queue)
		slices.SortStableFunc(order, func(a, b waiting) int {
			return cmp.Or(cmp.Compare(b.Request.Total(), a.Request.Total()), cmp.Compare(b.Request.CPU, a.Request.CPU))
		})
	}
	full := map[fgd.Request]bool{} // asked for in this round in vain
	var left []waiting
	for _, w := range order {
		if full[w.Request] {
			left = append(left, w)
			continue
		}
		p, ok := s.c.Place(w.Request)
		if !ok {
			p, ok = s.makeRoom(w.Request, now)
		}
		if !ok {
			full[w.Request] = true
			left = append(left, w)
			continue
		}
		s.run(w, p, now)
	}
	slices.SortFunc(left, func(a, b waiting) int { return cmp.Compare(a.n, b.n) })
	s.queue = left
}

// bestFirst places, while anything fits, the job of the lowest ΔF for its GPUs.
func (s *study) bestFirst(now int64) {
	for {
		best, least := -1, math.Inf(1)
		seen := map[fgd.Request]bool{}
		for i, w := range s.queue {
			if seen[w.Request] {
				continue
			}
			seen[w.Request] = true
			q := s.c.Quote(w.Request)
			if !q.Fits {
				continue
			}
			if cost := float64(q.DeltaF) / float64(max(w.Request.Total(), 1)); cost < least {
				best, least = i, cost
			}
		}
		if best < 0 {
			return
		}
		w := s.queue[best]
		p, _ := s.c.Place(w.Request)
		s.run(w, p, now)
		s.queue = slices.Delete(s.queue, best, best+1)
	}
}

func (s *study) run(w waiting, p fgd.Placement, now int64) {
	j := &running{Job: w.Job, p: p, since: now, end: now + w.Duration}
	s.live[w.n] = j
	s.order = append(s.order, w.n)
	heap.Push(&s.ends, ending{j.end, w.n})
	if s.measured(w.at) {
		s.waits = append(s.waits, float64(now-w.at))
	}
}

func (s *study) outcome() Outcome {
	for _, n := range s.order {
		if j := s.live[n]; j != nil {
			s.account(j, s.stop)
			delete(s.live, n)
		}
	}
	out := Outcome{
		Alloc:  100 * s.done / float64(s.gpus) / float64(s.stop-s.start),
		Failed: 100 * s.failed[0] / max(s.arrived[0], 1), FailedWork: 100 * s.failed[1] / max(s.arrived[1], 1),
		FailedWhole: 100 * s.failed[2] / max(s.arrived[2], 1),
		Moves:       s.moves / float64(s.o.Days*24),
	}
	if n := len(s.waits); n > 0 {
		out.Wait, _ = meanSD(n, func(i int) float64 { return s.waits[i] })
		slices.Sort(s.waits)
		out.Wait95 = s.waits[n*95/100]
	}
	return out
}
