package binder

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
)

// The cluster's own scheduler gives a monitor that claims all devices for
// administration what others hold, and others what the monitor holds. So do we.
func TestAdminAccessDoesNotBlockDevice(t *testing.T) {
	claims := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{inventory.ByNode: inventory.NodesOfClaim})
	for _, c := range []*resourcev1.ResourceClaim{kubetest.Allocated("monitor", "", "n1", true, "gpu-0", "gpu-1"), kubetest.Allocated("notebook", "", "n1", false, "gpu-1")} {
		if err := claims.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	b := New(Config{}, &inventory.Inventory{Config: inventory.Config{Sharing: kube.SharingDRA}, ClaimCache: claims})
	ours := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "ours", UID: "ours"}}
	for device, want := range map[string]string{"gpu-0": "", "gpu-1": "gpu-1"} {
		if full := b.overcommittedDevice("n1", ours, []resourcev1.DeviceRequestAllocationResult{kubetest.DeviceResult("n1", device, false)}); full != want {
			t.Errorf("of %s nothing is left on %q", device, full)
		}
	}
}
