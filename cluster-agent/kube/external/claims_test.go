package external

import (
	"slices"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/protocol"
)

// heldByOthers is what others hold of each of the devices of node n1, where there are
// some claims. Run r1 was awarded device 2.
func heldByOthers(t *testing.T, devices []string, claims ...*resourcev1.ResourceClaim) []protocol.Milli {
	t.Helper()
	v := &inventory.Inventory{
		Config:     inventory.Config{Site: "oslo", Sharing: kube.SharingDRA, Driver: "gpu.nvidia.com"},
		SliceCache: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{inventory.ByNode: inventory.NodeOfSlice}),
		ClaimCache: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{inventory.ByNode: inventory.NodesOfClaim}),
	}
	if err := v.SliceCache.Add(kubetest.Published("n1", devices...)); err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		if err := v.ClaimCache.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	x := Pods{Inventory: v, DevicesOfRun: func(name, _ string) ([]int, bool) { return []int{2}, name == "r1" }}
	all := make([]protocol.Milli, len(devices))
	for i, m := range x.ForeignClaimUsage("n1") {
		all[i] = m
	}
	return all
}

// A monitor that claims all devices for administration holds nothing of them.
func TestAdminAccessHoldsNoDevice(t *testing.T) {
	monitor := kubetest.Allocated("monitor", "", "n1", true, "gpu-0", "gpu-1")
	notebook := kubetest.Allocated("notebook", "", "n1", false, "gpu-1")
	if got := heldByOthers(t, []string{"gpu-0", "gpu-1"}, monitor, notebook); !slices.Equal(got, []protocol.Milli{0, 1000}) {
		t.Errorf("others hold %v", got)
	}
}

// A driver that publishes a card less makes others of the indexes after it. What runs on
// those cards is not offered again, for jobs to wait there until they are given back.
func TestReindexedDeviceIsStillHeld(t *testing.T) {
	claim := kubetest.Allocated("train", "r1", "n1", false, "gpu-2")
	for _, tc := range []struct {
		devices []string
		want    []protocol.Milli
	}{
		{[]string{"gpu-0", "gpu-1", "gpu-2", "gpu-3"}, []protocol.Milli{0, 0, 0, 0}},
		{[]string{"gpu-0", "gpu-2", "gpu-3"}, []protocol.Milli{0, 1000, 0}},
	} {
		if got := heldByOthers(t, tc.devices, claim); !slices.Equal(got, tc.want) {
			t.Errorf("of %v %v is held by foreign claims; want %v", tc.devices, got, tc.want)
		}
	}
}
