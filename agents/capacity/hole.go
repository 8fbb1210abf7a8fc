package capacity

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A HoleQuote is what a gang that starts later keeps idle until then: nodes that are free before its last
// one is. Others may run there if they end in time.
type HoleQuote struct {
	From     protocol.Time  // since when the first of its nodes is kept
	GPUHours protocol.Milli // that its GPUs are kept, in thousandths
	spans    []heldSpan
}

// A heldSpan is GPUs that are kept between two instants.
type heldSpan struct {
	from, until protocol.Time
	gpus        protocol.Milli
}

// HoleAt returns what a gang keeps idle if it goes to some places at an instant.
func (f *Fleet) HoleAt(now protocol.Time, j *protocol.Job, places []protocol.Place, start protocol.Time) HoleQuote {
	var parts []setPart
	for _, p := range places {
		if i := slices.IndexFunc(f.nodes, func(n node) bool { return !n.removed && n.Name == p.Node }); i >= 0 {
			parts = append(parts, setPart{i, p.Component, p.Pods})
		}
	}
	return f.holeOf(now, j, parts, start)
}

// holeOf is HoleAt for nodes by index.
func (f *Fleet) holeOf(now protocol.Time, j *protocol.Job, parts []setPart, start protocol.Time) (q HoleQuote) {
	q.From = start
	for _, p := range parts {
		c := &j.Pods[p.component]
		ready := f.readyFor(now, p, c, start)
		q.From = min(q.From, ready)
		if gpus := protocol.Milli(p.pods*c.GPUs) * c.Share; gpus > 0 && ready < start {
			q.spans = append(q.spans, heldSpan{ready, start, gpus})
			q.GPUHours += gpuHours(gpus, start.Sub(ready))
		}
	}
	return q
}

// gpuHours returns GPUs times a span, in thousandths of a GPU-hour.
func gpuHours(gpus protocol.Milli, span time.Duration) protocol.Milli {
	return gpus * protocol.Milli(max(span, 0)/time.Second) / 3600
}

// readyFor returns from when on a part of a gang finds room beside the runs on its node, and at the latest its
// start.
func (f *Fleet) readyFor(now protocol.Time, p setPart, c *protocol.Component, start protocol.Time) protocol.Time {
	n := &f.nodes[p.node]
	s := f.stateOf(p.node, c.GPUMemory)
	if s.podsOf(n, c) >= p.pods {
		return min(now, start)
	}
	for _, r := range n.jobs { // by planned end
		s.release(n, r)
		if s.podsOf(n, c) >= p.pods {
			return min(max(r.End, now), start)
		}
	}
	return start
}

// Cost returns what a hole costs at a price of a GPU-hour between two instants, less what others are
// expected to use of it.
func (f *Fleet) Cost(q HoleQuote, price func(from, until protocol.Time) protocol.Microdollars) (cost protocol.Microdollars) {
	for _, s := range q.spans {
		cost += protocol.GPUHoursCost(s.gpus, s.until.Sub(s.from), price(s.from, s.until))
	}
	return cost * protocol.Microdollars(1000-f.backfilled) / 1000
}

// A holeUse is how much of the hole before a gang others have used.
type holeUse struct{ held, used protocol.Milli } // thousandths of a GPU-hour

const (
	mostBackfilled = 900 // thousandths: a hole is never free
	backfillWeight = 4   // of the share so far against that of the latest gang, plus one
)

// noteBackfill counts a run on node n toward what is used of the holes before gangs there.
func (f *Fleet) noteBackfill(n *node, r *Run) {
	for x := range n.reservations {
		k := &n.reservations[x]
		h := f.holes[k.job.ID]
		if h == nil || k.job.ID == r.Job.ID || k.from <= r.Start {
			continue
		}
		h.used += gpuHours(min(r.Job.TotalGPUMilli(), k.job.TotalGPUMilli()), min(r.End, k.from).Sub(r.Start))
	}
}

// learnBackfill takes over what was used of the hole before a gang, now that it starts. The mean moves a fifth of the
// way to each new share.
func (f *Fleet) learnBackfill(h *holeUse) {
	if h == nil || h.held <= 0 {
		return
	}
	share := min(h.used*1000/h.held, mostBackfilled)
	f.backfilled = (backfillWeight*f.backfilled + share) / (backfillWeight + 1)
}
