package inventory

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/cluster-agent/kube"
)

// Config says how a site uses the nodes of its cluster.
type Config struct {
	Site    string
	Sharing kube.GPUSharing
	Nodes   kube.NodeSelection
	Driver  string            // of device claims
	Models  map[string]string // GPU product as nodes spell it -> model of the power table
	Power   power.Table
}

// An Inventory reads nodes and devices from caches of the cluster. The caches are
// set before it is used; those of slices and claims are nil unless Sharing is DRA.
type Inventory struct {
	Config
	NodeCache  cache.Indexer // by name
	PodCache   cache.Indexer // with the index ByNode
	SliceCache cache.Indexer // of resources, with the index ByNode
	ClaimCache cache.Indexer // of resources, with the index ByNode
}

// ByNode is the index of pods, slices and claims by the node that they are on.
const ByNode = "node"

// NodeOfPod is the index ByNode of pods.
func NodeOfPod(o any) ([]string, error) { return []string{o.(*corev1.Pod).Spec.NodeName}, nil }

// NodeOfSlice is the index ByNode of resource slices.
func NodeOfSlice(o any) ([]string, error) {
	if n := o.(*resourcev1.ResourceSlice).Spec.NodeName; n != nil {
		return []string{*n}, nil
	}
	return nil, nil
}
