// Package queue submits workloads from a site's own Kubernetes cluster to the market,
// which decides where they run: suspended Jobs and sets of pods (see package podsets) with
// the queue's label, and Kueue Workloads for which MultiKueue needs a cluster; and Deployments,
// StatefulSets and LeaderWorkerSets as services.
//
// All state is in the cluster. When a Job is accepted, the time of that is written
// into an annotation together with a finalizer. The submission follows from the Job,
// its UID and that time, so it is the same however often it is sent. It is sent at
// each status interval and after a restart, and answered with the job's status.
// Therefore nothing is lost, and nothing is submitted twice.
//
// The state of a Job is shown in its condition [ConditionPlaced] and in events. A Job
// whose spec.managedBy is [ManagedBy] may run anywhere: this package then owns its
// status and mirrors the market's. A Job without it runs in its own cluster or not at
// all; the site's executor releases it (see package executor). So does a set, whose state
// is shown in the annotation [AnnotationState], since its status is its controller's.
package queue
