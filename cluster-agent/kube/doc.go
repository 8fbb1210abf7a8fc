// Package kube holds what the packages for a site's Kubernetes cluster share: the
// labels, taints and annotations that Gridbid writes on objects, the modes of GPU
// sharing, the resource requests of a pod, the connection to the API server, and the
// loop of a reconcile worker.
//
//	inventory  reads nodes, devices and free capacity from informer caches
//	external   accounts for foreign pods and claims; runs Jobs of the cluster's users
//	binder     binds pods to the node and devices of their award
//	executor   runs jobs from launch to end, by means of the three above
//	queue      submits Jobs of the cluster's own users to the market
//	node       caps and measures the GPUs of one node
package kube
