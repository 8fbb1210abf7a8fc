// Package node runs on each GPU node of a cluster, beside its kubelet: it watches
// the pods of its own node, keeps their cards under what the market awarded
// ([cluster-agent/gpuaccounting]), and writes on each pod how its cards stand and what
// they drew, for the hands to settle by.
//
// It decides nothing and remembers nothing: what a pod may have is written on it
// by the hands, what it drew by itself. Where there is no driver or no card it
// says so, once, and marks pods so that nobody waits for a measurement.
//
// Writes go to pods/status alone, so the right to change what pods run is not
// asked for.
package node
