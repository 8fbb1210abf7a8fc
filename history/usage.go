package history

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A Use says how much of a resource of all fleets the jobs held: as the mean from the first
// arrival to the last one allowed, and at the busiest instant of the whole run. Fractions of all
// there is; 0 where there is none. Lost runs, for which no tenant paid, are left out.
type Use struct {
	Mean float64 `json:"mean"`
	Peak float64 `json:"peak"`
}

// A heldEdge is the instant at which a job takes its resources, or frees them.
type heldEdge struct {
	at               protocol.Time
	gpu, cpu, memory int64 // taken; below zero: freed
	order            int   // frees come before takes of the same instant
}

// resourceUse returns how much of all GPUs, cores and memory the segments of all jobs held. What is
// held is counted in integers, instant by instant, so that it does not depend on the order of jobs.
func (b *History) resourceUse(m Meta) (gpu, cpu, memory Use) {
	var edges []heldEdge
	for _, e := range b.allEntries() {
		for _, s := range e.rec.RunSegments() {
			g, c, mem := int64(s.Job.TotalGPUMilli()), int64(s.Job.CPU), int64(s.Job.Memory)
			edges = append(edges, heldEdge{at: s.Run.Started, gpu: g, cpu: c, memory: mem, order: 1})
			if s.Over {
				edges = append(edges, heldEdge{at: s.Run.Ended, gpu: -g, cpu: -c, memory: -mem})
			}
		}
	}
	slices.SortFunc(edges, func(x, y heldEdge) int {
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.order, y.order))
	})
	var held, most [3]int64
	var sum [3]float64
	last := m.Start
	advance := func(to protocol.Time) {
		if to = min(to, m.End); to > last {
			for i := range held {
				sum[i] += float64(float64(held[i]) * float64(to-last))
			}
			last = to
		}
	}
	for _, x := range edges {
		advance(x.at)
		for i, v := range [3]int64{x.gpu, x.cpu, x.memory} {
			held[i] += v
			most[i] = max(most[i], held[i])
		}
	}
	advance(m.End)
	use := func(i int, there int64) Use {
		if there <= 0 || m.End <= m.Start {
			return Use{}
		}
		return Use{
			Mean: sum[i] / (float64(there) * float64(m.End-m.Start)),
			Peak: float64(most[i]) / float64(there),
		}
	}
	return use(0, int64(m.GPUs)), use(1, int64(m.CPU)), use(2, int64(m.Memory))
}

// throughput returns how many jobs ended per hour from Start to End.
func (b *History) throughput(m Meta) float64 {
	ended := 0
	for _, e := range b.allEntries() {
		if r := e.rec; r.phase == phaseEnded && r.Run.Ended >= m.Start && r.Run.Ended < m.End {
			ended++
		}
	}
	if m.End <= m.Start {
		return 0
	}
	return float64(ended) / m.End.Sub(m.Start).Hours()
}
