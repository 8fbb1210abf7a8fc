// Package node is the daemon that runs on each GPU node of a cluster, beside its
// kubelet: it watches the pods of its own node, holds their GPUs to the power cap of
// the award (package gpuaccounting), and writes to each pod whether its cap is
// enforced and how much energy it drew. The executor settles runs by that.
//
// The daemon makes no decisions and keeps no state of its own: a pod's cap and devices
// are in annotations that the executor wrote, and its energy so far in one that the
// daemon wrote. On a node without driver or GPU it logs that once and marks pods
// accordingly, so that the executor does not wait for a measurement.
//
// It writes to pods/status only, and therefore does not need the right to change what
// pods run.
package node
