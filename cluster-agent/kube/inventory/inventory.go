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
	Driver  string            // DRA driver of the devices
	Models  map[string]string // GPU product label of a node -> model of the power table
	Power   power.Table
}

// An Inventory reads nodes and devices from informer caches. The caches must be set
// before it is used; SliceCache and ClaimCache are nil unless Sharing is SharingDRA.
type Inventory struct {
	Config
	NodeCache  cache.Indexer // by name
	PodCache   cache.Indexer // with the index ByNode
	SliceCache cache.Indexer // of ResourceSlices, with the index ByNode
	ClaimCache cache.Indexer // of ResourceClaims, with the index ByNode
}

// ByNode names the index of pods, slices and claims by their node.
const ByNode = "node"

// NodeOfPod is the index function of ByNode for pods.
func NodeOfPod(o any) ([]string, error) { return []string{o.(*corev1.Pod).Spec.NodeName}, nil }

// NodeOfSlice is the index function of ByNode for resource slices.
func NodeOfSlice(o any) ([]string, error) {
	if n := o.(*resourcev1.ResourceSlice).Spec.NodeName; n != nil {
		return []string{*n}, nil
	}
	return nil, nil
}
