package inventory

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
)

// Capacities of a device that can be shared.
const (
	MilliCapacity  resourcev1.QualifiedName = "milli"
	MemoryCapacity resourcev1.QualifiedName = "memory"
)

// ClaimedMilli is the thousandths of a device that an allocation holds. Who may only look
// after devices, as their monitors do, holds nothing of them.
func ClaimedMilli(x resourcev1.DeviceRequestAllocationResult) int64 {
	if x.AdminAccess != nil && *x.AdminAccess {
		return 0
	}
	if q, ok := x.ConsumedCapacity[MilliCapacity]; ok {
		return q.Value()
	}
	return 1000
}

// A Device is one of a node's, with the pool that its driver has it in.
type Device struct {
	resourcev1.Device
	Pool string
}

// DevicesOfNode returns those of a node in the order of their names, which makes
// indexes: the newest generation of each pool, gpu2 before gpu10. Slices of a card are
// no cards.
func (v *Inventory) DevicesOfNode(node string) (all []Device) {
	newest := make(map[string]int64)
	slicesOf := v.slicesOf(node)
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

// DeviceGiB is the memory of one device as GPU-share counts it.
func DeviceGiB(n *corev1.Node) int64 {
	all, count := n.Status.Allocatable[kube.ShareGiB], n.Status.Allocatable["aliyun.com/gpu-count"]
	return all.Value() / max(count.Value(), 1)
}

// slicesOf returns what a driver published of a node's devices.
func (v *Inventory) slicesOf(node string) (all []*resourcev1.ResourceSlice) {
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

// CardUUIDs are the UUIDs of a node's devices, or "" if they are not known: with a
// device plugin the kubelet chooses.
func (v *Inventory) CardUUIDs(node *corev1.Node, devices []int) string {
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

// UnhealthyDevices are the indexes of devices of a node that their driver or plugin says are not
// to be used. What runs on them runs on, for as long as it can.
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

// NodesOfClaim are those that a claim's allocation names.
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
