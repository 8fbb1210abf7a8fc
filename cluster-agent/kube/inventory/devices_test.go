package inventory

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/cluster-agent/kube"
)

// A driver publishes slices of its cards beside them, or in their place.
func TestMIGSliceIsNoDevice(t *testing.T) {
	v := &Inventory{Config: Config{Site: "oslo", Driver: "gpu.nvidia.com", Sharing: kube.SharingDRA}}
	v.SliceCache = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{ByNode: func(any) ([]string, error) { return []string{"n1"}, nil }})
	text := func(s string) resourcev1.DeviceAttribute { return resourcev1.DeviceAttribute{StringValue: &s} }
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{Driver: "gpu.nvidia.com"}}
	for name, kind := range map[string]string{"gpu-0": "gpu", "gpu-1-mig-1g5gb-19-0": "mig", "gpu-vfio-2": "vfio", "gpu-3": ""} {
		d := resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"productName": text("NVIDIA H100")}}
		if kind != "" {
			d.Attributes["type"] = text(kind)
		}
		s.Spec.Devices = append(s.Spec.Devices, d)
	}
	if err := v.SliceCache.Add(s); err != nil {
		t.Fatal(err)
	}
	if all := v.DevicesOfNode("n1"); len(all) != 2 || all[0].Name != "gpu-0" || all[1].Name != "gpu-3" {
		t.Errorf("its cards are %v", all)
	}
}

// A driver that shares devices by a capacity which is not counted here would let the first
// share hold the whole device, and each further job be lost after ten minutes.
func TestSharedDevicesWithoutThousandthsAreNotSold(t *testing.T) {
	shared := true
	quantity := func(names ...resourcev1.QualifiedName) map[resourcev1.QualifiedName]resourcev1.DeviceCapacity {
		all := make(map[resourcev1.QualifiedName]resourcev1.DeviceCapacity)
		for _, n := range names {
			all[n] = resourcev1.DeviceCapacity{Value: resource.MustParse("1000")}
		}
		return all
	}
	for name, tc := range map[string]struct {
		device resourcev1.Device
		closed bool
	}{
		"whole":       {resourcev1.Device{Name: "gpu-0", Capacity: quantity("memory")}, false},
		"thousandths": {resourcev1.Device{Name: "gpu-0", AllowMultipleAllocations: &shared, Capacity: quantity("memory", "milli")}, false},
		"shares":      {resourcev1.Device{Name: "gpu-0", AllowMultipleAllocations: &shared, Capacity: quantity("memory", "shares")}, true},
	} {
		v := &Inventory{Config: Config{Site: "oslo", Driver: "gpu.nvidia.com", Sharing: kube.SharingDRA, Nodes: kube.AllNodes}}
		v.SliceCache = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{ByNode: func(any) ([]string, error) { return []string{"n1"}, nil }})
		s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{Driver: "gpu.nvidia.com", Devices: []resourcev1.Device{tc.device}}}
		if err := v.SliceCache.Add(s); err != nil {
			t.Fatal(err)
		}
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
		if got := v.DescribeNode(n); (got.Closed != "") != tc.closed || tc.closed && !strings.Contains(got.Closed, "without the capacity milli") || got.GPUs != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
