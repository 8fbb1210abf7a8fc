package inventory

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
)

func TestNodeSelection(t *testing.T) {
	node := func(taints ...corev1.Taint) *corev1.Node {
		n := &corev1.Node{Spec: corev1.NodeSpec{Taints: taints}}
		n.Name = "n1"
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		return n
	}
	ours := corev1.Taint{Key: kube.TaintOwned, Value: "oslo", Effect: corev1.TaintEffectNoSchedule}
	soft := corev1.Taint{Key: kube.TaintOwned, Value: "oslo", Effect: corev1.TaintEffectPreferNoSchedule}
	lyons := corev1.Taint{Key: kube.TaintOwned, Value: "lyon", Effect: corev1.TaintEffectNoSchedule}
	gpu := corev1.Taint{Key: kube.PluginGPU, Effect: corev1.TaintEffectNoSchedule}
	const foreign = "not oslo's alone: no taint gridbid.io/owned=oslo:NoSchedule"
	for _, tc := range []struct {
		name       string
		n          *corev1.Node
		owned, all string // why it takes nothing, as far as it begins
	}{
		{"no site's", node(), foreign, ""},
		{"ours", node(ours, gpu), "", ""},
		{"one that others rather avoid", node(soft), foreign, ""},
		{"another site's", node(lyons), foreign, "tainted gridbid.io/owned"},
		{"ours, and another's", node(ours, lyons), "tainted gridbid.io/owned", "tainted gridbid.io/owned"},
	} {
		for nodes, want := range map[kube.NodeSelection]string{"": tc.owned, kube.OwnedNodes: tc.owned, kube.AllNodes: tc.all} {
			if got := (&Inventory{Config: Config{Site: "oslo", Nodes: nodes}}).nodeClosedReason(tc.n); got != want {
				t.Errorf("%s, nodes %q: closed because %q; want %q", tc.name, nodes, got, want)
			}
		}
	}
}
