package executor

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// served returns an executor whose API server is the function answer; its caches have no pods and nodes.
func served(t *testing.T, now *protocol.Time, answer http.HandlerFunc) *KubeExecutor {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	at := &rest.Config{Host: server.URL, QPS: -1}
	h := bare(Config{Client: kubernetes.NewForConfigOrDie(at), Dynamic: dynamic.NewForConfigOrDie(at)}, now)
	h.inv.PodCache = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{indexByRun: func(o any) ([]string, error) { return runKeysOfPod(o.(*corev1.Pod)), nil }})
	h.informerStores = map[string][]cache.Indexer{"jobs": {cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})}}
	var err error
	if h.conn, err = new(membus.Bus).Connect(t.Context(), protocol.ExecutorParty("oslo")); err != nil {
		t.Fatal(err)
	}
	return h
}

// busy answers as a server does that cannot answer now.
func busy(w http.ResponseWriter) {
	w.WriteHeader(http.StatusGatewayTimeout)
	_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Timeout","code":504}`)
}

// deletes answers a request to delete, and counts it.
func deletes(w http.ResponseWriter, r *http.Request, count *int) bool {
	if r.Method != http.MethodDelete {
		return false
	}
	*count++
	_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	return true
}

func TestOutcomeIsReportedOnceWhenLabelFails(t *testing.T) {
	now, asked := noon.Add(30*time.Minute), 0
	h := served(t, &now, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked < 4 {
			busy(w)
			return
		}
		_, _ = io.WriteString(w, `{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"r"}}`)
	})
	r := &run{name: "r", namespace: "default", kind: &jobKinds[0], createdAt: noon, startedAt: noon, launch: protocol.Launch{Power: 1000}}
	h.runs["r"] = r
	for range 10 {
		if err := h.reportFinished(t.Context(), r, &unstructured.Unstructured{}, nil, ""); err == nil {
			break
		}
	}
	if h.runs["r"] != nil || len(h.endedRuns) != 1 {
		t.Errorf("it is %+v; its outcome was reported %d times", h.runs["r"], len(h.endedRuns))
	}
	now = noon.Add(time.Hour + idleReportDelay)
	if x := h.idleReadingForHour(t.Context(), noon); x.Total != 1_800_000 || x.Idle != 0 {
		t.Errorf("the hour is %+v; half an hour at a watt is 1800000 mJ", x)
	}
}

