// Package executor runs the jobs of a site on a real Kubernetes cluster: it
// creates what a launch asks for, has its pods bound, watches how they
// do, and says what the site consists of.
//
// Hands remember nothing that the cluster does not: each object that they create
// carries its launch in an annotation. Hands that begin anew find them, say what
// they hold, and go on. An object is named by its job and epoch, so that a
// launch said twice creates nothing twice.
//
// What it promises:
//   - a pod is bound to the node and the devices of its launch, by its UID, or
//     not at all;
//   - what others hold is reported as held by others; where both do not fit,
//     ours give way;
//   - a job is said to be lost only when nothing of it runs any more;
//   - a task that asks for more than was sold, or that cannot be read, or that
//     the cluster refuses, is said to be lost, with the reason in words;
//   - an API server that does not answer is waited for.
//
// Where a job goes is decided before, by agents and agents/capacity. What a
// site's way of sharing GPUs enforces stands in docs/kubernetes.md.
package executor
