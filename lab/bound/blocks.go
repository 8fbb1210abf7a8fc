package bound

import (
	"cmp"
	"math"
	"slices"
)

// How the starts of a way are cut up.
const (
	blockSlots   = 8
	pastDueSlots = 32 // slots past the deadline that are looked at one by one
	maxBlocks    = 64 // blocks of a job, at first
)

// splitIntoBlocks makes the blocks of a job, of which it keeps at most so many. Later starts
// than those looked at, and blocks past the cheapest, make up the job's rest,
// which is a bound on all of them.
func (p *boundProblem) splitIntoBlocks(j *jobModel, most int) {
	j.otherCost, j.droppedBlocks = math.Inf(1), 0
	j.blocks = j.blocks[:0]
	for k := range j.configs {
		w := &j.configs[k]
		last := max(j.arrival, j.deadline-w.length) + pastDueSlots
		for from := j.arrival; from < last; from += blockSlots {
			to := min(from+blockSlots, last)
			j.blocks = append(j.blocks, startBlock{p.leastCostWithoutRoom(j, w, from, to), k, from, to})
		}
		j.otherCost = min(j.otherCost, p.lowerBoundFrom(j, w, last))
	}
	slices.SortFunc(j.blocks, func(x, y startBlock) int {
		return cmp.Or(cmp.Compare(x.least, y.least), cmp.Compare(x.config, y.config), cmp.Compare(x.from, y.from))
	})
	// Blocks that cost more than the rest are never the best.
	n, _ := slices.BinarySearchFunc(j.blocks, j.otherCost, func(b startBlock, v float64) int { return cmp.Compare(b.least, v) })
	j.blocks = j.blocks[:n]
	if n > most {
		j.otherCost, j.droppedBlocks = j.blocks[most].least, n
		j.blocks = slices.Clone(j.blocks[:most])
	}
}

// leastCostWithoutRoom returns the least cost of a way over starts in [from, to], room free.
func (p *boundProblem) leastCostWithoutRoom(j *jobModel, w *runConfig, from, to float64) float64 {
	free := *w
	free.pool = -1
	v, _ := p.cheapestStart(j, &free, from, to)
	return v
}

// lowerBoundFrom bounds what a way costs from a start on, whenever it starts then.
func (p *boundProblem) lowerBoundFrom(j *jobModel, w *runConfig, from float64) float64 {
	r := &p.sites[w.site]
	v := w.fixed + float64(w.power*w.length*r.low)
	v += float64(j.delay * (from - j.arrival))
	return v + float64(j.late*max(from+w.length-j.deadline, 0))
}
