package queue

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
)

const (
	testZone  = "topology.kubernetes.io/zone"
	testBlock = "cloud.google.com/gce-topology-block"
)

// wishing is a PyTorchJob of a master and four workers whose templates have these annotations.
func wishing(t *testing.T, master, worker string) *unstructured.Unstructured {
	t.Helper()
	return setOf(t, "kubeflow.org/v1", "PyTorchJob", "", fmt.Sprintf(`"runPolicy":{"suspend":true},"pytorchReplicaSpecs":{
		"Master":{"template":{"metadata":{"annotations":{%s}},POD}},"Worker":{"replicas":4,"template":{"metadata":{"annotations":{%s}},POD}}}`, note(master), note(worker)))
}

// note returns annotations "name=value ..." in JSON, in which names lack kueue.x-k8s.io/podset-.
func note(text string) string {
	var all []string
	for _, x := range strings.Fields(text) {
		k, v, _ := strings.Cut(x, "=")
		all = append(all, fmt.Sprintf("%q:%q", "kueue.x-k8s.io/podset-"+k, v))
	}
	return strings.Join(all, ",")
}

func TestTopologyOfASetIsReadAsKueueReadsIt(t *testing.T) {
	for _, tc := range []struct{ master, worker, want string }{
		{"", "", "[]"},
		{"", "required-topology=" + testZone, "[1 zone 4]"},
		{"required-topology=" + testZone, "required-topology=" + testZone, "[1 zone 4]"}, // a master is in one domain anyway
		{"required-topology=" + testZone + " group-name=a", "required-topology=" + testZone + " group-name=a", "all in zone []"},
		{"", "preferred-topology=" + testZone, "preferred zone []"},
		{"unconstrained-topology=true", "unconstrained-topology=false preferred-topology=" + testBlock, "preferred gce-topology-block []"},
		{"", "slice-required-topology=" + testBlock + " slice-size=2", "[1 gce-topology-block 2]"},
		{"", "required-topology=" + testZone + " slice-required-topology=" + testBlock + " slice-size=2", "[1 zone 4 1 gce-topology-block 2]"},
		{"", "preferred-topology=" + testZone + " slice-required-topology=" + testBlock + " slice-size=2", "preferred zone [1 gce-topology-block 2]"},
	} {
		s, faults := pluginSite.parseSet(&podsets.PyTorchJob, wishing(t, tc.master, tc.worker), noon)
		if got := topologyText(s.Job.RequiredTopology, s.Job.PreferredTopology, s.Job.Groups); got != tc.want || len(faults) > 0 {
			t.Errorf("%q and %q: read as %s, %q; want %s", tc.master, tc.worker, got, faults, tc.want)
		}
	}
	// Kueue has a Workload for each group of a LeaderWorkerSet.
	lws := setOf(t, "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", `,"gridbid.io/replicas":"2"`, `"replicas":0,"leaderWorkerTemplate":{"size":3,"workerTemplate":{"metadata":{"annotations":{`+note("required-topology="+testZone)+`}},POD}}`)
	if s, faults := pluginSite.parseSet(&podsets.LeaderWorkerSet, lws, noon); topologyText("", "", s.Job.Groups) != "[0 zone 3]" || len(faults) > 0 {
		t.Errorf("a LeaderWorkerSet: %+v, %q", s.Job.Groups, faults)
	}
}

// topologyText writes wishes with the names of levels alone.
func topologyText(required, preferred string, groups any) string {
	text := fmt.Sprint(groups)
	if required != "" {
		text = "all in " + required + " " + text
	}
	if preferred != "" {
		text = "preferred " + preferred + " " + text
	}
	return strings.NewReplacer("topology.kubernetes.io/", "", "cloud.google.com/", "", "{{} ", "", "}", "").Replace(text)
}

