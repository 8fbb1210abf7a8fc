package bound

import (
	"cmp"
	"math"
	"slices"
)

// How the possible starts of a way are grouped.
const (
	blockSlots   = 8  // slots of one block
	pastDueSlots = 32 // slots past the deadline that are searched exactly
	maxBlocks    = 64 // blocks kept for a job at first
)

// splitIntoBlocks builds the blocks of a job and keeps the most cheapest ones. Starts beyond the
// searched ones and dropped blocks are covered by the job's otherCost, a lower bound on
// the cost of all of them.
func (p *boundProblem) splitIntoBlocks(j *jobModel, most int) { p.splitStarts(j, most, blockSlots) }

// splitStarts is splitIntoBlocks with blocks of a length.
func (p *boundProblem) splitStarts(j *jobModel, most int, slots float64) {
	j.otherCost, j.droppedBlocks = math.Inf(1), 0
	j.blocks = j.blocks[:0]
	for k := range j.configs {
		w := &j.configs[k]
		last := max(j.arrival, j.deadline-w.length) + pastDueSlots
		for from := j.arrival; from < last; from += slots {
			to := min(from+slots, last)
			j.blocks = append(j.blocks, startBlock{p.leastCostWithoutRoom(j, w, from, to), k, from, to})
		}
		j.otherCost = min(j.otherCost, p.lowerBoundFrom(j, w, last))
	}
	slices.SortFunc(j.blocks, func(x, y startBlock) int {
		return cmp.Or(cmp.Compare(x.least, y.least), cmp.Compare(x.config, y.config), cmp.Compare(x.from, y.from))
	})
	// A block that costs more than the rest never contains the best start.
	n, _ := slices.BinarySearchFunc(j.blocks, j.otherCost, func(b startBlock, v float64) int { return cmp.Compare(b.least, v) })
	j.blocks = j.blocks[:n]
	if n > most {
		j.otherCost, j.droppedBlocks = j.blocks[most].least, n
		j.blocks = slices.Clone(j.blocks[:most])
	}
}

// leastCostWithoutRoom returns the lowest cost of a way over starts in [from, to] if capacity is free.
func (p *boundProblem) leastCostWithoutRoom(j *jobModel, w *runConfig, from, to float64) float64 {
	free := *w
	free.pool = -1 // no pool: pay nothing for capacity
	v, _ := p.cheapestStart(j, &free, from, to)
	return v
}

// lowerBoundFrom returns a lower bound of a way's cost over all starts at or after from.
func (p *boundProblem) lowerBoundFrom(j *jobModel, w *runConfig, from float64) float64 {
	r := &p.sites[w.site]
	v := w.fixed + float64(w.power*w.length*r.low)
	v += float64(j.delay * (from - j.arrival))
	return v + j.lateCost(from+w.length-j.deadline)
}
