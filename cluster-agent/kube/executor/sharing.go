package executor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/binder"
	"github.com/gridbid/gridbid/protocol"
)

// requestGPUsForLaunch rewrites the pod templates of a launch so that they request
// GPUs by the site's sharing mechanism. A task names the containers that need GPUs by
// nvidia.com/gpu; if it names none, the first container of a single pod gets them all.
func (h *KubeExecutor) requestGPUsForLaunch(l protocol.Launch, all []podTemplate) error {
	// asked is the GPUs that all pods request at once; of a Workflow's steps, the largest counts.
	asked, pods := int64(0), int64(0)
	for _, t := range all {
		pods += t.count
		asked += t.count * t.maxGPURequest()
	}
	// Refuse what no mechanism can run before anything is changed.
	switch {
	case l.Job.GPUs == 0 && asked > 0:
		return fmt.Errorf("the task requests %d GPUs but the job requests none: set the job's gpus", asked)
	case l.Job.GPUs == 0:
		return nil
	case l.Job.Share < 1000 && pods != 1:
		return errors.New("the job requests a share of a GPU, which only one pod can use: run one pod, or request whole GPUs")
	case l.Job.Share < 1000 && h.cfg.Sharing == kube.SharingDevicePlugin:
		return errors.New("this site allocates whole GPUs only: a share needs a site with device claims, HAMi or GPU-share")
	case asked == 0 && pods != 1:
		return fmt.Errorf("none of the %d pods requests the job's GPUs: request %s in the containers that use them", pods, kube.PluginGPU)
	case asked == 0 && len(all[0].podSpecs()) > 1:
		return fmt.Errorf("none of the %d templates requests the job's GPUs: request %s in the containers that use them", len(all[0].podSpecs()), kube.PluginGPU)
	// A single pod that names no container with GPUs: its first container gets them.
	case asked == 0:
		c := containersIn(all[0].spec, "containers")
		if len(c) == 0 {
			return errors.New("the pod has no containers: add one")
		}
		mergeStringMap(childMap(c[0], "resources"), "limits", map[string]string{kube.PluginGPU: strconv.Itoa(l.Job.GPUs)})
	case asked > int64(l.Job.GPUs):
		return fmt.Errorf("the task requests %d GPUs but the job requests %d: make them equal", asked, l.Job.GPUs)
	}
	for _, t := range all {
		mergeStringMap(t.metadata, "annotations", map[string]string{kube.AnnotationGPUMilli: strconv.FormatInt(int64(l.Job.Share), 10), kube.AnnotationGPUMemory: strconv.FormatInt(int64(l.Job.GPUMemory), 10)})
		for _, spec := range t.podSpecs() {
			if err := h.translateGPURequests(l, t, spec); err != nil {
				return err
			}
		}
	}
	return nil
}

// podGPURequest returns how many whole GPUs a pod requests from the device plugin, by
// the kubelet's rules for init containers: see kube.PodResourceRequests.
func podGPURequest(spec map[string]any) int64 {
	// Init containers run one after another, beside those that restart always (sidecars).
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

// containerGPURequest returns how many whole GPUs a container requests from the device
// plugin.
func containerGPURequest(c map[string]any) int64 {
	// The API server demands limits equal to requests for GPUs, so the first found counts.
	for _, field := range []string{"limits", "requests"} {
		if v, ok := childMap(childMap(c, "resources"), field)[kube.PluginGPU]; ok {
			n, _ := strconv.ParseInt(fmt.Sprint(v), 10, 64)
			return n
		}
	}
	return 0
}

// translateGPURequests replaces requests for whole GPUs of the device plugin by
// requests of the site's sharing mechanism, in one of the specs of template t. It returns
// an error where the mechanism cannot express the request.
func (h *KubeExecutor) translateGPURequests(l protocol.Launch, t podTemplate, spec map[string]any) error {
	total, holders := int64(0), 0
	early := containersIn(spec, "initContainers")
	if h.cfg.Sharing != kube.SharingDevicePlugin && slices.ContainsFunc(early, func(c map[string]any) bool { return containerGPURequest(c) > 0 }) {
		return errors.New("init containers get GPUs only at sites that allocate whole GPUs by device plugin: request them in the other containers")
	}
	// Replace each container's request by that of the site's mechanism.
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
		// HAMi counts cards, and per card a percentage of cores and MiB of memory.
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
				return errors.New("GPU-share allocates memory of one device: a container with several GPUs needs a site that shares GPUs in another way")
			}
			delete(limits, kube.PluginGPU)
			limits[kube.ShareGiB] = strconv.FormatInt(binder.GiB(l.Job), 10)
		default:
			delete(limits, kube.PluginGPU)
			r["claims"] = []any{map[string]any{"name": binder.ClaimName}}
		}
	}
	// What the containers alone do not show: requests that the mechanism cannot carry together.
	switch {
	case h.cfg.Sharing == kube.SharingGPUShare && total > 1:
		return errors.New("GPU-share allocates memory of one device to one container of a pod: several containers with GPUs need a site that shares GPUs in another way")
	case h.cfg.Sharing == kube.SharingHAMi && total > 0 && len(early) > 0:
		return errors.New("with HAMi a pod with GPUs cannot have init containers, as HAMi's releases count their devices differently: remove them, or use a site that shares GPUs in another way")
	case total == 0 || h.cfg.Sharing != kube.SharingDRA:
		return nil
	}
	if holders > 1 {
		return errors.New("several containers of a pod request GPUs: with device claims only one can")
	}
	if t.steps != nil {
		return errors.New("a Workflow cannot carry device claims, by which this site allocates GPUs: run it at another site, or without GPUs")
	}
	spec["resourceClaims"] = []any{map[string]any{"name": binder.ClaimName, "resourceClaimTemplateName": binder.TemplateName(cmp.Or(t.claimBase, kube.RunName(l.Job.ID, l.Epoch)), total)}}
	return nil
}
