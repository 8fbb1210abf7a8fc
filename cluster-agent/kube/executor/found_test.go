package executor

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// found returns an executor that restarts an hour after an object of its own was created, with pods of
// it on node n1.
func found(t *testing.T, now *protocol.Time, u *unstructured.Unstructured, l protocol.Launch, pods ...*corev1.Pod) (*KubeExecutor, *run) {
	t.Helper()
	h := served(t, now, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"r"}}`)
	})
	note, err := kube.PackLaunch("oslo", l)
	if err != nil {
		t.Fatal(err)
	}
	notes := u.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	notes[kube.AnnotationLaunch] = note
	name := kube.RunName(l.Job.ID, l.Epoch)
	u.SetAnnotations(notes)
	u.SetLabels(map[string]string{kube.LabelSite: "oslo", kube.LabelRun: name})
	u.SetCreationTimestamp(metav1.NewTime(noon.StdTime()))
	if err := h.informerStores["jobs"][0].Add(u); err != nil {
		t.Fatal(err)
	}
	if err := h.inv.NodeCache.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); err != nil {
		t.Fatal(err)
	}
	for _, p := range pods {
		if err := h.inv.PodCache.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	held, err := h.adoptRunningObjects(t.Context())
	if err != nil || len(held) != 1 || held[0].Since != noon {
		t.Fatalf("found %+v, %v", held, err)
	}
	return h, h.runs[name]
}

// What Kueue brought runs on when the agent restarts, however long it has run.
func TestAdoptedKueueJobContinues(t *testing.T) {
	now := noon.Add(time.Hour)
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "mine", "namespace": "default"},
		"status": map[string]any{"startTime": noon.StdTime().Format(time.RFC3339)}}}
	u.SetAnnotations(map[string]string{kube.AnnotationKueueWorkload: "job-mine"})
	p := holder("main", "", 0)
	p.Labels, p.Status.Phase = map[string]string{batchv1.JobNameLabel: "mine"}, corev1.PodRunning
	h, r := found(t, &now, u, launchOf("", 0), p)
	if _, err := h.reconcileRun(t.Context(), r.name); err != nil || r.terminating.Load() != nil || r.startedAt != noon || !r.startReported.Load() {
		t.Errorf("%v; it leaves because %+v, runs since %v", err, r.terminating.Load(), r.startedAt)
	}
}

// A controller has deleted the pods of an attempt that failed, and its next ones have yet
// to begin, when the agent restarts.
func TestAdoptedRunBetweenAttemptsMayRestart(t *testing.T) {
	now := noon.Add(time.Hour)
	l := launchOf(`{"apiVersion":"batch/v1","kind":"Job","spec":{"template":`+pod(2)+`}}`, 2)
	u, _, err := bare(Config{}, &now).buildRunObject(l)
	if err != nil {
		t.Fatal(err)
	}
	p := holder("next", u.GetName(), 2)
	p.Status.Phase = corev1.PodPending
	h, r := found(t, &now, u, l, p)
	if again, err := h.reconcileRun(t.Context(), r.name); err != nil || r.terminating.Load() != nil || again != h.cfg.StartTimeout {
		t.Errorf("%v; it leaves because %+v, or is looked at in %v", err, r.terminating.Load(), again)
	}
	now = now.Add(h.cfg.StartTimeout)
	if _, err := h.reconcileRun(t.Context(), r.name); err != nil || r.terminating.Load() == nil || r.terminating.Load().Code != protocol.NotStarted {
		t.Errorf("%v; it leaves because %+v", err, r.terminating.Load())
	}
}

// The webhook of a kind is down: that may go away by itself, but another site can run the
// job meanwhile.
func TestFailedCreateEndsRunAtStartTimeout(t *testing.T) {
	now, deleted := noon, 0
	h := served(t, &now, func(w http.ResponseWriter, r *http.Request) {
		if deletes(w, r, &deleted) {
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","message":"failed calling webhook","code":500}`)
	})
	h.startRun(protocol.Launch{Job: protocol.Job{ID: "train", CPU: 1000, Memory: 1024}, Epoch: 1, Node: "n1",
		Task: `{"apiVersion":"batch/v1","kind":"Job","spec":{"template":{"spec":{"containers":[{"name":"main"}]}}}}`})
	name := kube.RunName("train", 1)
	for range 3 {
		if _, err := h.reconcileRun(t.Context(), name); err == nil || len(h.endedRuns) > 0 {
			t.Fatalf("at first it is retried: %v, reported %v", err, h.endedRuns)
		}
		now = now.Add(h.cfg.StartTimeout / 2)
	}
	if _, err := h.reconcileRun(t.Context(), name); err != nil || deleted != 1 || h.runs[name] != nil || len(h.endedRuns) != 1 {
		t.Fatalf("%v; deleted %d times, reported %v", err, deleted, h.endedRuns)
	}
	if x, ok := h.endedRuns[0].outcome.(protocol.Interrupted); !ok || x.Why.Code != protocol.NotStarted || !strings.Contains(x.Why.Note, "webhook") {
		t.Errorf("reported %+v", h.endedRuns[0].outcome)
	}
}

