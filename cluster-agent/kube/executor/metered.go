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

// readPodEnergyTallies takes in what machines have written of a run's pods: pods go, and what
// they drew must not go with them.
func (h *KubeExecutor) readPodEnergyTallies(r *run, pods []*corev1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
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
			h.cfg.Log.Warn("what a pod drew cannot be read", "pod", p.Name, "error", err)
			continue
		}
		if r.drew == nil {
			r.drew = make(map[types.UID]podenergy.EnergyTally)
		}
		r.drew[p.UID] = t
	}
}

// energyTallyDelay is how long to wait for what machines have yet to write of a run that
// has ended; 0 is not at all.
func (h *KubeExecutor) energyTallyDelay(r *run, pods []*corev1.Pod) time.Duration {
	if h.cfg.EnergyReportTimeout == 0 {
		return 0
	}
	for _, p := range pods {
		if len(kube.DevicesOf(p)) > 0 && !r.drew[p.UID].Final {
			now := h.cfg.Now() // and a machine's clock may be ahead of ours
			if left := h.cfg.EnergyReportTimeout - max(now.Sub(podEndTime(p)), now.Sub(r.endedSeenAt)); left > 0 {
				return left
			}
		}
	}
	return 0
}

// podEndTime is when a pod ended, as far as it says.
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

// energyOfRun is what a run drew, and whether that is an estimate: by the meter that
// the configuration names, or else as noted.
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
		h.cfg.Log.Warn("a run was not metered; its plan counts", "run", r.name, "error", err)
	}
	return h.talliedEnergyOfRun(r, since, until)
}

// talliedEnergyOfRun is what a run drew by what its machines wrote, or else by what its plan said.
// The cores of a job with cards have no meter of their own; they are a small part, and
// counted by the power model. What a pod drew that its controller has put another in
// the place of is what was written of it last.
func (h *KubeExecutor) talliedEnergyOfRun(r *run, since, until protocol.Time) (draw []protocol.HourlyEnergy, estimated bool) {
	h.mu.Lock()
	held, gone, drew := maps.Clone(r.podsWithDevices), r.deletedPods, maps.Clone(r.drew)
	h.mu.Unlock()
	var all podenergy.EnergyTally
	told := until // all of it was told until then
	last := since // if all are gone: what came after it nobody wrote down
	for id := range held {
		t := drew[id]
		switch {
		case t.Missing != "":
			told = since
		case t.Final:
			last = until
		case gone[id]:
			last, estimated = max(last, t.Until), true
		default:
			told = min(told, max(since, t.Until))
		}
		for _, s := range t.Hours {
			all.AddEnergy(s.Hour, s.Hour, s.Energy)
		}
	}
	if len(gone) == len(held) {
		told = min(told, last)
	}
	if len(held) == 0 || told <= since {
		return PlannedEnergy(r.launch, since, until), true
	}
	cores := int64(r.launch.Job.CPU) * int64(power.DefaultHost(0).Core) / 1000
	for _, s := range PlannedEnergy(protocol.Launch{Power: protocol.Milliwatts(cores)}, since, told) {
		all.AddEnergy(s.Hour, s.Hour, s.Energy)
	}
	for _, s := range PlannedEnergy(r.launch, told, until) {
		all.AddEnergy(s.Hour, s.Hour, s.Energy)
	}
	slices.SortFunc(all.Hours, func(x, y protocol.HourlyEnergy) int { return cmp.Compare(x.Hour, y.Hour) })
	return all.Hours, estimated || told < until
}

// utilizationOfRun is what a run made of what it held: by the metrics that the configuration
// names, and of its cards by what their machines saw.
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
			h.cfg.Log.Warn("what a run used is not known, or not all of it", "run", r.name, "error", err)
		}
	}
	var all podenergy.UtilizationSamples
	for id := range r.podsWithDevices {
		all.MergeSamples(r.drew[id].Samples)
	}
	if seen := all.MeanUtilization(); all.N > 0 {
		u.GPU, u.GPUMemory, u.Temperature = seen.GPU, seen.GPUMemory, seen.Temperature
	}
	return u
}
