package podsets

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/cluster-agent/kube"
)

const template = `"template":{"spec":{"containers":[{"name":"main"}]}}`

// decoded returns an object and its kind.
func decoded(t testing.TB, text string) (map[string]any, *Kind) {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return u.Object, KindOf(u.GroupVersionKind())
}

func TestPodsOfEachKindAreThoseThatItsControllerMakes(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"a Job of indexed pods", `{"apiVersion":"batch/v1","kind":"Job","spec":{"completionMode":"Indexed","parallelism":4,"completions":4,` + template + `}}`, "[ 4/4]"},
		{"a JobSet", `{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","spec":{"replicatedJobs":[
			{"name":"worker","replicas":2,"template":{"spec":{"completionMode":"Indexed","parallelism":3,"completions":3,` + template + `}}},
			{"name":"driver","template":{"spec":{"completionMode":"Indexed",` + template + `}}}]}}`, "[worker 6/3 driver 1/1]"},
		{"a PyTorchJob", `{"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob","spec":{"pytorchReplicaSpecs":{"Worker":{"replicas":3,` + template + `},"Master":{` + template + `}}}}`, "[master 1/1 worker 3/3]"},
		{"an MPIJob", `{"apiVersion":"kubeflow.org/v2beta1","kind":"MPIJob","spec":{"mpiReplicaSpecs":{"Worker":{"replicas":4,` + template + `},"Launcher":{"replicas":1,` + template + `}}}}`, "[launcher 1/1 worker 4/4]"},
		{"a LeaderWorkerSet with a template for leaders", `{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","spec":{"replicas":2,"leaderWorkerTemplate":{"size":4,"leaderT` + template[2:] + `,"workerT` + template[2:] + `}}}`, "[leader 2/1 worker 6/3]"},
		{"a LeaderWorkerSet of leaders alone", `{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","spec":{"leaderWorkerTemplate":{"leaderT` + template[2:] + `,"workerT` + template[2:] + `}}}`, "[leader 1/1]"},
		{"a LeaderWorkerSet that waits", `{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","metadata":{"annotations":{"gridbid.io/replicas":"2"}},"spec":{"replicas":0,"leaderWorkerTemplate":{"size":4,"workerT` + template[2:] + `}}}`, "[worker 8/4]"},
	} {
		o, k := decoded(t, tc.text)
		all, err := k.PodSetsOf(o)
		var got []string
		for _, s := range all {
			got = append(got, fmt.Sprintf("%s %d/%d", s.Role, s.Pods, s.EachHas))
			if s.Template["spec"] == nil {
				t.Errorf("%s: the template of role %q has no spec", tc.name, s.Role)
			}
		}
		if fmt.Sprint(got) != tc.want || err != nil {
			t.Errorf("%s: got %v, %v; want %s", tc.name, got, err, tc.want)
		}
	}
}

