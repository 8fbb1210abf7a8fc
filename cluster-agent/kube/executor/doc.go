// Package executor runs the jobs of a site on a real Kubernetes cluster: it creates
// the object that a launch asks for, has its pods bound, watches them, reports the
// outcome to the agent, and reports the site's inventory.
//
// The executor keeps no state of its own: each object that it creates carries its
// launch in an annotation. After a restart it finds those objects, reports which
// launches they hold, and goes on. An object is named by job and epoch, so a launch
// that is delivered twice creates nothing twice.
//
// Guarantees:
//   - a pod is bound to the node and the devices of its launch, by its UID, or
//     not at all;
//   - capacity that foreign pods hold is reported as such; where both do not fit,
//     a run of ours is terminated;
//   - a job is reported as interrupted only when no pod of it runs any more;
//     the exception is a cluster given up after AbandonAfter;
//   - a task that requests more than the award, that cannot be parsed, or that
//     the cluster refuses is reported as interrupted, with the reason in words;
//   - an API server that does not answer is waited for.
//
// Which node and devices a job gets was decided before, by agents and agents/capacity.
// docs/kubernetes.md says what each mode of GPU sharing enforces.
package executor
