package executor

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
	"github.com/gridbid/gridbid/protocol"
)

// A card that its driver or plugin says is broken would fail one job after the other.
func TestUnhealthyDeviceIsNotOffered(t *testing.T) {
	now := noon
	for _, register := range []string{
		`[{"id":"GPU-a","devmem":81920,"health":true},{"id":"GPU-b","devmem":81920,"health":false},{"id":"GPU-c","devmem":81920}]`,
		"GPU-a,10,81920,100,NVIDIA-H100,0,true:GPU-b,10,40960,100,NVIDIA-H100,0,false:GPU-c,10,81920,100:",
	} {
		h := bare(Config{}, &now)
		h.inv.Sharing = kube.SharingHAMi
		h.inv.PodCache = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{inventory.ByNode: func(any) ([]string, error) { return nil, nil }})
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Annotations: map[string]string{"hami.io/node-nvidia-register": register}}}
		if err := h.inv.NodeCache.Add(n); err != nil {
			t.Fatal(err)
		}
		if got := h.surveyInventory()[0]; got.GPUs != 3 || !slices.Equal(got.Others, []protocol.Milli{0, 1000, 0}) {
			t.Errorf("%s: %+v", register, got)
		}
	}
	h := New(Config{Site: "oslo"})
	h.inv.SliceCache = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{inventory.ByNode: func(any) ([]string, error) { return []string{"n1"}, nil }})
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{Driver: "gpu.nvidia.com"}}
	for i, effect := range []resourcev1.DeviceTaintEffect{"", "None", "NoSchedule", "NoExecute"} {
		d := resourcev1.Device{Name: fmt.Sprint("gpu-", i)}
		if effect != "" {
			d.Taints = []resourcev1.DeviceTaint{{Key: "gpu.nvidia.com/xid", Effect: effect}}
		}
		s.Spec.Devices = append(s.Spec.Devices, d)
	}
	if err := h.inv.SliceCache.Add(s); err != nil {
		t.Fatal(err)
	}
	if got := h.inv.UnhealthyDevices(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("by claims: %v", got)
	}
}
