package executor

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

// readPodEnergyTallies stores the energy tallies that node daemons wrote on a run's
// pods. It runs at each reconcile, because the tally of a pod is lost when the pod is
// deleted.
func (h *KubeExecutor) readPodEnergyTallies(r *run, pods []*corev1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	// Pods that hold devices and are not listed any more were deleted.
	gone := make(map[types.UID]bool)
	for id := range r.podsWithDevices {
		gone[id] = true
	}
	r.deletedPods = gone
	for _, p := range pods {
		delete(gone, p.UID)
		if len(kube.DevicesOf(p)) > 0 {
			if r.podsWithDevices == nil {
				r.podsWithDevices = make(map[types.UID]string)
			}
			r.podsWithDevices[p.UID] = p.Name
		}
		text := p.Annotations[podenergy.AnnotationEnergy]
		if text == "" {
			continue
		}
		t, err := podenergy.ParseEnergyTally(text)
		if err != nil {
			h.cfg.Log.Warn("a pod's energy tally cannot be parsed", "pod", p.Name, "error", err)
			continue
		}
		if r.energyTallies == nil {
			r.energyTallies = make(map[types.UID]podenergy.EnergyTally)
		}
		r.energyTallies[p.UID] = t
	}
}

// energyTallyDelay returns for how long to wait until node daemons have written the
// final tally of all pods of a run that has ended; 0 is not at all.
func (h *KubeExecutor) energyTallyDelay(r *run, pods []*corev1.Pod) time.Duration {
	if h.cfg.EnergyReportTimeout == 0 {
		return 0
	}
	for _, p := range pods {
		if len(kube.DevicesOf(p)) > 0 && !r.energyTallies[p.UID].Final {
			// The time since the pod's end and since we saw it: a node's clock may be ahead.
			now := h.cfg.Now()
			if left := h.cfg.EnergyReportTimeout - max(now.Sub(podEndTime(p)), now.Sub(r.endedSeenAt)); left > 0 {
				return left
			}
		}
	}
	return 0
}

// podEndTime returns when the last container of a pod terminated, or the pod's start
// time if none says so.
func podEndTime(p *corev1.Pod) (last protocol.Time) {
	for _, c := range p.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			last = max(last, protocol.FromStdTime(t.FinishedAt.Time))
		}
	}
	if last == 0 {
		last = podStartTime(p)
	}
	return last
}

// energyOfRun returns what a run drew by hour, and whether that is an estimate: by the
// meter of the configuration (Config.Draw) if there is one and it answers, else by
// talliedEnergyOfRun.
func (h *KubeExecutor) energyOfRun(r *run, since, until protocol.Time) (draw []protocol.HourlyEnergy, estimated bool) {
	h.mu.Lock()
	held := maps.Clone(r.podsWithDevices)
	h.mu.Unlock()
	if h.cfg.Draw != nil && len(held) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		names := slices.Sorted(maps.Values(held))
		draw, err := h.cfg.Draw(ctx, r.launch, r.namespace, slices.Compact(names), since, until)
		if err == nil {
			return draw, false
		}
		h.cfg.Log.Warn("the meter did not answer for a run; using its pods' tallies or the power plan", "run", r.name, "error", err)
	}
	return h.talliedEnergyOfRun(r, since, until)
}

// talliedEnergyOfRun returns what a run drew by the tallies of its pods, and by its
// power plan for any time that those do not cover. The CPU cores of a GPU job have no
// meter; they are a small part of the whole and are added by the power model. A pod
// that its controller replaced counts with its last tally.
func (h *KubeExecutor) talliedEnergyOfRun(r *run, since, until protocol.Time) (draw []protocol.HourlyEnergy, estimated bool) {
	h.mu.Lock()
	held, gone, drew := maps.Clone(r.podsWithDevices), r.deletedPods, maps.Clone(r.energyTallies)
	h.mu.Unlock()
	// Sum the tallies, and find until when they cover the run.
	var all podenergy.EnergyTally
	covered := until // tallies cover the run up to here
	last := since    // latest tally of a deleted pod: after it, nothing was written
	for id := range held {
		t := drew[id]
		switch {
		case t.Missing != "":
			covered = since
		case t.Final:
			last = until
		case gone[id]:
			last, estimated = max(last, t.Until), true
		default:
			covered = min(covered, max(since, t.Until))
		}
		for _, s := range t.Hours {
			all.AddEnergy(s.Hour, s.Hour, s.Energy)
		}
	}
	// All pods are gone: nothing was written after the latest of their tallies.
	if len(gone) == len(held) {
		covered = min(covered, last)
	}
	if len(held) == 0 || covered <= since {
		return PlannedEnergy(r.launch, since, until), true
	}
	// The cores for the covered time; the whole power plan for the rest.
	cores := int64(r.launch.Job.CPU) * int64(power.DefaultHost(0).Core) / 1000
	for _, s := range PlannedEnergy(protocol.Launch{Power: protocol.Milliwatts(cores)}, since, covered) {
		all.AddEnergy(s.Hour, s.Hour, s.Energy)
	}
	for _, s := range PlannedEnergy(r.launch, covered, until) {
		all.AddEnergy(s.Hour, s.Hour, s.Energy)
	}
	slices.SortFunc(all.Hours, func(x, y protocol.HourlyEnergy) int { return cmp.Compare(x.Hour, y.Hour) })
	return all.Hours, estimated || covered < until
}

// utilizationOfRun returns how a run used its resources: CPU and memory by the metrics
// of the configuration, GPUs by the samples of the node daemons where there are any.
func (h *KubeExecutor) utilizationOfRun(r *run, pods []*corev1.Pod, since, until protocol.Time) (u protocol.Utilization) {
	if h.cfg.Use != nil && len(pods) > 0 {
		var names []string
		for _, p := range pods {
			names = append(names, p.Name)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		var err error
		if u, err = h.cfg.Use(ctx, r.namespace, names, since, until); err != nil {
			h.cfg.Log.Warn("the utilization of a run is unknown or incomplete", "run", r.name, "error", err)
		}
	}
	// GPU figures of the node daemons replace those of the metrics system.
	var all podenergy.UtilizationSamples
	for id := range r.podsWithDevices {
		all.MergeSamples(r.energyTallies[id].Samples)
	}
	if seen := all.MeanUtilization(); all.N > 0 {
		u.GPU, u.GPUMemory, u.Temperature = seen.GPU, seen.GPUMemory, seen.Temperature
	}
	return u
}
