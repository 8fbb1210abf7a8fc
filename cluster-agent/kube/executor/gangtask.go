package executor

import (
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/protocol"
)

// masterPort is where rank 0 of a gang listens, unless the task says otherwise: the
// default of PyTorch's launcher.
const masterPort = "29500"

// findsEachOther reports whether the pods of a job are told of each other: those of a Job
// that is a gang, or a part of one.
func findsEachOther(k *jobKind, j *protocol.Job) bool {
	return k.Kind == "Job" && (j.IsGang() || isPart(j))
}

// shapeSet is shapeGang of a gang; a Job for a part of one pod has this one.
func shapeSet(u *unstructured.Unstructured, k *jobKind, j *protocol.Job) ([]gangTemplate, error) {
	switch {
	case j.IsGang():
		return shapeGang(u, k, j)
	case findsEachOther(k, j):
		return nil, shapeIndexedJob(childMap(u.Object, "spec"), "spec", 1, j.WholePods)
	}
	return nil, nil
}

// A gangTemplate says what a pod template of a gang is for.
type gangTemplate struct {
	component int
	podsOfJob int // how many pods each Job of the template has
}

// shapeGang makes a task run a gang: one pod for each index of a component, all at once. It
// returns what each pod template is for, in the order of podTemplatesOf, or an error if the
// task is of a kind, or says of itself, that it cannot.
func shapeGang(u *unstructured.Unstructured, k *jobKind, j *protocol.Job) ([]gangTemplate, error) {
	spec := childMap(u.Object, "spec")
	switch {
	case k.Kind == "JobSet":
		return shapeJobSet(spec, j)
	case k.Kind != "Job" && podsets.KindOf(k.GroupVersionKind) != nil:
		return shapePodSets(u, podsets.KindOf(k.GroupVersionKind), j)
	case k.Kind != "Job":
		return nil, fmt.Errorf("a %s runs on one node here: give a job with components a Job, a JobSet, a PyTorchJob, an MPIJob or a LeaderWorkerSet as its task", k.Kind)
	case len(j.Pods) != 1:
		return nil, fmt.Errorf("the job has %d components but a Job has one pod template: give it a JobSet as its task, with a replicatedJob for each", len(j.Pods))
	}
	return []gangTemplate{{podsOfJob: j.Pods[0].Pods}}, shapeIndexedJob(spec, "spec", j.Pods[0].Pods, j.WholePods)
}

// shapePodSets has an object whose controller counts its pods itself run a gang: it says how
// many there are of each role, and each role is a component.
func shapePodSets(u *unstructured.Unstructured, k *podsets.Kind, j *protocol.Job) (all []gangTemplate, err error) {
	sets, err := k.PodSetsOf(u.Object)
	if err != nil {
		return nil, fmt.Errorf("the task's %w", err)
	}
	if len(sets) != len(j.Pods) {
		return nil, fmt.Errorf("the task's %s has %d roles but the job has %d components: make one for each", k.Kind, len(sets), len(j.Pods))
	}
	for _, s := range sets {
		t := gangTemplate{component: slices.IndexFunc(j.Pods, func(c protocol.Component) bool { return podsets.RolesMatch(c.Role, s.Role) }), podsOfJob: s.EachHas}
		if len(sets) == 1 {
			t.component = 0
		}
		switch {
		case t.component < 0 || slices.ContainsFunc(all, func(x gangTemplate) bool { return x.component == t.component }):
			return nil, fmt.Errorf("the task's %s has the role %s, of which the job has no component of its own: name one so", k.Kind, s.Role)
		case s.Pods != j.Pods[t.component].Pods:
			return nil, fmt.Errorf("the task's %s has %d pods of role %s but the job's component has %d: make them equal", k.Kind, s.Pods, s.Role, j.Pods[t.component].Pods)
		}
		all = append(all, t)
	}
	return all, k.SetSuspended(u.Object, false)
}

