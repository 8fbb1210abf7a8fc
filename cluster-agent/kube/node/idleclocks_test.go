package node

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/cluster-agent/gpuaccounting"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/nvml"
	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

// A clockedCard is a card whose SM clock can be locked, and that no program uses.
type clockedCard struct {
	card
	locked int
}

func (c *clockedCard) Index() int { return 0 }
func (c *clockedCard) ReadSensors() (nvml.Reading, error) {
	return nvml.Reading{}, nil
}
func (c *clockedCard) MIGInstances() ([]nvml.MIGInstance, error) { return nil, nil }
func (c *clockedCard) MemoryHeld() (protocol.MiB, error)         { return 0, nil }
func (c *clockedCard) LowestClocks() (nvml.LowestClocks, error) {
	return nvml.LowestClocks{SM: 345}, nil
}
func (c *clockedCard) LockClocks(_, most int) error { c.locked = most; return nil }
func (c *clockedCard) UnlockClocks() error          { c.locked = 0; return nil }

// Only on a node of the site's own, and only if it is known which cards each pod holds,
// clocks of a card without a pod are lowered.
func TestIdleClocksNeedAnOwnNodeAndKnownHolders(t *testing.T) {
	gpu := &clockedCard{card: card{id: "GPU-0", limit: 700_000}}
	gpus, err := gpuaccounting.New([]nvml.Device{gpu}, gpuaccounting.Config{IdleClocks: true, Caps: nvml.CapsConfig{MinChangeInterval: time.Nanosecond}})
	if err != nil {
		t.Fatal(err)
	}
	now := noon
	d := New(Config{Node: "n1", Owned: "oslo", Client: fake.NewClientset(), GPUs: gpus, Now: func() protocol.Time { return now }})
	d.node = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	d.pods = []cache.Indexer{pods}
	for _, c := range []struct {
		when, owner, devices, gpus string
		want                       int
	}{
		{"a node of no site", "", "", "", 0},
		{"an own node without pods", "oslo", "", "", 345},
		{"a pod whose cards are unknown", "oslo", "7", "", 0},
		{"that pod is gone", "oslo", "", "", 345},
		{"a pod with the card", "oslo", "0", "GPU-0", 0},
		{"that pod is gone", "oslo", "", "", 345},
		{"a node of another site", "lyon", "", "", 0},
	} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
		if c.owner != "" {
			n.Spec.Taints = []corev1.Taint{{Key: kube.TaintOwned, Value: c.owner, Effect: corev1.TaintEffectNoSchedule}}
		}
		var here []any
		if c.devices != "" {
			here = append(here, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "u", Annotations: map[string]string{kube.AnnotationDevices: c.devices, podenergy.AnnotationGPUs: c.gpus}}})
		}
		if err := d.node.Update(n); err != nil {
			t.Fatal(err)
		}
		if err := pods.Replace(here, ""); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Minute)
		if d.reconcilePods(t.Context()); gpu.locked != c.want {
			t.Errorf("%s: locked at %d MHz, want %d", c.when, gpu.locked, c.want)
		}
	}
}