func TestPodsThatDoNotStartTogetherAreRefusedWithTheField(t *testing.T) {
	job := func(more string) string {
		return `{"apiVersion":"batch/v1","kind":"Job","spec":{` + more + template + `}}`
	}
	set := func(more string) string {
		return `{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","spec":{` + more + `}}`
	}
	lws := func(meta, more string) string {
		return `{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","metadata":{"annotations":{` + meta + `}},"spec":{` + more + `}}`
	}
	for _, tc := range []struct{ text, want string }{
		{job(`"parallelism":4,"completions":4,`), "completionMode <nil>"},
		{job(`"parallelism":4,"completions":8,"completionMode":"Indexed",`), "8 completions, 4 pods at once"},
		{job(`"parallelism":-1,`), "spec.parallelism is -1"},
		{job(`"parallelism":"many",`), "spec.parallelism is many"},
		{job(`"parallelism":1.5,`), "spec.parallelism is 1.5"},
		{job(`"parallelism":1e300,`), "spec.parallelism is 1e+300"},
		{`{"apiVersion":"batch/v1","kind":"Job","spec":{"completionMode":"Indexed"}}`, "spec.template is missing"},
		{`{"apiVersion":"batch/v1","kind":"Job","spec":{"completionMode":"Indexed","template":{}}}`, "spec.template.spec is missing"},
		{`{"apiVersion":"batch/v1","kind":"Job","spec":7}`, "completionMode <nil>"},
		{set(`"startupPolicy":{"startupPolicyOrder":"InOrder"}`), "startupPolicyOrder is InOrder"},
		{set(`"replicatedJobs":[{"dependsOn":[{}]}]`), "spec.replicatedJobs[0].dependsOn"},
		{set(`"replicatedJobs":[{"template":{"metadata":{"annotations":{"alpha.jobset.sigs.k8s.io/exclusive-topology":"rack"}}}}]`), "exclusive-topology of spec.replicatedJobs[0] is rack"},
		{`{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"annotations":{"alpha.jobset.sigs.k8s.io/exclusive-topology":"rack"}}}`, "exclusive-topology of the JobSet is rack"},
		{set(`"replicatedJobs":[{"replicas":0}]`), "spec.replicatedJobs[0].replicas is 0"},
		{set(`"replicatedJobs":[7]`), "spec.replicatedJobs[0].template.spec has 1 completions"},
		{set(``), "spec.replicatedJobs is empty"},
		{`{"apiVersion":"kubeflow.org/v2beta1","kind":"MPIJob","spec":{"launcherCreationPolicy":"WaitForWorkersReady"}}`, "spec.launcherCreationPolicy is WaitForWorkersReady"},
		{`{"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob"}`, "spec.pytorchReplicaSpecs is empty"},
		{`{"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob","spec":{"pytorchReplicaSpecs":{"Worker":{"replicas":2}}}}`, "spec.pytorchReplicaSpecs.Worker.template is missing"},
		{`{"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob","spec":{"pytorchReplicaSpecs":{"Worker":{"replicas":0}}}}`, "spec.pytorchReplicaSpecs.Worker.replicas is 0"},
		{lws("", `"startupPolicy":"LeaderReady"`), "spec.startupPolicy is LeaderReady"},
		{lws(`"leaderworkerset.sigs.k8s.io/exclusive-topology":"rack"`, ""), "exclusive-topology is rack"},
		{lws("", `"replicas":0,"rolloutStrategy":{"rollingUpdateConfiguration":{"maxSurge":1}}`), "maxSurge is 1"},
		{lws(`"gridbid.io/replicas":"all"`, ""), `annotation gridbid.io/replicas is "all"`},
		{lws("", `"leaderWorkerTemplate":{"size":0}`), "spec.leaderWorkerTemplate.size is 0"},
		{lws("", `"leaderWorkerTemplate":{}`), "spec.leaderWorkerTemplate.workerTemplate is missing"},
	} {
		o, k := decoded(t, tc.text)
		if all, err := k.PodSetsOf(o); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, %v; want an error with %q", tc.text, all, err, tc.want)
		}
	}
}

func TestASuspendedObjectIsReleasedAndSuspendedAgain(t *testing.T) {
	for _, text := range []string{
		`{"apiVersion":"batch/v1","kind":"Job","spec":{"suspend":true}}`,
		`{"apiVersion":"kubeflow.org/v2beta1","kind":"MPIJob","spec":{"runPolicy":{"suspend":true}}}`,
		`{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","metadata":{"annotations":{"gridbid.io/replicas":"3"}},"spec":{"replicas":0}}`,
	} {
		o, k := decoded(t, text)
		before := fmt.Sprint(o)
		if !k.IsSuspended(o) {
			t.Errorf("%s is not suspended", text)
		}
		if err := k.SetSuspended(o, false); err != nil || k.IsSuspended(o) {
			t.Errorf("%s was not released: %v, %v", text, o, err)
		}
		if err := k.SetSuspended(o, true); err != nil || fmt.Sprint(o) != before {
			t.Errorf("%s was released and suspended: %v, %v", text, o, err)
		}
	}
	o, k := decoded(t, `{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","metadata":{"annotations":{"gridbid.io/replicas":"3"}},"spec":{"replicas":0}}`)
	if err := k.SetSuspended(o, false); err != nil || mapAt(o, "spec")["replicas"] != int64(3) {
		t.Errorf("released: %v, %v; want three replicas", o, err)
	}
}

func TestAnObjectHasEndedByItsKindsOwnConditions(t *testing.T) {
	for _, tc := range []struct {
		kind  Kind
		words string
		want  bool
	}{
		{Job, "Complete", true}, {JobSet, "Completed", true}, {PyTorchJob, "Succeeded", true}, {MPIJob, "Failed", true},
		{JobSet, "Complete", false}, {PyTorchJob, "Running", false}, {LeaderWorkerSet, "Failed", false}, {LeaderWorkerSet, "", false},
	} {
		o := func(status string) map[string]any {
			return map[string]any{"status": map[string]any{"conditions": []any{7, map[string]any{"type": tc.words, "status": status}}}}
		}
		if got := tc.kind.HasEnded(o("True")); got != tc.want || tc.kind.HasEnded(o("False")) || tc.kind.HasEnded(nil) {
			t.Errorf("a %s that is %s has ended: %v; want %v", tc.kind.Kind, tc.words, got, tc.want)
		}
	}
}

