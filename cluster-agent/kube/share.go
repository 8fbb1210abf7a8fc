package kube

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gridbid/gridbid/protocol"
)

// Sharing is how a site's cluster is asked for GPUs. What each enforces stands in
// docs/kubernetes.md.
type Sharing string

// Ways of sharing.
const (
	DRA      Sharing = "dra"      // device claims (resource.k8s.io/v1) that we allocate: device, share and memory
	Plugin   Sharing = "plugin"   // whole GPUs by device plugin; the kubelet picks the cards
	HAMi     Sharing = "hami"     // shares by HAMi's device plugin, on the device that we name
	GPUShare Sharing = "gpushare" // shares of memory by Alibaba's device plugin, on the device that we name
)

// Extended resources.
const (
	pluginGPU  = "nvidia.com/gpu"
	hamiMemory = "nvidia.com/gpumem"   // MiB of each device
	hamiCores  = "nvidia.com/gpucores" // hundredths of each device
	shareGiB   = "aliyun.com/gpu-mem"  // GiB of one device
)

// share has the pods of a launch ask for GPUs in the site's own way. A task says
// in which containers they are, by nvidia.com/gpu; if it says so nowhere, the
// first container of a single pod gets them all.
func (h *Hands) share(l protocol.Launch, all []template) error {
	asked, pods := int64(0), int64(0)
	for _, t := range all {
		pods += t.count
		asked += t.count * t.gpus()
	}
	switch {
	case l.Job.GPUs == 0 && asked > 0:
		return fmt.Errorf("the task asks for %d GPUs and the job for none", asked)
	case l.Job.GPUs == 0:
		return nil
	case l.Job.Share < 1000 && pods != 1:
		return errors.New("a share of a GPU is for one pod")
	case l.Job.Share < 1000 && h.cfg.Sharing == Plugin:
		return errors.New("this site has whole GPUs only; a share needs device claims, HAMi or GPU-share")
	case asked == 0 && pods != 1:
		return fmt.Errorf("which of %d pods get the GPUs? ask for %s in their containers", pods, pluginGPU)
	case asked == 0 && len(all[0].parts()) > 1:
		return fmt.Errorf("which of its %d templates get the GPUs? ask for %s in their containers", len(all[0].parts()), pluginGPU)
	case asked == 0:
		c := containers(all[0].spec, "containers")
		if len(c) == 0 {
			return errors.New("a pod without containers")
		}
		merge(child(c[0], "resources"), "limits", map[string]string{pluginGPU: strconv.Itoa(l.Job.GPUs)})
	case asked > int64(l.Job.GPUs):
		return fmt.Errorf("the task asks for %d GPUs, the job for %d", asked, l.Job.GPUs)
	}
	for _, t := range all {
		merge(t.meta, "annotations", map[string]string{NoteMilli: strconv.FormatInt(int64(l.Job.Share), 10), NoteMemory: strconv.FormatInt(int64(l.Job.GPUMemory), 10)})
		for _, spec := range t.parts() {
			if err := h.translate(l, spec, t.steps != nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// gpusOf is what a pod asks by device plugin, as its kubelet counts: see request.
func gpusOf(spec map[string]any) int64 {
	sum, before := int64(0), int64(0)
	for _, c := range containers(spec, "initContainers") {
		n := gpus(c)
		before = max(before, sum+n)
		if c["restartPolicy"] == "Always" {
			sum += n
		}
	}
	for _, c := range containers(spec, "containers") {
		sum += gpus(c)
	}
	return max(sum, before)
}

// gpus is what a container asks by device plugin.
func gpus(c map[string]any) int64 {
	for _, field := range []string{"limits", "requests"} {
		if v, ok := child(child(c, "resources"), field)[pluginGPU]; ok {
			n, _ := strconv.ParseInt(fmt.Sprint(v), 10, 64)
			return n
		}
	}
	return 0
}

// translate turns whole GPUs by device plugin into the site's way, in a pod's spec or in
// that of a Workflow's step.
func (h *Hands) translate(l protocol.Launch, spec map[string]any, step bool) error {
	total, holders := int64(0), 0
	early := containers(spec, "initContainers")
	if h.cfg.Sharing != Plugin && slices.ContainsFunc(early, func(c map[string]any) bool { return gpus(c) > 0 }) {
		return errors.New("only a site that gives whole GPUs by device plugin gives them to init containers; ask for them in the others")
	}
	for _, c := range slices.Concat(early, containers(spec, "containers")) {
		n := gpus(c)
		if n == 0 {
			continue
		}
		total += n
		holders++
		r := child(c, "resources")
		limits := child(r, "limits")
		delete(child(r, "requests"), pluginGPU)
		switch h.cfg.Sharing {
		case Plugin:
			limits[pluginGPU] = strconv.FormatInt(n, 10)
		case HAMi:
			limits[pluginGPU] = strconv.FormatInt(n, 10)
			limits[hamiCores] = strconv.FormatInt(int64(l.Job.Share)/10, 10)
			if l.Job.GPUMemory > 0 {
				limits[hamiMemory] = strconv.FormatInt(int64(l.Job.GPUMemory), 10)
			}
		case GPUShare:
			if n != 1 {
				return errors.New("GPU-share gives memory of one device; several need another way of sharing")
			}
			delete(limits, pluginGPU)
			limits[shareGiB] = strconv.FormatInt(gib(l.Job), 10)
		default:
			delete(limits, pluginGPU)
			r["claims"] = []any{map[string]any{"name": claimName}}
		}
	}
	switch {
	case h.cfg.Sharing == GPUShare && total > 1:
		return errors.New("GPU-share gives memory of one device to one container of a pod; several need another way of sharing")
	case h.cfg.Sharing == HAMi && total > 0 && len(early) > 0:
		return errors.New("HAMi's releases disagree on where init containers stand among a pod's devices; do without them, or use another way of sharing")
	case total == 0 || h.cfg.Sharing != DRA:
		return nil
	}
	if holders > 1 {
		return errors.New("with device claims, the GPUs of a pod belong to one container")
	}
	if step {
		return errors.New("a Workflow cannot carry device claims; this site gives GPUs by claim only")
	}
	spec["resourceClaims"] = []any{map[string]any{"name": claimName, "resourceClaimTemplateName": templateName(l, total)}}
	return nil
}

// gib is the memory of a share in whole GiB, as GPU-share counts.
func gib(j protocol.Job) int64 { return max(1, (int64(j.GPUMemory)+1023)/1024) }
