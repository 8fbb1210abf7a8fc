package inventory

import "github.com/gridbid/gridbid/protocol"

// topologyLabels are the levels of a cluster's topology, the widest first: those of Kubernetes, those by
// which clouds say where a node stands in their network, and the NVLink domain of GPU Feature Discovery.
var topologyLabels = []string{
	"topology.kubernetes.io/region", "topology.kubernetes.io/zone",
	"cloud.google.com/gce-topology-block", "cloud.google.com/gce-topology-subblock", "cloud.google.com/gce-topology-host",
	"topology.k8s.aws/network-node-layer-1", "topology.k8s.aws/network-node-layer-2", "topology.k8s.aws/network-node-layer-3",
	"nvidia.com/gpu.clique",
}

// Topology returns where nodes stand, by the labels that they have of these levels.
func (v *Inventory) Topology(nodes []protocol.Node) (all []protocol.NodeTopology) {
	for _, p := range nodes {
		n := v.NodeByName(p.Name)
		if n == nil {
			continue
		}
		stands := protocol.NodeTopology{Node: p.Name}
		for _, key := range topologyLabels {
			if value := n.Labels[key]; value != "" {
				stands.Labels = append(stands.Labels, protocol.Label{Key: key, Value: value})
			}
		}
		if len(stands.Labels) > 0 {
			all = append(all, stands)
		}
	}
	return all
}
