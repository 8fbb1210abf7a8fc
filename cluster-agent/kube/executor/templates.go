package executor

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/protocol"
)

// A podTemplate is a pod template within an object, to be modified in place.
type podTemplate struct {
	metadata  map[string]any // labels and annotations
	spec      map[string]any // of the pod
	count     int64
	claimBase string           // from which the names of its claim templates are made; "": the run's name
	steps     []map[string]any // one spec for each step of a Workflow, whose spec joins them; each pod runs one step
}

// podSpecs returns the specs that a pod of this template may have: it has one of them.
func (t podTemplate) podSpecs() []map[string]any {
	if t.steps != nil {
		return t.steps
	}
	return []map[string]any{t.spec}
}

// maxGPURequest returns the most whole GPUs that one pod of this template requests.
func (t podTemplate) maxGPURequest() (most int64) {
	for _, spec := range t.podSpecs() {
		most = max(most, podGPURequest(spec))
	}
	return most
}

// podTemplatesOf returns the pod templates of an object, or an error if it has none.
func (k *jobKind) podTemplatesOf(object map[string]any) (all []podTemplate, err error) {
	switch k.Kind {
	case "Workflow":
		return workflowTemplate(object)
	case podsets.LeaderWorkerSet.Kind:
		return leaderWorkerTemplates(object)
	}
	for _, p := range k.podPaths {
		fields := strings.Split(p.template, ".")
		walkFields([]map[string]any{object}, fields, func(up []map[string]any, t map[string]any) {
			// Pods of a template: the product of all counts along its path.
			n := int64(1)
			for _, c := range p.counts {
				n *= podCountAt(up, c)
			}
			all = append(all, podTemplate{metadata: childMap(t, "metadata"), spec: childMap(t, "spec"), count: n})
		})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("a %s without %s", k.Kind, k.podPaths[0].template)
	}
	return all, nil
}

// walkFields visits each map at the end of a path of fields, together with all maps
// above it. The last map of the path is created if it is missing, so that it can be
// modified.
func walkFields(up []map[string]any, fields []string, visit func(up []map[string]any, t map[string]any)) {
	here := up[len(up)-1]
	if len(fields) == 1 {
		visit(up, childMap(here, fields[0]))
		return
	}
	down := func(v any) {
		// up[:len(up):len(up)] makes append copy: siblings must not share the list.
		if m, ok := v.(map[string]any); ok {
			walkFields(append(up[:len(up):len(up)], m), fields[1:], visit)
		}
	}
	switch {
	case fields[1] == "[]":
		list, _ := here[fields[0]].([]any)
		for _, v := range list {
			if m, ok := v.(map[string]any); ok {
				walkFields(append(up[:len(up):len(up)], m), fields[2:], visit)
			}
		}
	case fields[0] == "*":
		for _, name := range sortedKeys(here) {
			down(here[name])
		}
	default:
		down(here[fields[0]])
	}
}

// podCountAt reads a number of pods; a missing one counts as 1, the default of all
// kinds.
func podCountAt(up []map[string]any, path string) int64 {
	at := len(up) - 1
	// Each "^" goes up one map.
	fields := strings.Split(path, ".")
	for fields[0] == "^" && at > 0 {
		at, fields = at-1, fields[1:]
	}
	if v, ok := up[at][fields[0]]; ok {
		return toInt64(v)
	}
	return 1
}

// toInt64 converts a number of a decoded object; 1 if it is none.
func toInt64(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 1
}

// childMap returns the map under a field, and creates it if it is missing.
func childMap(m map[string]any, name string) map[string]any {
	if c, ok := m[name].(map[string]any); ok {
		return c
	}
	c := make(map[string]any)
	m[name] = c
	return c
}

// leaderWorkerTemplates returns the templates of a LeaderWorkerSet, which has one for leaders
// and workers or one for each.
func leaderWorkerTemplates(object map[string]any) (all []podTemplate, err error) {
	sets, err := podsets.LeaderWorkerSet.PodSetsOf(object)
	for _, s := range sets {
		all = append(all, podTemplate{metadata: childMap(s.Template, "metadata"), spec: childMap(s.Template, "spec"), count: int64(s.Pods)})
	}
	return all, err
}

// workflowTemplate views an Argo Workflow as a single pod template: its pods take
// labels and scheduler from the Workflow, and its steps contain their containers.
func workflowTemplate(object map[string]any) ([]podTemplate, error) {
	spec := childMap(object, "spec")
	var containers, early []any
	var steps []map[string]any
	list, _ := spec["templates"].([]any)
	// Collect the containers of all steps, and keep each step apart for its own limits.
	for _, t := range list {
		more, first := workflowStepContainers(t)
		containers, early = append(containers, more...), append(early, first...)
		if len(more) > 0 { // steps without containers only refer to others
			m, _ := t.(map[string]any)
			steps = append(steps, map[string]any{"name": m["name"], "containers": more, "initContainers": first})
		}
	}
	if len(containers) == 0 {
		return nil, fmt.Errorf("the Workflow has no template with a container: add one")
	}
	// Without parallelism Argo starts all steps that can run, and nothing bounds their GPUs.
	if _, ok := spec["parallelism"]; !ok {
		return nil, fmt.Errorf("the Workflow has no spec.parallelism: set it to the number of pods that run at once")
	}
	view := map[string]any{"containers": containers, "initContainers": early}
	spec["schedulerName"] = kube.SchedulerName
	return []podTemplate{{metadata: childMap(spec, "podMetadata"), spec: view, count: toInt64(spec["parallelism"]), steps: steps}}, nil
}

// workflowStepContainers returns the containers of one template of a Workflow, which
// form one pod, and its init containers.
func workflowStepContainers(t any) (containers, early []any) {
	m, _ := t.(map[string]any)
	for _, field := range []string{"container", "script"} {
		if c, ok := m[field].(map[string]any); ok {
			containers = append(containers, c)
		}
	}
	set, _ := m["containerSet"].(map[string]any)
	for _, more := range []any{set["containers"], m["sidecars"]} {
		list, _ := more.([]any)
		containers = append(containers, list...)
	}
	early, _ = m["initContainers"].([]any)
	return containers, early
}

// oversizedStep returns an error that names a step of a Workflow that requests more
// CPU or memory than the award. The binder checks pods when they appear, and a step's
// pod may appear only after all others have run: the job would then fail late.
func (t podTemplate) oversizedStep(j protocol.Job) error {
	for _, s := range t.steps {
		cpu, mem, _ := kube.PodResourceRequests(corev1.PodSpec{Containers: containersWithRequests(containersIn(s, "containers")), InitContainers: containersWithRequests(containersIn(s, "initContainers"))})
		if cpu > j.CPU || mem > j.Memory {
			return fmt.Errorf("template %v requests %dm of CPU and %d MiB of memory, more than the job's %dm and %d MiB", s["name"], cpu, mem, j.CPU, j.Memory)
		}
	}
	return nil
}

// containersWithRequests returns the containers with their resource requests. Those
// with a template parameter in place of a number are left out: their value is not
// known yet.
func containersWithRequests(containers []map[string]any) (all []corev1.Container) {
	for _, m := range containers {
		var c corev1.Container
		data, err := json.Marshal(map[string]any{"restartPolicy": m["restartPolicy"], "resources": m["resources"]})
		if err == nil && json.Unmarshal(data, &c) == nil {
			all = append(all, c)
		}
	}
	return all
}
