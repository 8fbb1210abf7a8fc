// Package inventory reads from caches of a Kubernetes cluster what a site's nodes
// are: which of them the site uses, their GPUs, models and health by each way of
// sharing, and whether there is room for a pod. It changes nothing, and does not
// know which pods are of the site's own jobs.
package inventory