// A server that takes in a Job and goes away before it has answered.
func TestCancelBeforeCreateAnswerDeletesObject(t *testing.T) {
	now, deleted := noon, 0
	h := served(t, &now, func(w http.ResponseWriter, r *http.Request) {
		if deletes(w, r, &deleted) {
			return
		}
		busy(w)
	})
	h.startRun(protocol.Launch{Job: protocol.Job{ID: "train", CPU: 1000, Memory: 1024}, Epoch: 1, Node: "n1",
		Task: `{"apiVersion":"batch/v1","kind":"Job","spec":{"template":{"spec":{"containers":[{"name":"main"}]}}}}`})
	name := kube.RunName("train", 1)
	if _, err := h.reconcileRun(t.Context(), name); err == nil {
		t.Fatal("a server that does not answer is waited for")
	}
	h.cancelRun(protocol.Cancel{Job: "train", Epoch: 1})
	if _, err := h.reconcileRun(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if deleted != 1 || h.runs[name] != nil || len(h.endedRuns) != 1 {
		t.Errorf("deleted %d times, reported %v; it is %+v", deleted, h.endedRuns, h.runs[name])
	}
	h.startRun(protocol.Launch{Job: protocol.Job{ID: "never"}, Epoch: 1})
	h.cancelRun(protocol.Cancel{Job: "never", Epoch: 1}) // before anything was asked for
	if _, err := h.reconcileRun(t.Context(), kube.RunName("never", 1)); err != nil || deleted != 1 || len(h.endedRuns) != 2 {
		t.Errorf("%v; deleted %d times, reported %v", err, deleted, h.endedRuns)
	}
}

// The race detector reads along.
func TestMessagesDuringReconcileAreSafe(t *testing.T) {
	now := noon
	h := served(t, &now, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"r"}}`)
	})
	l := protocol.Launch{Job: protocol.Job{ID: "train", CPU: 1000, Memory: 1024}, Epoch: 1, Node: "n1",
		Task: `{"apiVersion":"batch/v1","kind":"Job","spec":{"template":{"spec":{"containers":[{"name":"main"}]}}}}`}
	name := kube.RunName("train", 1)
	p := holder("main", name, 0)
	p.Status.Phase = corev1.PodRunning
	if err := h.inv.PodCache.Add(p); err != nil {
		t.Fatal(err)
	}
	if err := h.inv.NodeCache.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); err != nil {
		t.Fatal(err)
	}
	h.startRun(l)
	var others sync.WaitGroup
	others.Go(func() {
		for range 100 {
			h.onWarningEvent(&corev1.Event{Message: "denied", InvolvedObject: corev1.ObjectReference{Name: name, Namespace: "default"}})
			h.startRun(l)
			h.cancelRun(protocol.Cancel{Job: "train", Epoch: 1, Checkpoint: true})
		}
		h.cancelRun(protocol.Cancel{Job: "train", Epoch: 1})
	})
	attend := func() {
		if _, err := h.reconcileRun(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	for range 100 {
		attend()
	}
	others.Wait()
	if err := h.inv.PodCache.Delete(p); err != nil {
		t.Fatal(err)
	}
	attend()
	if h.runs[name] != nil || len(h.endedRuns) != 1 {
		t.Errorf("it is %+v; its outcome was reported %d times", h.runs[name], len(h.endedRuns))
	}
}

func TestEndedRunsAreForgotten(t *testing.T) {
	now := noon
	h := served(t, &now, func(w http.ResponseWriter, _ *http.Request) { busy(w) })
	for i := range 200 {
		now = now.Add(time.Hour)
		h.cancelRun(protocol.Cancel{Job: protocol.JobID(fmt.Sprint("job-", i)), Epoch: 1})
	}
	if most := int(endedRunTTL/time.Hour) + 1; len(h.endedRuns) > most || len(h.epochs) > most || h.epochs["job-199"] != 1 {
		t.Errorf("%d ends and %d jobs are remembered; want at most %d", len(h.endedRuns), len(h.epochs), most)
	}
}

func TestFinishedObjectsAreGarbageCollected(t *testing.T) {
	now := noon
	var deleted []string
	h := served(t, &now, func(w http.ResponseWriter, r *http.Request) {
		deleted = append(deleted, r.Method+" "+r.URL.Path)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	})
	h.informerStores["rayjobs"] = []cache.Indexer{cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})}
	for name, labels := range map[string]map[string]any{"ended": {kube.LabelOutcomeReported: "true"}, "running": {}} {
		for plural, store := range h.informerStores { // Jobs are the cluster's own to delete
			u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name, "namespace": "default", "uid": plural + name, "labels": labels}}}
			if err := store[0].Add(u); err != nil {
				t.Fatal(err)
			}
		}
	}
	reportedSince := map[types.UID]protocol.Time{}
	for range 4 {
		h.garbageCollect(t.Context(), reportedSince)
		now = now.Add(20 * time.Minute)
	}
	if want := "[DELETE /apis/ray.io/v1/namespaces/default/rayjobs/ended]"; fmt.Sprint(deleted) != want {
		t.Errorf("deleted %v; want %v", deleted, want)
	}
	if err := h.informerStores["rayjobs"][0].Replace(nil, ""); err != nil {
		t.Fatal(err)
	}
	if h.garbageCollect(t.Context(), reportedSince); len(reportedSince) > 0 {
		t.Errorf("still remembered: %v", reportedSince)
	}
}

// The executor lacks the rights that a run needs.
func TestPersistentErrorEndsRunAtStartTimeout(t *testing.T) {
	for name, end := range map[string]func(h *KubeExecutor, now *protocol.Time){
		"when it should have begun": func(_ *KubeExecutor, now *protocol.Time) { *now = now.Add(10 * time.Minute) },
		"when it is cancelled":      func(h *KubeExecutor, _ *protocol.Time) { h.cancelRun(protocol.Cancel{Job: "train", Epoch: 1}) },
	} {
		now, deleted := noon, 0
		h := served(t, &now, func(w http.ResponseWriter, r *http.Request) {
			if deletes(w, r, &deleted) {
				return
			}
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"cannot create resourceclaimtemplates","code":403}`)
		})
		h.cfg.Sharing, h.inv.Sharing = kube.SharingDRA, kube.SharingDRA
		l := launchOf(`{"apiVersion":"batch/v1","kind":"Job","spec":{"template":`+pod(2)+`}}`, 2)
		l.Epoch = 1
		u, k, err := h.buildRunObject(l)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.informerStores["jobs"][0].Add(u); err != nil {
			t.Fatal(err)
		}
		if err := h.inv.NodeCache.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); err != nil {
			t.Fatal(err)
		}
		run := &run{name: u.GetName(), namespace: "default", kind: k, launch: l, createdAt: noon}
		h.runs[run.name] = run
		if _, err := h.reconcileRun(t.Context(), run.name); err == nil {
			t.Errorf("%s: at first it is tried again", name)
		}
		end(h, &now)
		if _, err := h.reconcileRun(t.Context(), run.name); err != nil || deleted != 1 {
			t.Errorf("%s: %v; deleted %d times", name, err, deleted)
		}
		if err := h.informerStores["jobs"][0].Delete(u); err != nil {
			t.Fatal(err)
		}
		if _, err := h.reconcileRun(t.Context(), run.name); err != nil || h.runs[run.name] != nil || len(h.endedRuns) != 1 {
			t.Errorf("%s: %v; its end is %v", name, err, h.endedRuns)
		}
		if x, ok := h.endedRuns[0].outcome.(protocol.Interrupted); ok && (x.Why.Code != protocol.NotStarted || !strings.Contains(x.Why.Note, "cannot create resourceclaimtemplates")) {
			t.Errorf("%s: lost because %+v", name, x.Why)
		}
	}
}

