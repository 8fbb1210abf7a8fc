// Package inventory reads a site's nodes from informer caches of its Kubernetes
// cluster: which of them the site uses, their GPUs with model and health for each
// mechanism of GPU sharing, and whether pods fit. It writes nothing, and does not know
// which pods belong to the site's runs: see packages external and executor for that.
package inventory
