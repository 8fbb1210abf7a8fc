package queue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/protocol"
)

// workloadOf is a Deployment or a StatefulSet that a user marked as a service, with a line of AnnotationService.
func workloadOf(t *testing.T, k *podsets.Kind, divided string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":%q,"metadata":{"name":"chat","namespace":"vision","uid":"9f86","resourceVersion":"1","labels":{"gridbid.io/queue":"night"},"annotations":{"gridbid.io/service":%q}},
		"spec":{"replicas":12,"selector":{"matchLabels":{"app":"chat"}},"template":{"metadata":{"labels":{"app":"chat"}},
		"spec":{"schedulingGates":[{"name":"gridbid.io/service"}],"containers":[{"name":"main","image":"registry.example.com/chat:7","resources":{"requests":{"cpu":"4","memory":"16Gi"},"limits":{"nvidia.com/gpu":"1"}}}]}}}}`, k.Kind, divided)
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return u
}

// Another number of replicas, and what we write on an object, is no other replica: what runs stays.
func TestAWorkloadIsReadAsAService(t *testing.T) {
	for _, k := range workloadKinds {
		u := workloadOf(t, k, "tiers: [[oslo, lyon], [cloud]]\nshare: 0.5\nmax: 20")
		s, faults := pluginSite.parseService(k, u)
		if want := protocol.ServiceID("oslo.vision." + strings.ToLower(k.Kind) + ".chat"); len(faults) > 0 || s.ID != want || s.Tenant != "oslo/vision" || s.Wanted != 12 || s.Max != 20 ||
			s.GPUs != 1 || s.Share != 500 || s.CPU != 4000 || s.Memory != 16<<10 || len(s.Division.Tiers) != 2 {
			t.Fatalf("%s is read as %+v; %q", k.Kind, s, faults)
		}
		u.SetAnnotations(withEntry(u.GetAnnotations(), AnnotationState, "Running: 12 of 12 run"))
		u.SetResourceVersion("2")
		if err := unstructured.SetNestedField(u.Object, int64(18), "spec", "replicas"); err != nil {
			t.Fatal(err)
		}
		scaled, _ := pluginSite.parseService(k, u)
		if !scaled.SameReplica(&s) || scaled.Wanted != 18 {
			t.Errorf("%s: scaled it is %+v", k.Kind, scaled)
		}
		if m := (protocol.Message{From: protocol.QueueParty("oslo"), To: protocol.Coordinator, Body: protocol.SubmitService{Service: s}}); !m.IsPlausible() {
			t.Errorf("%s: the coordinator would not hear of it from its site", k.Kind)
		}
	}
}

func TestFaultsOfAWorkloadAreReported(t *testing.T) {
	k := workloadKinds[0]
	for divided, want := range map[string]string{
		"division: cheap":  "annotation gridbid.io/service:1: division: is cheap",
		"max: 3":           "replicas: outside of min and max",
		"\nreplicas: 3":    "replicas: appears twice",
		"tenant: research": "tenant: appears twice",
		"colour: red":      "colour",
	} {
		if _, faults := pluginSite.parseService(k, workloadOf(t, k, divided)); !strings.Contains(strings.Join(faults, "; "), want) {
			t.Errorf("%q: %q; want %q", divided, faults, want)
		}
	}
	u := workloadOf(t, k, "")
	unstructured.RemoveNestedField(u.Object, "spec", "template", "spec", "schedulingGates")
	if _, faults := pluginSite.parseService(k, u); len(faults) != 1 || !strings.Contains(faults[0], "add - name: gridbid.io/service") {
		t.Errorf("without a gate: %q", faults)
	}
}

// An object is submitted, asked about until its replicas run, submitted anew when it is scaled, and kept by
// its finalizer until the market has it deleted. Its spec is never written.
func TestAWorkloadIsSubmittedAndWithdrawn(t *testing.T) {
	k := workloadKinds[0]
	q, s := setShelf(t, workloadOf(t, k, ""))
	at := noon
	q.cfg.Now = func() protocol.Time { return at }
	key, id := serviceKeyPrefix+"deployments/vision/chat", protocol.ServiceID("oslo.vision.deployment.chat")
	look := func() (u *unstructured.Unstructured, again time.Duration) {
		t.Helper()
		for range 3 {
			u = s.object()
			var err error
			if again, err = q.reconcileService(t.Context(), key, k, u.DeepCopy()); err != nil {
				t.Fatal(err)
			}
		}
		return s.object(), again
	}
	answer := func(b protocol.ServiceStatus) {
		b.Service = id
		q.handleMessage(protocol.Message{From: protocol.Coordinator, To: protocol.QueueParty("oslo"), Body: b})
	}
	if u, again := look(); len(u.GetFinalizers()) != 1 || !strings.HasPrefix(u.GetAnnotations()[AnnotationState], "Asking: ") || again != time.Minute/6 {
		t.Fatalf("it was not taken in: %v, again in %v", u.Object["metadata"], again)
	}
	answer(protocol.ServiceStatus{Wanted: 12, Decided: true, Pending: 2, Sites: []protocol.SiteOfReplicas{{Site: "lyon", Count: 6, Ready: 4}, {Site: "oslo", Count: 4, Ready: 4}}, Why: protocol.Reason{Code: protocol.TooFewReplicas}})
	if u, _ := look(); u.GetAnnotations()[AnnotationState] != "Pending: 8 of 12 run: lyon 4 of 6, oslo 4; 2 wait: too few fit" {
		t.Errorf("its state is %q", u.GetAnnotations()[AnnotationState])
	}
	at = at.Add(time.Minute)
	answer(protocol.ServiceStatus{Wanted: 12, Decided: true, Sites: []protocol.SiteOfReplicas{{Site: "lyon", Count: 8, Ready: 8}, {Site: "oslo", Count: 4, Ready: 4}}})
	if u, again := look(); u.GetAnnotations()[AnnotationState] != "Running: 12 of 12 run: lyon 8, oslo 4" || again != time.Minute {
		t.Errorf("its state is %q, again in %v", u.GetAnnotations()[AnnotationState], again)
	}
	s.job["spec"].(map[string]any)["replicas"] = 3
	look()
	if b, ok := q.services[id].asked.(protocol.SubmitService); !ok || b.Service.Wanted != 3 || q.services[id].lastQueried != at {
		t.Errorf("scaled, the market was asked %+v", q.services[id])
	}
	answer(protocol.ServiceStatus{Wanted: 12, Decided: true}) // to what was asked before
	if u, _ := look(); !strings.HasPrefix(u.GetAnnotations()[AnnotationState], "Running: 12 of 12") {
		t.Errorf("an old answer changed its state to %q", u.GetAnnotations()[AnnotationState])
	}
	if s.job["spec"].(map[string]any)["replicas"] != 3 {
		t.Error("its spec was written")
	}
	delete(s.job["metadata"].(map[string]any)["labels"].(map[string]any), kube.LabelQueue)
	if u, _ := look(); len(u.GetFinalizers()) != 1 {
		t.Error("it was let go before the market had deleted it")
	}
	answer(protocol.ServiceStatus{Deleted: true})
	if u, _ := look(); len(u.GetFinalizers()) != 0 || len(q.services) != 0 {
		t.Errorf("deleted at the market, it is kept: %v", u.Object["metadata"])
	}
}

// groupsOf is a LeaderWorkerSet that a user marked as a service: a leader without GPUs and three workers of two.
func groupsOf(t *testing.T, notes string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	pod := func(limits string) string {
		return `{"spec":{"schedulingGates":[{"name":"gridbid.io/service"}],"containers":[{"name":"main","image":"registry.example.com/llama:1","resources":{"requests":{"cpu":"4","memory":"16Gi"},"limits":` + limits + `}}]}}`
	}
	text := fmt.Sprintf(`{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","metadata":{"name":"llama","namespace":"vision","uid":"9f86","resourceVersion":"1","labels":{"gridbid.io/queue":"night"},"annotations":{%s}},
		"spec":{"replicas":5,"leaderWorkerTemplate":{"size":4,"leaderTemplate":%s,"workerTemplate":%s}}}`, notes, pod(`{}`), pod(`{"nvidia.com/gpu":"2"}`))
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return u
}

// A group of pods is a replica: it asks for what all of them do, and another number of groups is no other replica.
func TestALeaderWorkerSetIsReadAsAServiceOfGroups(t *testing.T) {
	k := &podsets.LeaderWorkerSet
	u := groupsOf(t, `"gridbid.io/service":"division: dynamic"`)
	s, faults := pluginSite.parseService(k, u)
	if len(faults) > 0 || !isService(k, u) || s.ID != "oslo.vision.leaderworkerset.llama" || s.Wanted != 5 || s.GPUs != 6 || s.CPU != 16_000 || s.Memory != 64<<10 || s.Division.Rule != protocol.DivideByCapacity {
		t.Fatalf("it is read as %+v; %q", s, faults)
	}
	if err := unstructured.SetNestedField(u.Object, int64(0), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	if none, faults := pluginSite.parseService(k, u); len(faults) > 0 || !none.SameReplica(&s) || none.Wanted != 0 {
		t.Errorf("scaled to none it is %+v; %q", none, faults)
	}
	unstructured.RemoveNestedField(u.Object, "spec", "leaderWorkerTemplate", "workerTemplate", "spec", "schedulingGates")
	if _, faults := pluginSite.parseService(k, u); len(faults) != 1 || !strings.HasPrefix(faults[0], "spec.leaderWorkerTemplate.workerTemplate.spec.schedulingGates") {
		t.Errorf("workers without a gate: %q", faults)
	}
	u = groupsOf(t, "")
	if err := unstructured.SetNestedField(u.Object, "LeaderReady", "spec", "startupPolicy"); err != nil {
		t.Fatal(err)
	}
	if _, faults := pluginSite.parseService(k, u); len(faults) != 1 || !strings.Contains(faults[0], "spec.startupPolicy") {
		t.Errorf("workers that come when the leader runs: %q", faults)
	}
}

// The gate, the annotation or that it was submitted as one says that a LeaderWorkerSet is a service; any other
// waits as a set.
func TestALeaderWorkerSetIsAServiceByItsGate(t *testing.T) {
	k := &podsets.LeaderWorkerSet
	ungated := func(notes string, finalizers ...string) *unstructured.Unstructured {
		u := groupsOf(t, notes)
		for _, role := range []string{"leaderTemplate", "workerTemplate"} {
			unstructured.RemoveNestedField(u.Object, "spec", "leaderWorkerTemplate", role, "spec", "schedulingGates")
		}
		u.SetFinalizers(finalizers)
		return u
	}
	for what, c := range map[string]struct {
		kind *podsets.Kind
		u    *unstructured.Unstructured
		want bool
	}{
		"with gates":                  {k, groupsOf(t, ""), true},
		"with an annotation":          {k, ungated(`"gridbid.io/service":""`), true},
		"submitted as a service":      {k, ungated("", kube.FinalizerQueue), true},
		"plain":                       {k, ungated(""), false},
		"submitted as a set":          {k, ungated(fmt.Sprintf("%q:%q", AnnotationSubmittedAt, "2026-01-05T00:00:00Z 9f86"), kube.FinalizerQueue), false},
		"another kind of set, queued": {&podsets.JobSet, ungated("", kube.FinalizerQueue), false},
	} {
		if got := isService(c.kind, c.u); got != c.want {
			t.Errorf("%s: a service is %v; want %v", what, got, c.want)
		}
	}
}
