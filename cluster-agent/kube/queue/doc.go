// Package queue takes in what people of a site put into their own cluster, and
// has it run wherever the market says: suspended Jobs that carry the label of the
// queue, and Workloads for which Kueue asks where they should run.
//
// It remembers nothing that the cluster does not. When a Job is taken in, the time
// of that is written on it, together with a finalizer; what is submitted follows
// from the Job, its UID and that time, so it is the same however often it is said.
// Every so often, and whenever it begins anew, it says it again, and is told how
// the job stands. So nothing is lost, and nothing can be submitted twice.
//
// What becomes of a Job stands in its condition [ConditionPlaced] and in events. A Job whose
// spec.managedBy is [ManagedBy] may run anywhere: its status is then ours, and
// mirrors what the market says. One without runs in its own cluster, or not at all;
// the hands of its site release it (see package kube).
package queue
