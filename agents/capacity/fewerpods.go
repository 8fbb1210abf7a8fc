package capacity

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// GoOnWithFewer notes that a running gang has lost pods and runs on with those at some places of its run, for
// longer (see protocol.Job.MinPods): the rest of its nodes is free. False if it has no such run.
func (f *Fleet) GoOnWithFewer(now protocol.Time, id protocol.JobID, places []protocol.Place) bool {
	r := f.running[id]
	if r == nil || len(places) == 0 || len(places) >= len(r.parts) || r.Job.InvalidPlaces(places) != "" {
		return false
	}
	isLeft := func(p *Run) bool {
		return slices.ContainsFunc(places, func(x protocol.Place) bool {
			return x.Node == p.Node && x.Component == p.component && slices.Equal(x.Devices, p.DeviceIndexes())
		})
	}
	left := slices.DeleteFunc(slices.Clone(r.parts), func(p *Run) bool { return !isLeft(p) })
	if len(left) != len(places) {
		return false
	}
	for _, p := range r.parts {
		if !isLeft(p) {
			f.leaveNode(now, p)
		}
	}
	job := r.Job.AtPlaces(places)
	all, fewer := r.Job.SlowedBy(&job)
	r.RunConfig.Power = r.RunConfig.Power * protocol.Milliwatts(job.PodCount()) / protocol.Milliwatts(r.Job.PodCount())
	r.Job, r.parts, r.Node = job, left, left[0].Node
	for i, p := range left {
		p.isFurtherPart = i > 0
	}
	f.PlanEnd(id, now.Add((max(r.End.Sub(now), 0)*all+fewer-1)/fewer/time.Second*time.Second))
	return true
}
