package inventory

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
)

// Names of the capacities that a sharable device publishes.
const (
	MilliCapacity  resourcev1.QualifiedName = "milli"
	MemoryCapacity resourcev1.QualifiedName = "memory"
)

// ClaimedMilli returns how many thousandths of a device an allocation takes: all of it
// unless it says otherwise, and none with admin access, which monitoring tools have.
func ClaimedMilli(x resourcev1.DeviceRequestAllocationResult) int64 {
	if x.AdminAccess != nil && *x.AdminAccess {
		return 0
	}
	if q, ok := x.ConsumedCapacity[MilliCapacity]; ok {
		return q.Value()
	}
	return 1000
}

// uncountableShares returns why the devices of a node cannot be sold, or "": their driver
// shares them, but publishes no thousandths, so nobody could say how much of one is left. A claim
// without thousandths counts as the whole device, while others may share it.
func (v *Inventory) uncountableShares(devices []Device) string {
	for _, d := range devices {
		shared := d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations
		if _, ok := d.Capacity[MilliCapacity]; shared && !ok {
			return "device " + d.Name + " is shared by " + v.Driver + " without the capacity " + string(MilliCapacity) + ": switch the driver's sharing off"
		}
	}
	return ""
}

// A Device is a device of a node, with the pool in which its driver publishes it.
type Device struct {
	resourcev1.Device
	Pool string
}

// DevicesOfNode returns the GPUs of a node, of the newest generation of each pool. Their
// order defines device indexes: by name, shorter names first, so that gpu2 comes
// before gpu10. MIG slices and other devices that are not whole GPUs are left out.
func (v *Inventory) DevicesOfNode(node string) (all []Device) {
	newest := make(map[string]int64)
	slicesOf := v.resourceSlicesOfNode(node)
	for _, s := range slicesOf {
		newest[s.Spec.Pool.Name] = max(newest[s.Spec.Pool.Name], s.Spec.Pool.Generation)
	}
	for _, s := range slicesOf {
		if s.Spec.Pool.Generation == newest[s.Spec.Pool.Name] {
			for _, d := range s.Spec.Devices {
				if t := d.Attributes["type"].StringValue; t == nil || *t == "gpu" {
					all = append(all, Device{d, s.Spec.Pool.Name})
				}
			}
		}
	}
	slices.SortFunc(all, func(x, y Device) int {
		if len(x.Name) != len(y.Name) {
			return len(x.Name) - len(y.Name)
		}
		return strings.Compare(x.Name, y.Name)
	})
	return all
}

// DeviceGiB returns the memory of one device of a node in GiB, as GPU-share counts it.
func DeviceGiB(n *corev1.Node) int64 {
	all, count := n.Status.Allocatable[kube.ShareGiB], n.Status.Allocatable["aliyun.com/gpu-count"]
	return all.Value() / max(count.Value(), 1)
}

// resourceSlicesOfNode returns the slices that the configured driver published for a node.
func (v *Inventory) resourceSlicesOfNode(node string) (all []*resourcev1.ResourceSlice) {
	if v.SliceCache == nil {
		return nil
	}
	list, _ := v.SliceCache.ByIndex(ByNode, node)
	for _, o := range list {
		if s := o.(*resourcev1.ResourceSlice); s.Spec.Driver == v.Driver {
			all = append(all, s)
		}
	}
	return all
}

// DeviceUUIDs returns the UUIDs of some devices of a node, separated by commas, or ""
// if one is not known. With NVIDIA's device plugin none is, since the kubelet chooses
// the devices.
func (v *Inventory) DeviceUUIDs(node *corev1.Node, devices []int) string {
	var uuids []string
	for _, d := range devices {
		uuid := ""
		switch v.Sharing {
		case kube.SharingDRA:
			if all := v.DevicesOfNode(node.Name); d < len(all) {
				if a := all[d].Attributes["uuid"]; a.StringValue != nil {
					uuid = *a.StringValue
				}
			}
		case kube.SharingHAMi:
			if all := HAMiCards(node); d < len(all) {
				uuid = all[d].ID
			}
		}
		if uuid == "" {
			return ""
		}
		uuids = append(uuids, uuid)
	}
	return strings.Join(uuids, ",")
}

// UnhealthyDevices returns the indexes of the devices that their driver or device
// plugin marks as unusable. Pods that run on them are left running.
func (v *Inventory) UnhealthyDevices(n *corev1.Node) (all []int) {
	switch v.Sharing {
	case kube.SharingDRA:
		for i, d := range v.DevicesOfNode(n.Name) {
			if slices.ContainsFunc(d.Taints, func(t resourcev1.DeviceTaint) bool {
				return t.Effect == resourcev1.DeviceTaintEffectNoSchedule || t.Effect == resourcev1.DeviceTaintEffectNoExecute
			}) {
				all = append(all, i)
			}
		}
	case kube.SharingHAMi:
		for i, c := range HAMiCards(n) {
			if c.Health != nil && !*c.Health {
				all = append(all, i)
			}
		}
	}
	return all
}

// NodesOfClaim returns the nodes that a claim's allocation names; it is the index
// ByNode of claims.
func NodesOfClaim(o any) (nodes []string, err error) {
	a := o.(*resourcev1.ResourceClaim).Status.Allocation
	if a == nil || a.NodeSelector == nil {
		return nil, nil
	}
	for _, t := range a.NodeSelector.NodeSelectorTerms {
		for _, f := range t.MatchFields {
			if f.Key == "metadata.name" {
				nodes = append(nodes, f.Values...)
			}
		}
	}
	return nodes, nil
}
