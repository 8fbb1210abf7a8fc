package bound

import (
	"cmp"
	"math"
	"slices"
)

// How the starts of a way are cut up.
const (
	blockSlots = 8
	pastDue    = 32 // slots past the deadline that are looked at one by one
	most       = 64 // blocks of a job, at first
)

// cut makes the blocks of a job, of which it keeps at most so many. Later starts
// than those looked at, and blocks past the cheapest, make up the job's rest,
// which is a bound on all of them.
func (p *problem) cut(j *work, most int) {
	j.rest, j.cut = math.Inf(1), 0
	j.blocks = j.blocks[:0]
	for k := range j.ways {
		w := &j.ways[k]
		last := max(j.arrival, j.deadline-w.length) + pastDue
		for from := j.arrival; from < last; from += blockSlots {
			to := min(from+blockSlots, last)
			j.blocks = append(j.blocks, block{p.least(j, w, from, to), k, from, to})
		}
		j.rest = min(j.rest, p.later(j, w, last))
	}
	slices.SortFunc(j.blocks, func(x, y block) int {
		return cmp.Or(cmp.Compare(x.least, y.least), cmp.Compare(x.way, y.way), cmp.Compare(x.from, y.from))
	})
	// Blocks that cost more than the rest are never the best.
	n, _ := slices.BinarySearchFunc(j.blocks, j.rest, func(b block, v float64) int { return cmp.Compare(b.least, v) })
	j.blocks = j.blocks[:n]
	if n > most {
		j.rest, j.cut = j.blocks[most].least, n
		j.blocks = slices.Clone(j.blocks[:most])
	}
}

// least returns the least cost of a way over starts in [from, to], room free.
func (p *problem) least(j *work, w *way, from, to float64) float64 {
	free := *w
	free.pool = -1
	v, _ := p.scan(j, &free, from, to)
	return v
}

// later bounds what a way costs from a start on, whenever it starts then.
func (p *problem) later(j *work, w *way, from float64) float64 {
	r := &p.sites[w.site]
	v := w.fixed + float64(w.power*w.length*r.low)
	v += float64(j.delay * (from - j.arrival))
	return v + float64(j.late*max(from+w.length-j.deadline, 0))
}
