package inventory

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/protocol"
)

func TestANodeStandsWhereItsLabelsSay(t *testing.T) {
	v := &Inventory{NodeCache: cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)}
	for name, labels := range map[string]map[string]string{
		"n1": {"nvidia.com/gpu.clique": "c1.0", "topology.kubernetes.io/zone": "a", "app": "x"}, "n2": {"app": "x"},
	} {
		if err := v.NodeCache.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}); err != nil {
			t.Fatal(err)
		}
	}
	got := v.Topology([]protocol.Node{{Name: "n1"}, {Name: "n2"}, {Name: "gone"}})
	want := []protocol.NodeTopology{{Node: "n1", Labels: []protocol.Label{{Key: "topology.kubernetes.io/zone", Value: "a"}, {Key: "nvidia.com/gpu.clique", Value: "c1.0"}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Topology = %+v; want %+v", got, want)
	}
}
