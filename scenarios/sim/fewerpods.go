package sim

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// goOnWithFewer takes a running gang off its nodes that are down, if enough of its pods are left (see
// protocol.Job.MinPods), and reports where it runs on. What it drew until now stays its own.
func (h *SimExecutor) goOnWithFewer(now protocol.Time, j *runningJob) []protocol.Message {
	left := slices.DeleteFunc(slices.Clone(j.launch.Places), func(p protocol.Place) bool { return h.nodes[p.Node].isDown() })
	was := &j.launch.Job
	if len(left) == len(j.launch.Places) || was.MinPods == 0 || !j.runs || was.InvalidPlaces(left) != "" {
		return nil
	}
	job := was.AtPlaces(left)
	all, fewer := was.SlowedBy(&job)
	slower := func(d time.Duration) time.Duration { return (d*all + fewer - 1) / fewer }
	h.closeDraw(now, j)
	h.draw -= j.power
	j.power = j.power * protocol.Milliwatts(job.PodCount()) / protocol.Milliwatts(was.PodCount())
	h.draw += j.power
	for _, m := range j.nodes {
		if !slices.ContainsFunc(left, func(p protocol.Place) bool { return p.Node == m.report.Name }) {
			m.release(now)
			m.sleeps = 0
		}
	}
	j.end, j.launch.Run = now.Add(slower(j.end.Sub(now))), slower(j.remainingPlan(now))
	j.start, j.launch.Job, j.launch.Places, j.launch.Node, j.launch.Devices = now, job, left, left[0].Node, left[0].Devices
	j.nodes, j.fewer = h.nodesOf(&j.launch), true
	slices.SortFunc(h.jobs, compareJobs)
	return []protocol.Message{h.sender.NewMessage(now, h.agent, j.started())}
}

// started reports that a job runs; of one that goes on with fewer pods, where.
func (j *runningJob) started() protocol.Started {
	s := protocol.Started{Job: j.launch.Job.ID, Epoch: j.launch.Epoch}
	if j.fewer {
		s.Node, s.Devices, s.Places = j.launch.Node, j.launch.Devices, j.launch.Places
	}
	return s
}