// shapeJobSet makes the spec of a JobSet run a gang, with a replicatedJob for each
// component, of the same name.
func shapeJobSet(spec map[string]any, j *protocol.Job) (all []gangTemplate, err error) {
	list, _ := spec["replicatedJobs"].([]any)
	if isPart(j) { // the task is that of the whole job: others run the components that this part has none of
		list = slices.DeleteFunc(list, func(v any) bool {
			job, ok := v.(map[string]any)
			return ok && !slices.ContainsFunc(j.Pods, func(c protocol.Component) bool { return c.Role == job["name"] })
		})
		spec["replicatedJobs"] = list
	}
	if len(list) != len(j.Pods) {
		return nil, fmt.Errorf("the task has %d replicatedJobs but the job has %d components: make one for each", len(list), len(j.Pods))
	}
	if policy, _ := spec["startupPolicy"].(map[string]any); policy["startupPolicyOrder"] == "InOrder" {
		return nil, fmt.Errorf("the task has startupPolicyOrder InOrder, but all pods of a job with components start together: leave it out")
	}
	for i, v := range list {
		at := fmt.Sprintf("spec.replicatedJobs[%d]", i)
		job, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("the task's %s is not an object", at)
		}
		t := gangTemplate{component: slices.IndexFunc(j.Pods, func(c protocol.Component) bool { return c.Role == job["name"] })}
		if len(list) == 1 {
			t.component = 0
		}
		switch {
		case t.component < 0 || slices.ContainsFunc(all, func(x gangTemplate) bool { return x.component == t.component }):
			return nil, fmt.Errorf("the task's %s is named %v: name each after another component of the job, by its role", at, job["name"])
		case job["dependsOn"] != nil:
			return nil, fmt.Errorf("the task's %s has dependsOn, but all pods of a job with components start together: leave it out", at)
		}
		replicas, pods := podCountAt([]map[string]any{job}, "replicas"), int64(j.Pods[t.component].Pods)
		if replicas < 1 || pods%replicas != 0 {
			return nil, fmt.Errorf("the task's %s has %d replicas, by which the %d pods of the component cannot be divided", at, replicas, pods)
		}
		t.podsOfJob = int(pods / replicas)
		template := childMap(job, "template")
		// Its followers would be created only when their leader is bound, which waits for them.
		delete(childMap(childMap(template, "metadata"), "annotations"), "alpha.jobset.sigs.k8s.io/exclusive-topology")
		if err := shapeIndexedJob(childMap(template, "spec"), at+".template.spec", t.podsOfJob, 0); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// shapeIndexedJob makes the spec of a Job run so many pods at once, each with an index. The
// task of a part may have the pods of the whole job, if whole says how many. at is where
// the spec is, for errors.
func shapeIndexedJob(spec map[string]any, at string, pods, whole int) error {
	for _, field := range []string{"parallelism", "completions"} {
		if v, ok := spec[field]; ok && toInt64(v) != int64(pods) && (whole == 0 || toInt64(v) != int64(whole)) {
			return fmt.Errorf("the task has %d of %s.%s but the job needs %d pods there: make them equal, or leave it out", toInt64(v), at, field, pods)
		}
		spec[field] = int64(pods)
	}
	spec["completionMode"] = string(batchv1.IndexedCompletion)
	return nil
}

// shapeGangPod has the pods of a template wait behind the gang's gate.
// Controllers of other kinds than Job tell their pods of each other themselves.
func shapeGangPod(t podTemplate, of gangTemplate) {
	mergeStringMap(t.metadata, "labels", map[string]string{kube.LabelComponent: strconv.Itoa(of.component)})
	mergeStringMap(t.metadata, "annotations", map[string]string{kube.AnnotationPodsOfJob: strconv.Itoa(of.podsOfJob)})
	t.spec["schedulingGates"] = []any{map[string]any{"name": kube.GateGang}}
}

// tellRanks has the pods of a template find each other by the Service of their Job's name;
// what the task sets itself stays. The rank of a gang's pod is known when it is bound.
func tellRanks(t podTemplate, name, namespace string, l *protocol.Launch) {
	t.spec["subdomain"] = name
	if !l.Job.IsGang() {
		mergeStringMap(t.metadata, "annotations", map[string]string{kube.AnnotationRank: strconv.Itoa(l.Job.FirstRank)})
	}
	vars := rankVariables(name, namespace, &l.Job, l.Epoch)
	for _, c := range slices.Concat(containersIn(t.spec, "initContainers"), containersIn(t.spec, "containers")) {
		env, _ := c["env"].([]any)
		for _, v := range vars {
			if !slices.ContainsFunc(env, func(x any) bool { m, _ := x.(map[string]any); return m["name"] == v["name"] }) {
				env = append(env, v)
			}
		}
		c["env"] = env
	}
}

// requestGPUsForGang is requestGPUsForLaunch for each template of a gang: it requests what
// one pod of its component was sold.
func (h *KubeExecutor) requestGPUsForGang(l protocol.Launch, all []podTemplate, gang []gangTemplate) error {
	for i, t := range all {
		one := l
		one.Job, t.count = l.Job.PodsOf(gang[i].component, 1), 1
		t.claimBase = kube.RunName(l.Job.ID, l.Epoch) + "-c" + strconv.Itoa(gang[i].component)
		if err := h.requestGPUsForLaunch(one, []podTemplate{t}); err != nil {
			return err
		}
	}
	return nil
}
