package agents

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// maxFreed bounds the amounts of GPUs that cheapestPerAmount distinguishes on a node: more occur only
// where many jobs hold odd shares of GPUs, and the greedy choice serves then.
const maxFreed = 1024

// A candidate is a run on a node that may be stopped: the GPUs that it holds there, and what would be lost.
type candidate struct {
	id   protocol.JobID
	gpus protocol.Milli
	lost protocol.Microdollars
}

// A choice is what to stop, and what is lost by that.
type choice struct {
	runs []protocol.JobID
	lost protocol.Microdollars
}

// isBetter reports whether x loses less than y, or as much with fewer runs.
func (x choice) isBetter(y choice) bool {
	return cmp.Or(cmp.Compare(x.lost, y.lost), cmp.Compare(len(x.runs), len(y.runs))) < 0
}

// cheapestPerAmount returns, for each amount of GPUs that some candidates hold together, the choice that
// loses least, and of equal ones fewer runs and those that come first: dynamic programming over the amounts,
// as for a knapsack.
func cheapestPerAmount(all []candidate) []choice {
	best := map[protocol.Milli]choice{0: {}}
	for _, c := range all {
		for _, freed := range slices.Backward(slices.Sorted(maps.Keys(best))) { // each candidate once
			with := choice{append(slices.Clone(best[freed].runs), c.id), best[freed].lost + c.lost}
			if was, ok := best[freed+c.gpus]; !ok || with.isBetter(was) {
				best[freed+c.gpus] = with
			}
		}
		if len(best) > maxFreed {
			return nil
		}
	}
	delete(best, 0)
	var out []choice
	for _, freed := range slices.Sorted(maps.Keys(best)) {
		out = append(out, best[freed])
	}
	slices.SortStableFunc(out, func(x, y choice) int {
		return cmp.Or(cmp.Compare(x.lost, y.lost), cmp.Compare(len(x.runs), len(y.runs)))
	})
	return out
}

// cheapestToStop returns the runs of an ordered list that lose least, of those without which a job fits on one
// node: exact by the GPUs that they hold there. Where the greedy choice of leastToStop loses less, as it may
// for gangs and where CPU or memory is short, it is that.
func (a *Agent) cheapestToStop(set protocol.PreemptionSet, mine []protocol.JobID, fits func([]protocol.JobID) bool) choice {
	lost := make(map[protocol.JobID]protocol.Microdollars)
	for i, id := range set.Runs {
		if i < len(set.Lost) {
			lost[id] = set.Lost[i]
		}
	}
	best := choice{runs: leastToStop(mine, fits)}
	for _, id := range best.runs {
		best.lost += lost[id]
	}
	if len(best.runs) == 0 || len(set.Lost) == 0 {
		return best
	}
	var waiting []protocol.JobID // of which nothing is lost, and that may be anywhere
	onNode := make(map[string][]candidate)
	for _, id := range mine {
		l := a.running[id]
		if l == nil {
			waiting = append(waiting, id)
			continue
		}
		for _, p := range l.launch.PlacesOf() {
			gpus := protocol.Milli(len(p.Devices)) * l.launch.PartAt(p).Share
			if n := len(onNode[p.Node]); n > 0 && onNode[p.Node][n-1].id == id { // pods of one gang
				onNode[p.Node][n-1].gpus += gpus
				continue
			}
			onNode[p.Node] = append(onNode[p.Node], candidate{id, gpus, lost[id]})
		}
	}
	for _, node := range slices.Sorted(maps.Keys(onNode)) {
		for _, c := range cheapestPerAmount(onNode[node]) {
			if !c.isBetter(best) {
				break
			}
			if c.runs = append(slices.Clone(waiting), c.runs...); fits(c.runs) {
				c.runs = withoutNeedless(c.runs, fits)
				best = choice{runs: c.runs}
				for _, id := range c.runs {
					best.lost += lost[id]
				}
				break
			}
		}
	}
	return best
}

// withoutNeedless leaves out runs, the last first, without which a job fits, too.
func withoutNeedless(gone []protocol.JobID, fits func([]protocol.JobID) bool) []protocol.JobID {
	for i := len(gone) - 1; i >= 0; i-- {
		if fewer := slices.Delete(slices.Clone(gone), i, i+1); fits(fewer) {
			gone = fewer
		}
	}
	return gone
}
