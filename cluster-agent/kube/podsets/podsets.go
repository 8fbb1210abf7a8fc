package podsets

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
)

// jobPods returns the pods of a batch/v1 Job, all of which run at once.
func jobPods(object map[string]any) ([]PodSet, error) {
	one, err := indexedPods(mapAt(object, "spec"), "spec")
	return []PodSet{one}, err
}

// indexedPods returns the pods of the spec of a Job, which must have an index each and all
// run at once.
func indexedPods(spec map[string]any, at string) (one PodSet, err error) {
	if one.Pods, err = countAt(spec, at, "parallelism", 1, 1); err != nil {
		return one, err
	}
	completions, err := countAt(spec, at, "completions", one.Pods, 1)
	if err != nil {
		return one, err
	}
	if mode := spec["completionMode"]; completions != one.Pods || mode != string(batchv1.IndexedCompletion) {
		return one, fmt.Errorf("%s has %d completions, %d pods at once and completionMode %v: want %s, and as many completions as pods", at, completions, one.Pods, mode, batchv1.IndexedCompletion)
	}
	one.EachHas = one.Pods
	one.Template, err = templateAt(spec, at, "template")
	return one, err
}

// jobSetPods returns the pods of a JobSet: those of each replicatedJob.
func jobSetPods(object map[string]any) (all []PodSet, err error) {
	spec := mapAt(object, "spec")
	if mapAt(spec, "startupPolicy")["startupPolicyOrder"] == "InOrder" {
		return nil, together("spec.startupPolicy.startupPolicyOrder", "InOrder")
	}
	if err := notExclusive(mapAt(object, "metadata", "annotations"), "of the JobSet"); err != nil {
		return nil, err
	}
	list, _ := spec["replicatedJobs"].([]any)
	for i, v := range list {
		at := fmt.Sprintf("spec.replicatedJobs[%d]", i)
		job, _ := v.(map[string]any)
		if job["dependsOn"] != nil {
			return nil, together(at+".dependsOn", job["dependsOn"])
		}
		if err := notExclusive(mapAt(job, "template", "metadata", "annotations"), "of "+at); err != nil {
			return nil, err
		}
		replicas, err := countAt(job, at, "replicas", 1, 1)
		if err != nil {
			return nil, err
		}
		one, err := indexedPods(mapAt(job, "template", "spec"), at+".template.spec")
		if err != nil {
			return nil, err
		}
		one.Role, _ = job["name"].(string)
		one.Pods *= replicas
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("spec.replicatedJobs is empty: want one at least")
	}
	return all, nil
}

// notExclusive returns an error if annotations give each Job of a JobSet a domain of its own: its
// controller then creates most pods only when one of each Job is bound, and no domain here is kept for
// one Job.
func notExclusive(notes map[string]any, of string) error {
	const key = "alpha.jobset.sigs.k8s.io/exclusive-topology"
	level, ok := notes[key]
	if !ok {
		return nil
	}
	return fmt.Errorf("the annotation %s %s is %v, but all pods start together, and no domain is kept for one Job: leave it out; kueue.x-k8s.io/podset-slice-required-topology of the pod template has each Job in one domain", key, of, level)
}

// together is the error for pods that come only when others run.
func together(field string, value any) error {
	return fmt.Errorf("%s is %v, but all pods start together: leave it out", field, value)
}

// pyTorchPods returns the pods of a PyTorchJob, a PodSet for each role.
func pyTorchPods(object map[string]any) ([]PodSet, error) {
	return kubeflowPods(object, "pytorchReplicaSpecs")
}

// mpiPods returns the pods of an MPIJob: its launcher, which begins at once and tries until
// it reaches its workers, and these.
func mpiPods(object map[string]any) ([]PodSet, error) {
	if policy := mapAt(object, "spec")["launcherCreationPolicy"]; policy == "WaitForWorkersReady" {
		return nil, together("spec.launcherCreationPolicy", policy)
	}
	return kubeflowPods(object, "mpiReplicaSpecs")
}

// kubeflowPods returns the pods of one of Kubeflow's kinds, whose roles are a map. Roles
// are written small, as labels of pods have them.
func kubeflowPods(object map[string]any, field string) (all []PodSet, err error) {
	roles := mapAt(object, "spec", field)
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		at := "spec." + field + "." + role
		m := mapAt(roles, role)
		one := PodSet{Role: strings.ToLower(role)}
		if one.Pods, err = countAt(m, at, "replicas", 1, 1); err != nil {
			return nil, err
		}
		if one.Template, err = templateAt(m, at, "template"); err != nil {
			return nil, err
		}
		one.EachHas = one.Pods
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("spec.%s is empty: want one role at least", field)
	}
	return all, nil
}

// AnnotationReplicas says how many replicas a LeaderWorkerSet is to have when it is
// released; it waits with none.
const AnnotationReplicas = "gridbid.io/replicas"

// replicasWanted returns how many groups a LeaderWorkerSet has, or is to have.
func replicasWanted(object map[string]any) (int, error) {
	text, ok := mapAt(object, "metadata", "annotations")[AnnotationReplicas].(string)
	if !ok {
		if n, err := countAt(mapAt(object, "spec"), "spec", "replicas", 1, 0); err != nil || n > 0 {
			return n, err
		}
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPods {
		return 0, fmt.Errorf("annotation %s is %q: want a whole number from 1 to %d", AnnotationReplicas, text, maxPods)
	}
	return n, nil
}

// leaderWorkerPods returns the pods of a LeaderWorkerSet: the leaders of its groups and
// their workers, or all of them where both have one template.
func leaderWorkerPods(object map[string]any) (all []PodSet, err error) {
	spec, of := mapAt(object, "spec"), mapAt(object, "spec", "leaderWorkerTemplate")
	const at = "spec.leaderWorkerTemplate"
	if policy := spec["startupPolicy"]; policy == "LeaderReady" {
		return nil, together("spec.startupPolicy", policy)
	}
	for _, key := range []string{"leaderworkerset.sigs.k8s.io/exclusive-topology", "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"} {
		if v, ok := mapAt(object, "metadata", "annotations")[key]; ok {
			return nil, together("the annotation "+key, v)
		}
	}
	if surge := mapAt(spec, "rolloutStrategy", "rollingUpdateConfiguration")["maxSurge"]; isZero(spec["replicas"]) && surge != nil && fmt.Sprint(surge) != "0" {
		return nil, fmt.Errorf("spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge is %v, by which more groups would begin than it has when it is released: leave it out", surge)
	}
	groups, err := replicasWanted(object)
	if err != nil {
		return nil, err
	}
	size, err := countAt(of, at, "size", 1, 1)
	if err != nil {
		return nil, err
	}
	worker, err := templateAt(of, at, "workerTemplate")
	if err != nil {
		return nil, err
	}
	if of["leaderTemplate"] == nil {
		return []PodSet{{Role: "worker", Pods: groups * size, EachHas: size, Template: worker}}, nil
	}
	leader, err := templateAt(of, at, "leaderTemplate")
	if err != nil {
		return nil, err
	}
	all = []PodSet{{Role: "leader", Pods: groups, EachHas: 1, Template: leader}}
	if size > 1 {
		all = append(all, PodSet{Role: "worker", Pods: groups * (size - 1), EachHas: size - 1, Template: worker})
	}
	return all, nil
}

// RolesMatch reports whether a component's role is that of a PodSet. Kubeflow writes roles
// with a capital letter.
func RolesMatch(component, podSet string) bool { return strings.EqualFold(component, podSet) }
