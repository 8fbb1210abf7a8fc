package kube

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/protocol"
)

// claiming are hands that see node n1 publish devices, and claims of them.
func claiming(t *testing.T, devices []string, claims ...*resourcev1.ResourceClaim) *Hands {
	t.Helper()
	h := New(Config{Site: "oslo"})
	h.slices = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{byNode: func(any) ([]string, error) { return []string{"n1"}, nil }})
	h.claims = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{byNode: nodesOfClaim})
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{Driver: "gpu.nvidia.com", Pool: resourcev1.ResourcePool{Name: "n1"}}}
	for _, name := range devices {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: name})
	}
	if err := h.slices.Add(s); err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		if err := h.claims.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// given is a claim of a run, or of others, that was given devices of n1.
func given(name, run string, admin bool, devices ...string) *resourcev1.ResourceClaim {
	only := corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n1"}}
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Labels: map[string]string{LabelRun: run}}}
	c.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{only}}}}}
	for _, d := range devices {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, taking(d, admin))
	}
	return c
}

func taking(device string, admin bool) resourcev1.DeviceRequestAllocationResult {
	return resourcev1.DeviceRequestAllocationResult{Request: claimName, Driver: "gpu.nvidia.com", Pool: "n1", Device: device, AdminAccess: &admin}
}

// milli are the thousandths of each of n devices.
func milli(n int, taken map[int]protocol.Milli) []protocol.Milli {
	all := make([]protocol.Milli, n)
	for i, m := range taken {
		all[i] = m
	}
	return all
}

// The scheduler gives a monitor that claims all devices for administration what others
// hold, and others what it holds.
func TestAMonitorOfAllDevicesHoldsNoneOfThem(t *testing.T) {
	h := claiming(t, []string{"gpu-0", "gpu-1"}, given("monitor", "", true, "gpu-0", "gpu-1"), given("notebook", "", false, "gpu-1"))
	if got := milli(2, h.claimedByOthers("n1")); !slices.Equal(got, []protocol.Milli{0, 1000}) {
		t.Errorf("others hold %v", got)
	}
	ours := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "ours", UID: "ours"}}
	for device, want := range map[string]string{"gpu-0": "", "gpu-1": "gpu-1"} {
		if full := h.full("n1", ours, []resourcev1.DeviceRequestAllocationResult{taking(device, false)}); full != want {
			t.Errorf("of %s nothing is left on %q", device, full)
		}
	}
}

// A driver that publishes a card less makes others of the indexes after it. What runs on
// those cards is not sold again, for jobs to wait there until they are given back.
func TestADeviceThatHasAnotherIndexNowIsStillHeld(t *testing.T) {
	claim := given("train", "r1", false, "gpu-2")
	for _, tc := range []struct {
		devices []string
		want    []protocol.Milli
	}{
		{[]string{"gpu-0", "gpu-1", "gpu-2", "gpu-3"}, []protocol.Milli{0, 0, 0, 0}},
		{[]string{"gpu-0", "gpu-2", "gpu-3"}, []protocol.Milli{0, 1000, 0}},
	} {
		h := claiming(t, tc.devices, claim)
		h.runs["r1"] = &run{name: "r1", launch: protocol.Launch{Devices: []int{2}}}
		if got := milli(len(tc.devices), h.claimedByOthers("n1")); !slices.Equal(got, tc.want) {
			t.Errorf("of %v %v is not to be sold", tc.devices, got)
		}
	}
}
