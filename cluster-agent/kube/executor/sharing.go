package executor

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/binder"
	"github.com/gridbid/gridbid/protocol"
)

// requestGPUsForLaunch has the pods of a launch ask for GPUs in the site's own way. A task says
// in which containers they are, by nvidia.com/gpu; if it says so nowhere, the
// first container of a single pod gets them all.
func (h *KubeExecutor) requestGPUsForLaunch(l protocol.Launch, all []podTemplate) error {
	asked, pods := int64(0), int64(0)
	for _, t := range all {
		pods += t.count
		asked += t.count * t.maxGPURequest()
	}
	switch {
	case l.Job.GPUs == 0 && asked > 0:
		return fmt.Errorf("the task asks for %d GPUs and the job for none", asked)
	case l.Job.GPUs == 0:
		return nil
	case l.Job.Share < 1000 && pods != 1:
		return errors.New("a share of a GPU is for one pod")
	case l.Job.Share < 1000 && h.cfg.Sharing == kube.SharingDevicePlugin:
		return errors.New("this site has whole GPUs only; a share needs device claims, HAMi or GPU-share")
	case asked == 0 && pods != 1:
		return fmt.Errorf("which of %d pods get the GPUs? ask for %s in their containers", pods, kube.PluginGPU)
	case asked == 0 && len(all[0].podSpecs()) > 1:
		return fmt.Errorf("which of its %d templates get the GPUs? ask for %s in their containers", len(all[0].podSpecs()), kube.PluginGPU)
	case asked == 0:
		c := containersIn(all[0].spec, "containers")
		if len(c) == 0 {
			return errors.New("a pod without containers")
		}
		mergeStringMap(childMap(c[0], "resources"), "limits", map[string]string{kube.PluginGPU: strconv.Itoa(l.Job.GPUs)})
	case asked > int64(l.Job.GPUs):
		return fmt.Errorf("the task asks for %d GPUs, the job for %d", asked, l.Job.GPUs)
	}
	for _, t := range all {
		mergeStringMap(t.metadata, "annotations", map[string]string{kube.AnnotationGPUMilli: strconv.FormatInt(int64(l.Job.Share), 10), kube.AnnotationGPUMemory: strconv.FormatInt(int64(l.Job.GPUMemory), 10)})
		for _, spec := range t.podSpecs() {
			if err := h.translateGPURequests(l, spec, t.steps != nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// podGPURequest is what a pod asks by device plugin, as its kubelet counts: see request.
func podGPURequest(spec map[string]any) int64 {
	sum, before := int64(0), int64(0)
	for _, c := range containersIn(spec, "initContainers") {
		n := containerGPURequest(c)
		before = max(before, sum+n)
		if c["restartPolicy"] == "Always" {
			sum += n
		}
	}
	for _, c := range containersIn(spec, "containers") {
		sum += containerGPURequest(c)
	}
	return max(sum, before)
}

// containerGPURequest is what a container asks by device plugin.
func containerGPURequest(c map[string]any) int64 {
	for _, field := range []string{"limits", "requests"} {
		if v, ok := childMap(childMap(c, "resources"), field)[kube.PluginGPU]; ok {
			n, _ := strconv.ParseInt(fmt.Sprint(v), 10, 64)
			return n
		}
	}
	return 0
}

// translateGPURequests turns whole GPUs by device plugin into the site's way, in a pod's spec or in
// that of a Workflow's step.
func (h *KubeExecutor) translateGPURequests(l protocol.Launch, spec map[string]any, step bool) error {
	total, holders := int64(0), 0
	early := containersIn(spec, "initContainers")
	if h.cfg.Sharing != kube.SharingDevicePlugin && slices.ContainsFunc(early, func(c map[string]any) bool { return containerGPURequest(c) > 0 }) {
		return errors.New("only a site that gives whole GPUs by device plugin gives them to init containers; ask for them in the others")
	}
	for _, c := range slices.Concat(early, containersIn(spec, "containers")) {
		n := containerGPURequest(c)
		if n == 0 {
			continue
		}
		total += n
		holders++
		r := childMap(c, "resources")
		limits := childMap(r, "limits")
		delete(childMap(r, "requests"), kube.PluginGPU)
		switch h.cfg.Sharing {
		case kube.SharingDevicePlugin:
			limits[kube.PluginGPU] = strconv.FormatInt(n, 10)
		case kube.SharingHAMi:
			limits[kube.PluginGPU] = strconv.FormatInt(n, 10)
			limits[kube.HAMiCores] = strconv.FormatInt(int64(l.Job.Share)/10, 10)
			if l.Job.GPUMemory > 0 {
				limits[kube.HAMiMemory] = strconv.FormatInt(int64(l.Job.GPUMemory), 10)
			}
		case kube.SharingGPUShare:
			if n != 1 {
				return errors.New("GPU-share gives memory of one device; several need another way of sharing")
			}
			delete(limits, kube.PluginGPU)
			limits[kube.ShareGiB] = strconv.FormatInt(binder.GiB(l.Job), 10)
		default:
			delete(limits, kube.PluginGPU)
			r["claims"] = []any{map[string]any{"name": binder.ClaimName}}
		}
	}
	switch {
	case h.cfg.Sharing == kube.SharingGPUShare && total > 1:
		return errors.New("GPU-share gives memory of one device to one container of a pod; several need another way of sharing")
	case h.cfg.Sharing == kube.SharingHAMi && total > 0 && len(early) > 0:
		return errors.New("HAMi's releases disagree on where init containers stand among a pod's devices; do without them, or use another way of sharing")
	case total == 0 || h.cfg.Sharing != kube.SharingDRA:
		return nil
	}
	if holders > 1 {
		return errors.New("with device claims, the GPUs of a pod belong to one container")
	}
	if step {
		return errors.New("a Workflow cannot carry device claims; this site gives GPUs by claim only")
	}
	spec["resourceClaims"] = []any{map[string]any{"name": binder.ClaimName, "resourceClaimTemplateName": binder.TemplateName(l, total)}}
	return nil
}
