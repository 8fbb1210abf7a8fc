package inventory

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
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
