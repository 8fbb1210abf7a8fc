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

// churnStudy is one simulated run: jobs drawn from the trace with replacement arrive as a
// Poisson process, are placed in rounds, run, and end.
type churnStudy struct {
	o           StudyOptions
	v           StudyVariant
	c           *fgd.Cluster
	gpus        int64
	queue       []waitingJob
	ends        endQueue
	runningJobs map[int]*runningJob // by arrival number
	order       []int               // keys of live, oldest first; may contain ended jobs
	movesLeft   int                 // moves left in this hour to make room
	// nextConsolidation is the time before which makeRoomFor does not search for a request.
	nextConsolidation map[fgd.Request]int64

	start, stop int64
	done        float64 // GPU-milli-seconds of work in the measured period
	waits       []float64
	arrived     [3]float64 // jobs, GPU-milli-seconds, jobs of whole GPUs
	failed      [3]float64
	moves       float64
}

// waitingJob is a queued job: its arrival number n and arrival time at.
type waitingJob struct {
	TraceJob
	n  int
	at int64
}

// runningJob is a placed job with its start and end, in seconds.
type runningJob struct {
	TraceJob
	p           fgd.Placement
	since, end  int64
	moveSeconds int64 // seconds that moves cost
}

// scheduledEnd is the planned end of a job; a move makes an earlier entry obsolete.
type scheduledEnd struct {
	at int64
	n  int
}

// endQueue is a heap of job ends, by time and then arrival number.
type endQueue []scheduledEnd

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (e endQueue) Len() int { return len(e) }
func (e endQueue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e[i].at, e[j].at), cmp.Compare(e[i].n, e[j].n)) < 0
}
func (e endQueue) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *endQueue) Push(x any)   { *e = append(*e, x.(scheduledEnd)) }
func (e *endQueue) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// RunStudy runs one variant on nodes, with jobs drawn from a trace. The first half of
// the simulated time fills the cluster and is not measured.
func RunStudy(nodes []fgd.Node, jobs []TraceJob, v StudyVariant, o StudyOptions) (StudyOutcome, error) {
	// The work of all jobs sets the rate of arrivals; each job is a class of the target workload.
	classes := make([]fgd.Class, len(jobs))
	var work float64
	for i, j := range jobs {
		classes[i] = fgd.Class{Request: j.Request, Count: 1}
		work += float64(float64(j.Request.TotalMilli()) * float64(j.Duration))
	}
	r := rand.New(rand.NewSource(o.Seed))
	c, err := fgd.New(fgd.Config{Policy: v.Policy, Rank: r.Perm(len(nodes)), MaxJobs: maxJobs, Seed: uint64(o.Seed), Window: v.Window},
		nodes, fgd.PopularClasses(classes, popularPercent))
	if err != nil {
		return StudyOutcome{}, fmt.Errorf("packing: %w", err)
	}
	s := &churnStudy{o: o, v: v, c: c, runningJobs: map[int]*runningJob{}, nextConsolidation: map[fgd.Request]int64{}}
	s.gpus = c.IdleMilli()
	// As long to fill the cluster as to measure: o.Days each.
	s.start, s.stop = int64(o.Days)*86400, int64(o.Days)*2*86400
	if work == 0 || s.gpus == 0 || o.Round <= 0 {
		return StudyOutcome{}, fmt.Errorf("packing: a study needs jobs with GPUs, nodes with GPUs and a positive round length")
	}
	gap := work / float64(len(jobs)) / (o.Load * float64(s.gpus)) // mean seconds between arrivals, for the requested load
	next := r.ExpFloat64() * gap
	for now, n := o.Round, 0; now <= s.stop; now += o.Round {
		// Arrivals since the last round, by exponential gaps: a Poisson process.
		for ; next <= float64(now); next += float64(r.ExpFloat64() * gap) {
			j := jobs[r.Intn(len(jobs))]
			s.enqueueArrival(waitingJob{TraceJob: j, n: n, at: int64(next)})
			n++
		}
		// Ends first, so that their capacity is free in this round.
		s.endDueJobs(now)
		s.dropImpatientJobs(now)
		s.scheduleRound(now)
		// Once an hour: allowances of moves are by the hour.
		if now%3600 < o.Round {
			s.movesLeft = v.Room
			s.consolidateJobs(now)
		}
	}
	return s.studyOutcome(), nil
}

// isMeasured reports whether a time is in the measured period.
func (s *churnStudy) isMeasured(at int64) bool { return at >= s.start }

// jobSize returns the weights with which a job counts in arrived and failed.
func jobSize(j TraceJob) [3]float64 {
	out := [3]float64{1, float64(j.Request.TotalMilli()) * float64(j.Duration), 0}
	if j.Request.Milli == 1000 {
		out[2] = 1
	}
	return out
}

