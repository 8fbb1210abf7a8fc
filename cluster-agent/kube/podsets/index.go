package podsets

import (
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
)

// Labels and annotations by which controllers count their pods.
const (
	labelJobIndex     = "jobset.sigs.k8s.io/job-index"            // of a JobSet's Job among those of its replicatedJob
	labelReplicaIndex = "training.kubeflow.org/replica-index"     // within the role
	labelOperator     = "training.kubeflow.org/operator-name"     // the program that made the pod
	labelJobRole      = "training.kubeflow.org/job-role"          // launcher or worker
	labelSet          = "leaderworkerset.sigs.k8s.io/name"        // of the LeaderWorkerSet
	labelGroupIndex   = "leaderworkerset.sigs.k8s.io/group-index" // of a group within the set
	labelWorkerIndex  = "leaderworkerset.sigs.k8s.io/worker-index"
	annotationSize    = "leaderworkerset.sigs.k8s.io/size" // pods of each group
)

// IndexOf returns which of its PodSet's pods a pod is, from 0; false if it does not say so.
// The annotation kube.AnnotationPodsOfJob has the PodSet's EachHas.
func IndexOf(p *corev1.Pod) (index int, ok bool) {
	switch {
	case p.Labels[labelSet] != "":
		return indexInGroups(p)
	case p.Labels[labelOperator] == "mpi-operator":
		// The label with the index begins with 1 if the launcher works, too. A launcher is a
		// Job of its own, and there is one.
		if p.Labels[labelJobRole] == "launcher" {
			return 0, true
		}
		return whole(p.Spec.Hostname[strings.LastIndex(p.Spec.Hostname, "-")+1:])
	case p.Labels[labelReplicaIndex] != "":
		return whole(p.Labels[labelReplicaIndex])
	}
	index, ok = whole(p.Annotations[batchv1.JobCompletionIndexAnnotation])
	text := p.Labels[labelJobIndex]
	if !ok || text == "" {
		return index, ok
	}
	return counted(text, p, index)
}

// indexInGroups returns the index of a LeaderWorkerSet's pod. Workers are counted from 1
// within their group; the leader is 0, also where it is one of them.
func indexInGroups(p *corev1.Pod) (index int, ok bool) {
	worker, ok1 := whole(p.Labels[labelWorkerIndex])
	size, ok2 := whole(p.Annotations[annotationSize])
	each, ok3 := whole(p.Annotations[kube.AnnotationPodsOfJob])
	if !ok1 || !ok2 || !ok3 {
		return 0, false
	}
	if worker > 0 && each == size-1 {
		worker--
	}
	return counted(p.Labels[labelGroupIndex], p, worker)
}

// counted returns the index of a pod that is number within in the Job or group with an
// index.
func counted(group string, p *corev1.Pod, within int) (index int, ok bool) {
	g, ok1 := whole(group)
	each, ok2 := whole(p.Annotations[kube.AnnotationPodsOfJob])
	if !ok1 || !ok2 || within >= each {
		return 0, false
	}
	return g*each + within, true
}

// whole parses a number from 0 on.
func whole(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxPods {
		return 0, false
	}
	return n, true
}

// MadeAnewAsGroup reports whether a pod's controller deletes and makes anew all pods of its
// group when one fails, so that the deletion says nothing about the object.
func MadeAnewAsGroup(p *corev1.Pod) bool { return p.Labels[labelSet] != "" }
