package capacity

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A keptRoom is room for a job on one node of a GPU model, which is kept awake until an instant.
type keptRoom struct {
	model string
	gpus  protocol.Milli
	until protocol.Time
}

const (
	// keptRoomGPUs is the least size of a job whose start has room for another one kept awake, in thousandths.
	keptRoomGPUs = 8000
	// keptRoomTime is for how long, for each GPU of the job: about the time in which an idle node costs as
	// much as a GPU that waits for one to wake (decision 0461).
	keptRoomTime = 30 * time.Minute
)

// keepRoomAwake returns the nodes that are kept awake when a run starts, and counts them so. After the start
// of a large job that cannot wait, one node with room for another such job is: one that jobs keep awake; else
// one that is empty, which lingers anew with each start at the site; else one is woken, of the headroom first.
func (f *Fleet) keepRoomAwake(now protocol.Time, r *Run) (names []string) {
	f.kept = slices.DeleteFunc(f.kept, func(k keptRoom) bool { return k.until < now })
	if on, gpus := &f.nodes[r.placement.Node], r.Job.TotalGPUMilli(); !r.Job.MayWait() && !r.Job.IsGang() && gpus >= keptRoomGPUs && on.Host.WakeTime > 0 {
		f.kept = append(f.kept, keptRoom{on.Model, gpus, now.Add(keptRoomTime * time.Duration(gpus) / 1000)})
	}
	if len(f.kept) == 0 {
		return nil
	}
	f.headroomNodes()
	for i := range f.pools {
		n := f.nodeToKeep(now, &f.pools[i])
		if n == nil {
			continue
		}
		if n.awakeUntil(now) == 0 {
			n.wakesAt = now.Add(n.Host.WakeTime)
		}
		n.emptySince = max(now, n.wakesAt)
		f.ahead = max(f.ahead, n.awakeUntil(now))
		f.noteChange(n)
		names = append(names, n.Name)
	}
	return names
}

// nodeToKeep returns the empty node of a pool that is to be awake as kept room; nil: none, or jobs keep one
// awake.
func (f *Fleet) nodeToKeep(now protocol.Time, p *pool) (best *node) {
	need := protocol.Milli(0)
	for _, k := range f.kept {
		if k.model == p.model {
			need = max(need, k.gpus)
		}
	}
	if need == 0 {
		return nil
	}
	isAwake := func(n *node) bool { return n.awakeUntil(now) != 0 }
	for _, i := range p.nodes {
		switch n := &f.nodes[i]; {
		case n.removed || n.unschedulable || n.freeGPUs() < need || !isAwake(n) && len(n.reservations) > 0:
		case len(n.jobs) > 0:
			return nil
		case best == nil, isAwake(n) && !isAwake(best), isAwake(n) == isAwake(best) && n.isHeadroom && !best.isHeadroom:
			best = n
		}
	}
	return best
}
