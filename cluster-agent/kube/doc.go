// Package kube is what the packages of a site's Kubernetes cluster share: the labels,
// taints and annotations on its objects, the ways of sharing GPUs, what a pod asks
// for, and a connection.
//
//	inventory  reads nodes, devices and room from caches of the cluster
//	external   pods, claims and Jobs of others
//	binder     binds pods to the node and devices that were sold
//	executor   runs jobs from their launch to their end, by the three above
//	queue      submits Jobs of the cluster's own users to the market
//	node       caps and meters the cards of one node
package kube