// A job ran for half an hour while the agent was down for two days, and its controller
// took its pods away.
func TestJobEndedDuringDowntimeIsBilledToItsEnd(t *testing.T) {
	now := noon.Add(48 * time.Hour)
	l := launchOf(`{"apiVersion":"batch/v1","kind":"Job","spec":{"template":`+pod(2)+`}}`, 2)
	l.Power = 1000
	u, _, err := bare(Config{}, &now).buildRunObject(l)
	if err != nil {
		t.Fatal(err)
	}
	u.Object["status"] = says("Failed", "DeadlineExceeded")
	u.Object["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)["lastTransitionTime"] = "2026-01-02T12:30:00Z"
	h, r := found(t, &now, u, l)
	if _, err := h.reconcileRun(t.Context(), r.name); err != nil || len(h.endedRuns) != 1 {
		t.Fatalf("%v; reported %v", err, h.endedRuns)
	}
	x, _ := h.endedRuns[0].outcome.(protocol.Finished)
	if len(x.Draw) != 1 || x.Draw[0].Energy != 1_800_000 || x.Ended != noon.Add(30*time.Minute) {
		t.Errorf("reported %+v", x)
	}
}

func TestEndTimeOfEachKind(t *testing.T) {
	const at = "2026-01-02T12:30:00Z"
	for name, status := range map[string]map[string]any{
		"Job": {"completionTime": at}, "RayJob": {"jobStatus": "SUCCEEDED", "endTime": at}, "SparkApplication": {"terminationTime": at},
		"Workflow": {"finishedAt": at, "startedAt": "2026-01-02T11:00:00Z"},
		"JobSet": {"conditions": []any{
			map[string]any{"type": "Suspended", "status": "True", "lastTransitionTime": "2026-01-03T00:00:00Z"},
			map[string]any{"type": "Completed", "status": "True", "lastTransitionTime": at},
		}},
	} {
		k := jobKinds[slices.IndexFunc(jobKinds, func(k jobKind) bool { return k.Kind == name })]
		if got := k.objectEndTime(&unstructured.Unstructured{Object: map[string]any{"status": status}}); got != noon.Add(30*time.Minute) {
			t.Errorf("a %s ended at %v", name, got)
		}
		if got := k.objectEndTime(&unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"endTime": nil}}}); got != 0 {
			t.Errorf("a %s that does not tell ended at %v", name, got)
		}
	}
}

// An older agent named objects as it named runs, with a digit first where the id has one.
func TestObjectOfOlderVersionIsFound(t *testing.T) {
	now := noon.Add(time.Hour)
	l := protocol.Launch{Job: protocol.Job{ID: "7-nights"}, Epoch: 1, Node: "n1"}
	name := kube.RunName(l.Job.ID, l.Epoch)
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name, "namespace": "default"}}}
	h, r := found(t, &now, u, l)
	if h.objectOfRun(r) == nil || r.objectName() != name {
		t.Errorf("it is looked for as %q; it is %q", r.objectName(), name)
	}
}
