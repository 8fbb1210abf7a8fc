package capacity

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// margin is how long before the last possible moment a job that can wait is
// taken to have no more time, or a quarter of its slack if that is shorter. Room
// that a plan counts on may be late.
const margin = 90 * time.Minute

// UsualStandby is a Config's Standby that has served recorded days well.
const UsualStandby = 6

// Latest returns when a job that would run for so long had better start, at the
// latest.
func Latest(j protocol.Job, run time.Duration) protocol.Time {
	return j.Deadline.Add(-run - max(0, min(margin, (j.Deadline.Sub(j.Arrival)-j.Run)/4)))
}

// standby returns the nodes that are for jobs that cannot wait: of each pool's
// largest nodes one in so many as the Config says. They are those on which no
// such job of several GPUs runs yet, and which jobs that can wait leave first.
func (f *Fleet) standby() []int {
	if f.cfg.Standby == 0 || f.aside != nil {
		return f.aside
	}
	f.aside = []int{}
	for i := range f.nodes {
		f.nodes[i].aside = false
	}
	for _, p := range f.pools {
		size := 0
		for _, i := range p.nodes {
			size = max(size, f.nodes[i].GPUs)
		}
		if size < 2 {
			continue
		}
		var can []int
		all := 0
		for _, i := range p.nodes {
			n := &f.nodes[i]
			if n.closed || n.GPUs < size {
				continue
			}
			all++
			if !slices.ContainsFunc(n.jobs, func(r *Run) bool { return !r.Job.Deferrable && r.Job.GPUs > 1 }) {
				can = append(can, i)
			}
		}
		slices.SortStableFunc(can, func(x, y int) int { return cmp.Compare(f.nodes[x].left(), f.nodes[y].left()) })
		f.aside = append(f.aside, can[:min(len(can), (all+f.cfg.Standby/2)/f.cfg.Standby)]...)
	}
	for _, i := range f.aside {
		f.nodes[i].aside = true
	}
	return f.aside
}

// left returns when the last job that can wait will have left n.
func (n *node) left() (at protocol.Time) {
	for _, r := range n.jobs {
		if r.Job.Deferrable {
			at = max(at, r.End)
		}
	}
	for _, k := range n.keeps {
		at = max(at, k.until)
	}
	return at
}

// waits reports whether a job that would run for so long from now can wait, and
// has the time. One of several GPUs that has nowhere else to turn has none: if every
// large node is busy when it must start, it waits for as long as the longest job
// runs. So it may have what is on standby for jobs that cannot wait.
func waits(now protocol.Time, j protocol.Job, run time.Duration) bool {
	return patient(j) && now < Latest(j, run)
}

func patient(j protocol.Job) bool { return j.Deferrable && (j.GPUs <= 1 || !j.Tied()) }