func TestFaultsOfATopologyNameTheAnnotation(t *testing.T) {
	for _, tc := range []struct{ master, worker, want string }{
		{"", "required-topology=rack/", `annotation kueue.x-k8s.io/podset-required-topology of role "worker" is "rack/": want the key of a node label`},
		{"", "required-topology=", `annotation kueue.x-k8s.io/podset-required-topology of role "worker" is ""`},
		{"preferred-topology=-", "", `annotation kueue.x-k8s.io/podset-preferred-topology of role "master" is "-"`},
		{"", "slice-required-topology=/ slice-size=2", `annotation kueue.x-k8s.io/podset-slice-required-topology of role "worker" is "/"`},
		{"", "required-topology=a preferred-topology=b", `annotations kueue.x-k8s.io/podset-required-topology and kueue.x-k8s.io/podset-preferred-topology of role "worker" exclude each other`},
		{"", "required-topology=a unconstrained-topology=true", "annotations kueue.x-k8s.io/podset-unconstrained-topology and kueue.x-k8s.io/podset-required-topology of role"},
		{"", "unconstrained-topology=maybe", `podset-unconstrained-topology of role "worker" is "maybe": want true or false`},
		{"", "slice-size=2", "annotations kueue.x-k8s.io/podset-slice-required-topology and kueue.x-k8s.io/podset-slice-size of role"},
		{"", "slice-required-topology=a slice-size=3", `podset-slice-size of role "worker" is "3": want a divisor of its 4 pods`},
		{"", "slice-required-topology=a slice-size=two", `podset-slice-size of role "worker" is "two"`},
		{"", "slice-required-topology=a slice-size=99999999999999999999", `podset-slice-size of role "worker" is "99999999999999999999"`},
		{"", "group-name=g", `podset-group-name of role "worker" is "g", but says nothing without a level`},
		{"", "group-name=g required-topology=a", `podset-group-name: group "g" has 1 of 2 roles`},
		{"group-name=g required-topology=b", "group-name=g required-topology=a", `podset-required-topology: the roles of group "g" name several levels`},
		{"preferred-topology=b", "preferred-topology=a", `podset-preferred-topology of role "worker" is "a", and that of another role "b"`},
	} {
		_, faults := pluginSite.parseSet(&podsets.PyTorchJob, wishing(t, tc.master, tc.worker), noon)
		if len(faults) != 1 || !strings.Contains(faults[0], tc.want) {
			t.Errorf("%q and %q: %q; want %q", tc.master, tc.worker, faults, tc.want)
		}
	}
}

// A Job of the cluster's users wishes like the other kinds, if it is a gang; one whose pods go to one
// node has its wish, and a faulty one is refused all the same.
func TestTopologyOfAJob(t *testing.T) {
	indexed, two := batchv1.IndexedCompletion, int32(2)
	j := aJob()
	j.Spec.CompletionMode, j.Spec.Completions = &indexed, &two
	j.Spec.Template.Annotations = map[string]string{AnnotationRequiredTopology: testZone}
	if s, faults := pluginSite.parseJob(j, noon); topologyText("", "", s.Job.Groups) != "[0 zone 2]" || len(faults) > 0 {
		t.Errorf("a gang: %+v, %q", s.Job.Groups, faults)
	}
	j.Spec.CompletionMode = nil
	if s, faults := pluginSite.parseJob(j, noon); len(s.Job.Groups) > 0 || len(faults) > 0 {
		t.Errorf("pods of one node: %+v, %q", s.Job.Groups, faults)
	}
	j.Spec.Template.Annotations[AnnotationRequiredTopology] = "a b"
	if _, faults := pluginSite.parseJob(j, noon); len(faults) != 1 || !strings.Contains(faults[0], AnnotationRequiredTopology+" of the pod template") {
		t.Errorf("pods of one node with a faulty level: %q", faults)
	}
}

// Whatever the annotations are, a set is valid for the market, or has a fault; and it is the same
// whenever it is read.
func TestAnyTopologyIsValidOrFaulty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		some := func(name string) string {
			var all []string
			for _, k := range []string{"required-topology", "preferred-topology", "unconstrained-topology", "slice-required-topology", "slice-size", "group-name"} {
				if rapid.Bool().Draw(r, k) {
					all = append(all, k+"="+rapid.SampledFrom([]string{"", "a", "b", "2", "4", "true", "x/y", "-"}).Draw(r, name+" "+k))
				}
			}
			return strings.Join(all, " ")
		}
		u := wishing(t, some("master"), some("worker"))
		s, faults := (Config{Site: "oslo", RunsJobsHere: true, Sharing: kube.SharingDevicePlugin}).parseSet(&podsets.PyTorchJob, u, noon)
		if why := s.Job.InvalidReason(); why != "" && (len(faults) == 0 || strings.Contains(strings.Join(faults, "; "), "components[")) {
			r.Errorf("%q, faults %q", why, faults)
		}
		if again, faultsAgain := pluginSite.parseSet(&podsets.PyTorchJob, u, noon); fmt.Sprint(again, faultsAgain) != fmt.Sprint(s, faults) {
			r.Errorf("read again it is %+v, %q; was %+v, %q", again, faultsAgain, s, faults)
		}
	})
}
