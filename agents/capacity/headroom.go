package capacity

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// latestStartMargin is how long before its last possible start a deferrable job counts as having
// no more time, unless a quarter of its slack is shorter: capacity that a plan counts on may
// become free late.
const latestStartMargin = 90 * time.Minute

// DefaultHeadroomOneIn is the Config.HeadroomOneIn that did best in replays of recorded days.
const DefaultHeadroomOneIn = 6

// LatestStart returns when a job that would run for so long should start at the latest.
func LatestStart(j protocol.Job, run time.Duration) protocol.Time {
	return j.Deadline.Add(-run - max(0, min(latestStartMargin, (j.Deadline.Sub(j.Arrival)-j.Run)/4)))
}

// An emptiable node could be headroom. Deferrable jobs will have left it at an instant.
type emptiable struct {
	node int
	at   protocol.Time
}

// headroomNodes returns the nodes kept for jobs that cannot wait: of each pool's largest nodes one
// in Config.HeadroomOneIn. It chooses nodes without such a job of several GPUs, and of these the
// ones that deferrable jobs leave first.
func (f *Fleet) headroomNodes() []int {
	if f.cfg.HeadroomOneIn == 0 || f.headroom != nil {
		return f.headroom
	}
	f.headroom = []int{}
	for i := range f.nodes {
		f.nodes[i].isHeadroom = false
	}
	for _, p := range f.pools {
		size := 0
		for _, i := range p.nodes {
			size = max(size, f.nodes[i].GPUs)
		}
		if size < 2 {
			continue
		}
		can, all := f.emptiable[:0], 0
		for _, i := range p.nodes {
			n := &f.nodes[i]
			if n.unschedulable || n.GPUs < size {
				continue
			}
			all++
			if x := n.summarize(); !x.urgentLarge {
				can = append(can, emptiable{i, x.deferrableUntil})
			}
		}
		// Nodes that deferrable jobs leave first come first.
		slices.SortStableFunc(can, func(x, y emptiable) int { return cmp.Compare(x.at, y.at) })
		for _, x := range can[:min(len(can), (all+f.cfg.HeadroomOneIn/2)/f.cfg.HeadroomOneIn)] {
			f.headroom = append(f.headroom, x.node)
		}
		f.emptiable = can
	}
	for _, i := range f.headroom {
		f.nodes[i].isHeadroom = true
	}
	return f.headroom
}

// A nodeSummary is what the choice of the headroom needs of a node's jobs and reservations.
type nodeSummary struct {
	known           bool
	urgentLarge     bool          // a job of several GPUs runs there that cannot wait
	deferrableUntil protocol.Time // when the last deferrable job or reservation will have left
}

// summarize returns the summary of n.
func (n *node) summarize() *nodeSummary {
	x := &n.summary
	if x.known {
		return x
	}
	x.known = true
	for _, r := range n.jobs {
		if r.Job.MayWait() {
			x.deferrableUntil = max(x.deferrableUntil, r.End)
		} else if r.Job.GPUs > 1 {
			x.urgentLarge = true
		}
	}
	for i := range n.reservations {
		x.deferrableUntil = max(x.deferrableUntil, n.reservations[i].until)
	}
	return x
}

// hasTimeToWait reports whether a job that would run for so long can wait and has the time. A job
// of several GPUs that only this site may run cannot wait: if every large node is busy when it
// must start, it waits for the longest job there. So it may use the headroom.
func hasTimeToWait(now protocol.Time, j protocol.Job, run time.Duration) bool {
	return canWait(j) && now < LatestStart(j, run)
}

// canWait reports whether the headroom is closed to a job: it is deferrable, and has one GPU at
// most or other sites.
func canWait(j protocol.Job) bool { return j.MayWait() && (j.GPUs <= 1 || !j.IsTiedToOneSite()) }
