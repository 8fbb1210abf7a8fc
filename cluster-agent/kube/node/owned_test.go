package node

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/cluster-agent/gpuaccounting"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/nvml"
	"github.com/gridbid/gridbid/protocol"
)

// Daemons are on all GPU nodes of a cluster. A site's ceiling holds down no cards of
// others, nor do those take part in it.
func TestCeilingAppliesToOwnedNodesOnly(t *testing.T) {
	const ceiling = 300_000
	gpu := &card{id: "GPU-0", limit: 700_000}
	keep, err := gpuaccounting.New([]nvml.Device{gpu}, gpuaccounting.Config{Caps: nvml.CapsConfig{MinChangeInterval: time.Nanosecond}})
	if err != nil {
		t.Fatal(err)
	}
	now, kept := noon, &memoryStore{rows: map[string]string{}}
	d := New(Config{Node: "n1", Owned: "oslo", GPUs: keep, Budget: &PowerBudget{Table: kept, Node: "n1", Ceiling: ceiling}, Now: func() protocol.Time { return now }})
	d.node = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for i, of := range []string{"", "oslo", "lyon"} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
		if of != "" {
			n.Spec.Taints = []corev1.Taint{{Key: kube.TaintOwned, Value: of, Effect: corev1.TaintEffectNoSchedule}}
		}
		if err := d.node.Update(n); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			d.reconcilePods(t.Context())
			now = now.Add(time.Second)
		}
		want := protocol.Milliwatts(700_000)
		if of == "oslo" {
			want = ceiling
		}
		if gpu.limit != want || i == 0 && len(kept.rows) > 0 {
			t.Errorf("a node of %q: its limit is %d mW, want %d; the table is %v", of, gpu.limit, want, kept.rows)
		}
	}
}