// numbered is a pod with labels and annotations as "key=value".
func numbered(labels, notes string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}, Annotations: map[string]string{}}}
	for list, m := range map[string]map[string]string{labels: p.Labels, notes: p.Annotations} {
		for _, x := range strings.Fields(list) {
			k, v, _ := strings.Cut(x, "=")
			m[k] = v
		}
	}
	return p
}

func TestAPodShowsWhichOfItsPodSetItIs(t *testing.T) {
	const completion, each, lws, size = "batch.kubernetes.io/job-completion-index=", kube.AnnotationPodsOfJob + "=", "leaderworkerset.sigs.k8s.io/", "leaderworkerset.sigs.k8s.io/size="
	group := func(g, w int) string {
		return fmt.Sprintf("%sname=x %sgroup-index=%d %sworker-index=%d", lws, lws, g, lws, w)
	}
	mpi := labelOperator + "=mpi-operator " + labelJobRole + "="
	for _, tc := range []struct {
		labels, notes, host string
		want                int
		ok                  bool
	}{
		{"", completion + "3", "", 3, true},
		{"", completion + "-1", "", 0, false},
		{"", "", "", 0, false},
		{labelJobIndex + "=2", completion + "1 " + each + "3", "", 7, true},
		{labelJobIndex + "=2", completion + "3 " + each + "3", "", 0, false},
		{labelJobIndex + "=2", completion + "1", "", 0, false},
		{labelReplicaIndex + "=5 " + labelOperator + "=pytorchjob-controller", "", "", 5, true},
		{mpi + "launcher", "", "train-launcher", 0, true},
		{mpi + "launcher " + labelReplicaIndex + "=0", "", "train-launcher", 0, true},
		{mpi + "worker " + labelReplicaIndex + "=3", "", "train-worker-2", 2, true},
		{mpi + "worker", "", "", 0, false},
		// Two groups of four, with a template for leaders and without.
		{group(1, 0), each + "1 " + size + "4", "", 1, true},
		{group(1, 1), each + "3 " + size + "4", "", 3, true},
		{group(1, 3), each + "3 " + size + "4", "", 5, true},
		{group(1, 0), each + "4 " + size + "4", "", 4, true},
		{group(1, 3), each + "4 " + size + "4", "", 7, true},
		{group(0, 1), each + "1 " + size + "2", "", 0, true},
		{group(0, 4), each + "3 " + size + "4", "", 0, false},
		{group(0, 1), size + "4", "", 0, false},
		{lws + "name=x", each + "3 " + size + "4", "", 0, false},
	} {
		p := numbered(tc.labels, tc.notes)
		p.Spec.Hostname = tc.host
		if got, ok := IndexOf(p); got != tc.want || ok != tc.ok {
			t.Errorf("a pod with %s, %s and hostname %q is number %d, %v; want %d, %v", tc.labels, tc.notes, tc.host, got, ok, tc.want, tc.ok)
		}
	}
}

// Objects come from tasks of others.
func FuzzPodSetsOf(f *testing.F) {
	for _, kind := range []string{`"batch/v1","kind":"Job"`, `"jobset.x-k8s.io/v1alpha2","kind":"JobSet"`, `"kubeflow.org/v1","kind":"PyTorchJob"`, `"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet"`} {
		f.Add(`{"apiVersion":` + kind + `,"spec":{"replicas":2,"parallelism":null,"replicatedJobs":[{"template":[]}],"pytorchReplicaSpecs":{"Worker":7},"leaderWorkerTemplate":{"size":1e9,"leaderTemplate":{}}}}`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u := &unstructured.Unstructured{}
		if json.Unmarshal([]byte(text), &u.Object) != nil || u.Object == nil {
			return
		}
		k := KindOf(u.GroupVersionKind())
		if k == nil {
			return
		}
		all, err := k.PodSetsOf(u.Object)
		for _, s := range all {
			if err == nil && (s.Pods < 1 || s.EachHas < 1 || s.Template == nil) {
				t.Fatalf("%s: %+v", text, s)
			}
		}
		_ = k.IsSuspended(u.Object)
		_ = k.SetSuspended(u.Object, false)
	})
}