// A run that was found again runs on, whatever goes wrong at first.
func TestStartedRunIsNotOverdueByError(t *testing.T) {
	now := noon.Add(time.Hour)
	h := served(t, &now, func(w http.ResponseWriter, _ *http.Request) { busy(w) })
	h.cfg.Sharing, h.inv.Sharing = kube.SharingDRA, kube.SharingDRA
	l := launchOf(`{"apiVersion":"batch/v1","kind":"Job","spec":{"template":`+pod(2)+`}}`, 2)
	u, k, err := h.buildRunObject(l)
	if err != nil {
		t.Fatal(err)
	}
	p := holder("main", u.GetName(), 0)
	p.Status.Phase = corev1.PodRunning
	for store, o := range map[cache.Indexer]any{h.informerStores["jobs"][0]: u, h.inv.PodCache: p, h.inv.NodeCache: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}} {
		if err := store.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	r := &run{name: u.GetName(), namespace: "default", kind: k, launch: l, createdAt: noon}
	h.runs[r.name] = r
	if _, err := h.reconcileRun(t.Context(), r.name); err == nil || r.terminating.Load() != nil || r.startedAt == 0 {
		t.Errorf("%v; it is %+v", err, r)
	}
}

// A restarted executor finds a Job between two of its pods.
func TestRunWhosePodsRanIsNotOverdue(t *testing.T) {
	now := noon.Add(time.Hour)
	h := served(t, &now, func(w http.ResponseWriter, _ *http.Request) { busy(w) })
	l := launchOf(`{"apiVersion":"batch/v1","kind":"Job","spec":{"completions":2,"template":`+pod(2)+`}}`, 2)
	u, k, err := h.buildRunObject(l)
	if err != nil {
		t.Fatal(err)
	}
	first, second := holder("first", u.GetName(), 0), holder("second", u.GetName(), 0)
	first.Status.Phase, second.Status.Phase = corev1.PodSucceeded, corev1.PodPending
	first.Status.ContainerStatuses = make([]corev1.ContainerStatus, 1)
	for _, x := range []struct {
		store cache.Indexer
		o     any
	}{{h.informerStores["jobs"][0], u}, {h.inv.PodCache, first}, {h.inv.PodCache, second}, {h.inv.NodeCache, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}} {
		if err := x.store.Add(x.o); err != nil {
			t.Fatal(err)
		}
	}
	r := &run{name: u.GetName(), namespace: "default", kind: k, launch: l, createdAt: noon}
	h.runs[r.name] = r
	if _, err := h.reconcileRun(t.Context(), r.name); err != nil || r.terminating.Load() != nil || r.startedAt != noon {
		t.Errorf("%v; it is %+v", err, r)
	}
}