// enqueueArrival queues a job and counts it.
func (s *churnStudy) enqueueArrival(w waitingJob) {
	s.c.ObserveArrival(w.Request)
	s.queue = append(s.queue, w)
	if s.isMeasured(w.at) {
		for i, x := range jobSize(w.TraceJob) {
			s.arrived[i] += x
		}
	}
}

// accountWork adds the work done from since to now, within the measured period.
func (s *churnStudy) accountWork(j *runningJob, now int64) {
	from, to := max(j.since, s.start), min(now-j.moveSeconds, s.stop)
	if to > from {
		s.done += float64(float64(j.Request.TotalMilli()) * float64(to-from))
	}
}

// endDueJobs ends the jobs whose time has come.
func (s *churnStudy) endDueJobs(now int64) {
	for len(s.ends) > 0 && s.ends[0].at <= now {
		e := heap.Pop(&s.ends).(scheduledEnd)
		j, ok := s.runningJobs[e.n]
		if !ok || j.end != e.at { // the job was moved and ends later
			continue
		}
		s.accountWork(j, e.at)
		s.releasePlacement(j.p)
		delete(s.runningJobs, e.n)
	}
}

// dropImpatientJobs drops the jobs that have waited longer than MaxWait.
func (s *churnStudy) dropImpatientJobs(now int64) {
	s.queue = slices.DeleteFunc(s.queue, func(w waitingJob) bool {
		late := now-w.at > s.o.MaxWait
		if late && s.isMeasured(w.at) {
			for i, x := range jobSize(w.TraceJob) {
				s.failed[i] += x
			}
		}
		return late
	})
}

// scheduleRound places the queued jobs that fit.
func (s *churnStudy) scheduleRound(now int64) {
	if s.v.Gradient {
		s.scheduleByGradient(now)
		return
	}
	order := s.queue
	if s.v.Largest {
		order = slices.Clone(s.queue)
		slices.SortStableFunc(order, func(a, b waitingJob) int {
			return cmp.Or(cmp.Compare(b.Request.TotalMilli(), a.Request.TotalMilli()), cmp.Compare(b.Request.CPU, a.Request.CPU))
		})
	}
	full := map[fgd.Request]bool{} // requests without a place in this round
	var left []waitingJob
	for _, w := range order {
		if full[w.Request] {
			left = append(left, w)
			continue
		}
		p, ok := s.c.PlaceRequest(w.Request)
		if !ok {
			p, ok = s.makeRoomFor(w.Request, now)
		}
		if !ok {
			// Do not try an equal request again in this round.
			full[w.Request] = true
			left = append(left, w)
			continue
		}
		s.startJob(w, p, now)
	}
	// Back to the order of arrival: the next round may use another one.
	slices.SortFunc(left, func(a, b waitingJob) int { return cmp.Compare(a.n, b.n) })
	s.queue = left
}

// scheduleByGradient places the job with the lowest ΔF per requested GPU, as long as any job fits.
func (s *churnStudy) scheduleByGradient(now int64) {
	for {
		best, least := -1, math.Inf(1)
		// Equal requests have equal quotes: ask once for each.
		seen := map[fgd.Request]bool{}
		for i, w := range s.queue {
			if seen[w.Request] {
				continue
			}
			seen[w.Request] = true
			q := s.c.QuoteRequest(w.Request)
			// A job without GPUs counts as a thousandth of one, so that the quotient is finite.
			if !q.Fits {
				continue
			}
			if cost := float64(q.DeltaF) / float64(max(w.Request.TotalMilli(), 1)); cost < least {
				best, least = i, cost
			}
		}
		if best < 0 {
			return
		}
		w := s.queue[best]
		p, _ := s.c.PlaceRequest(w.Request)
		s.startJob(w, p, now)
		s.queue = slices.Delete(s.queue, best, best+1)
	}
}

// startJob starts a job at a placement.
func (s *churnStudy) startJob(w waitingJob, p fgd.Placement, now int64) {
	j := &runningJob{TraceJob: w.TraceJob, p: p, since: now, end: now + w.Duration}
	s.runningJobs[w.n] = j
	s.order = append(s.order, w.n)
	heap.Push(&s.ends, scheduledEnd{j.end, w.n})
	if s.isMeasured(w.at) {
		s.waits = append(s.waits, float64(now-w.at))
	}
}

// studyOutcome closes the accounts of running jobs and returns the figures of the measured
// period.
func (s *churnStudy) studyOutcome() StudyOutcome {
	for _, n := range s.order {
		if j := s.runningJobs[n]; j != nil {
			s.accountWork(j, s.stop)
			delete(s.runningJobs, n)
		}
	}
	out := StudyOutcome{
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