// Its owner's Job failed for good when it was taken from its node; it can be run no more.
func TestEndedJobIsNotWaitedFor(t *testing.T) {
	now := noon
	h := served(t, &now, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"mine","namespace":"default","uid":"u1","labels":{"gridbid.io/queue":"night"}},
			"spec":{"suspend":true},"status":{"startTime":"2026-01-02T11:00:00Z","conditions":[{"type":"Failed","status":"True"}]}}`)
	})
	h.startRun(protocol.Launch{Job: protocol.Job{ID: "oslo/u1"}, Epoch: 2, Node: "n1",
		Task: `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"mine","namespace":"default","annotations":{"gridbid.io/release":"u1"}}}`})
	if _, err := h.reconcileRun(t.Context(), kube.RunName("oslo/u1", 2)); err != nil || len(h.endedRuns) != 1 {
		t.Fatalf("%v; reported %v", err, h.endedRuns)
	}
	if x, ok := h.endedRuns[0].outcome.(protocol.Interrupted); !ok || x.Why.Code != protocol.ClusterRefused || !strings.Contains(x.Why.Note, "has ended") {
		t.Errorf("reported %+v", h.endedRuns[0].outcome)
	}
}

// Its owner wants a suspended Job on another node than was awarded: it would wait in vain
// for the cluster's scheduler, and hold its GPUs, or be led where it must not run.
func TestRequeuedExternalJobIsNotReleased(t *testing.T) {
	for _, tc := range []struct {
		notes, selector string
		released        bool
	}{
		{`{}`, `{"kubernetes.io/hostname":"n9"}`, false},
		{`{}`, `{"pool":"fast"}`, false},
		{`{}`, `{"pool":"slow"}`, true},
		{`{"gridbid.io/job":"oslo/u1"}`, `{"kubernetes.io/hostname":"n9"}`, true}, // by us, the last time
	} {
		now, patched := noon, 0
		h := served(t, &now, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPatch {
				patched++
			}
			_, _ = io.WriteString(w, `{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"mine","namespace":"default","uid":"u1","labels":{"gridbid.io/queue":"night"}},
				"spec":{"suspend":true,"template":{"metadata":{"annotations":`+tc.notes+`},"spec":{"nodeSelector":`+tc.selector+`}}}}`)
		})
		if err := h.inv.NodeCache.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{corev1.LabelHostname: "n1", "pool": "slow"}}}); err != nil {
			t.Fatal(err)
		}
		h.startRun(protocol.Launch{Job: protocol.Job{ID: "oslo/u1"}, Epoch: 2, Node: "n1",
			Task: `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"mine","namespace":"default","annotations":{"gridbid.io/release":"u1"}}}`})
		if _, err := h.reconcileRun(t.Context(), kube.RunName("oslo/u1", 2)); err != nil || (patched == 1) != tc.released || (len(h.endedRuns) == 0) != tc.released {
			t.Errorf("%s: %v; patched %d times, reported %v", tc.selector, err, patched, h.endedRuns)
		}
	}
}

// Controllers make Services of the name of their objects, or refuse what no Service could
// be called. A job whose id begins with a digit has an object that begins with a letter.
func TestObjectNameIsValidServiceName(t *testing.T) {
	now, made, deleted := noon, "", ""
	h := served(t, &now, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			deleted = path.Base(r.URL.Path)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
			return
		}
		var u unstructured.Unstructured
		if err := json.NewDecoder(r.Body).Decode(&u.Object); err != nil {
			t.Error(err)
		}
		made = u.GetName()
		_ = json.NewEncoder(w).Encode(u.Object)
	})
	h.startRun(protocol.Launch{Job: protocol.Job{ID: "2026-11-23/night", CPU: 1000, Memory: 1024}, Epoch: 1, Node: "n1",
		Task: `{"apiVersion":"batch/v1","kind":"Job","spec":{"template":{"spec":{"containers":[{"name":"main"}]}}}}`})
	name := kube.RunName("2026-11-23/night", 1)
	if _, err := h.reconcileRun(t.Context(), name); err != nil || made != "r"+name {
		t.Fatalf("%v; its object is named %q", err, made)
	}
	h.cancelRun(protocol.Cancel{Job: "2026-11-23/night", Epoch: 1})
	if _, err := h.reconcileRun(t.Context(), name); err != nil || deleted != made || h.runs[name] != nil {
		t.Errorf("%v; %q is deleted, and %+v is left", err, deleted, h.runs[name])
	}
}
