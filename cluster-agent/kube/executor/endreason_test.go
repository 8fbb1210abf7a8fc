package executor

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
	"github.com/gridbid/gridbid/protocol"
)

// looked is a run that began at noon, its object in the state of a status, and the
// pods that are left of it.
func looked(t *testing.T, now *protocol.Time, text string, status map[string]any, pods ...*corev1.Pod) (*KubeExecutor, *run) {
	t.Helper()
	h := served(t, now, func(w http.ResponseWriter, r *http.Request) {
		if n := 0; !deletes(w, r, &n) {
			_, _ = io.WriteString(w, `{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"r"}}`)
		}
	})
	u, k, err := h.buildRunObject(launchOf(text, 8))
	if err != nil {
		t.Fatal(err)
	}
	r := &run{name: u.GetName(), namespace: "default", kind: k, launch: launchOf(text, 8), createdAt: noon, startedAt: noon, observed: true}
	h.runs[r.name] = r
	follow(t, h, k, u, status)
	if err := h.inv.NodeCache.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); err != nil {
		t.Fatal(err)
	}
	for _, p := range pods {
		p.Labels[kube.LabelRun] = r.name
		if err := h.inv.PodCache.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	return h, r
}

// follow has the executor reconcile a run with its object in a state.
func follow(t *testing.T, h *KubeExecutor, k *jobKind, u *unstructured.Unstructured, status map[string]any) {
	t.Helper()
	if h.informerStores[k.plural] == nil {
		h.informerStores[k.plural] = []cache.Indexer{cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})}
	}
	u.Object["status"] = status
	if err := h.informerStores[k.plural][0].Update(u); err != nil {
		t.Fatal(err)
	}
}

// says is a status with a condition.
func says(condition, reason string) map[string]any {
	return map[string]any{"conditions": []any{map[string]any{"type": condition, "status": "True", "reason": reason, "message": "so it is"}}}
}

// A controller deletes the pods of a job that it ends, and says so then or later. A
// job that ran too long is not requeued, to run too long once more.
func TestControllerEndedJobIsFinished(t *testing.T) {
	job := `{"apiVersion":"batch/v1","kind":"Job","spec":{"activeDeadlineSeconds":60,"template":` + strings.Replace(pod(2), `"spec":{`, `"spec":{"restartPolicy":"POLICY",`, 1) + `}}`
	never, again := strings.Replace(job, "POLICY", "Never", 1), strings.Replace(job, "POLICY", "OnFailure", 1)
	deleted := func() *corev1.Pod {
		p, at := holder("main", "", 2), metav1.NewTime(noon.StdTime())
		p.Status.Phase, p.DeletionTimestamp = corev1.PodRunning, &at
		return p
	}
	executor, driver, worker, member := deleted(), deleted(), deleted(), deleted()
	member.Labels["leaderworkerset.sigs.k8s.io/name"] = "mine"
	executor.Labels["spark-role"], driver.Labels["spark-role"], worker.Labels["ray.io/node-type"] = "executor", "driver", "worker"
	drained := executor.DeepCopy()
	drained.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"}}
	evicted := deleted()
	evicted.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"}}
	failed := holder("main", "", 2)
	failed.Status.Phase, failed.Status.ContainerStatuses = corev1.PodFailed, make([]corev1.ContainerStatus, 1)
	ray := map[string]any{"jobStatus": "RUNNING", "jobDeploymentStatus": "Failed"}
	spark := func(state string) map[string]any {
		return map[string]any{"applicationState": map[string]any{"state": state}}
	}
	for _, tc := range []struct {
		name, text   string
		first, later map[string]any
		pods         []*corev1.Pod
		want         string // "lost" at once, "lost later", "ended", or "runs"
	}{
		{"it ran too long", never, says("FailureTarget", "DeadlineExceeded"), says("Failed", "DeadlineExceeded"), []*corev1.Pod{deleted()}, "ended"},
		{"its controller says so only then", objects[1].text, nil, says("Failed", "JobFailed"), []*corev1.Pod{deleted()}, "ended"},
		{"a RayJob that ran too long", objects[5].text, nil, ray, []*corev1.Pod{deleted()}, "ended"},
		{"it was started again too often", again, says("FailureTarget", "BackoffLimitExceeded"), says("Failed", "BackoffLimitExceeded"), []*corev1.Pod{deleted()}, "ended"},
		{"no more of it is needed", never, says("SuccessCriteriaMet", "CompletionsReached"), says("Complete", "CompletionsReached"), []*corev1.Pod{deleted()}, "ended"},
		{"a pod was deleted by hand", never, nil, nil, []*corev1.Pod{deleted()}, "lost later"},
		{"the same, and none may fail", never, says("FailureTarget", "BackoffLimitExceeded"), says("FailureTarget", "BackoffLimitExceeded"), []*corev1.Pod{deleted()}, "lost later"},
		{"a JobSet begins again", objects[4].text, nil, map[string]any{"restarts": int64(1)}, []*corev1.Pod{deleted()}, "runs"},
		{"a Spark driver ends an executor that is idle", objects[6].text, nil, nil, []*corev1.Pod{executor}, "runs"},
		{"an executor is evicted", objects[6].text, nil, nil, []*corev1.Pod{drained}, "lost"},
		{"a driver is deleted by hand", objects[6].text, nil, nil, []*corev1.Pod{driver}, "lost later"},
		{"Ray's autoscaler ends a worker", objects[5].text, nil, nil, []*corev1.Pod{worker}, "runs"},
		{"a LeaderWorkerSet makes a group anew", objects[8].text, nil, nil, []*corev1.Pod{member}, "runs"},
		{"a SparkApplication that could not be submitted may be again", objects[6].text, spark("SUBMISSION_FAILED"), spark("SUBMITTED"), nil, "runs"},
		{"one that is not submitted again", objects[6].text, spark("SUBMISSION_FAILED"), spark("FAILED"), nil, "ended"},
		{"it was evicted", never, nil, nil, []*corev1.Pod{evicted}, "lost"},
		{"it was evicted while we were away", never, says("Failed", "BackoffLimitExceeded"), nil, nil, "lost"},
		{"its program failed while we were away", never, says("Failed", "BackoffLimitExceeded"), nil, []*corev1.Pod{failed}, "ended"},
		{"it was started again too often while we were away", again, says("Failed", "BackoffLimitExceeded"), nil, nil, "ended"},
	} {
		now := noon.Add(time.Minute)
		h, r := looked(t, &now, tc.text, tc.first, tc.pods...)
		look := func() {
			t.Helper()
			if wait, err := h.reconcileRun(t.Context(), r.name); err != nil || wait == 0 && r.terminating.Load() == nil && len(h.endedRuns) == 0 && r.deletingPod != "" {
				t.Fatalf("%s: no requeue, %v", tc.name, err)
			}
		}
		look()
		if got := r.terminating.Load() != nil; got != (tc.want == "lost") {
			t.Errorf("%s: at first it is lost: %v", tc.name, got)
		}
		now = now.Add(maxPodStatusLag)
		if tc.later != nil {
			follow(t, h, r.kind, h.objectOfRun(r).DeepCopy(), tc.later)
			if tc.want == "ended" {
				_ = h.inv.PodCache.Replace(nil, "")
			}
		}
		look()
		if code := r.terminating.Load(); (code == nil) != (tc.want == "ended" || tc.want == "runs") || code != nil && code.Code != protocol.Evicted {
			t.Errorf("%s: it is lost: %v", tc.name, code)
		}
		if tc.want == "runs" && h.runs[r.name] == nil {
			t.Errorf("%s: reported %v", tc.name, h.endedRuns)
		}
		if tc.want != "ended" {
			continue
		}
		if len(h.endedRuns) != 1 {
			t.Errorf("%s: reported %v", tc.name, h.endedRuns)
		} else if _, ok := h.endedRuns[0].outcome.(protocol.Finished); !ok {
			t.Errorf("%s: reported %v", tc.name, h.endedRuns)
		}
	}
}

// A Spark driver lets one executor go and asks for another.
func TestReplacementWorkerWaitsForDevices(t *testing.T) {
	now, at := noon.Add(time.Minute), metav1.NewTime(noon.StdTime())
	first, second := holder("exec-1", "", 2), holder("exec-2", "", 2)
	first.UID, first.DeletionTimestamp, first.Status.Phase = "1", &at, corev1.PodRunning
	first.Annotations = map[string]string{kube.AnnotationDevices: "0,1"}
	second.UID, second.Spec.NodeName, second.Spec.SchedulerName = "2", "", kube.SchedulerName
	for _, p := range []*corev1.Pod{first, second} {
		p.Labels["spark-role"] = "executor"
	}
	h, r := looked(t, &now, objects[6].text, nil, first, second)
	h.inv.Nodes, r.launch.Devices = kube.AllNodes, []int{0, 1}
	h.inv.PodCache = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		indexByRun:       func(o any) ([]string, error) { return runKeysOfPod(o.(*corev1.Pod)), nil },
		inventory.ByNode: func(o any) ([]string, error) { return []string{o.(*corev1.Pod).Spec.NodeName}, nil },
	})
	if err := h.inv.PodCache.Replace([]any{first, second}, ""); err != nil {
		t.Fatal(err)
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{kube.PluginGPU: resource.MustParse("8")}}}
	if err := h.inv.NodeCache.Update(n); err != nil {
		t.Fatal(err)
	}
	if _, err := h.reconcileRun(t.Context(), r.name); err != nil || r.terminating.Load() != nil || r.bindingAt(0).DevicesOf("2") != nil {
		t.Errorf("while the first is there: %v, %v, gave %v", err, r.terminating.Load(), r.bindingAt(0).DevicesOf("2"))
	}
	if err := h.inv.PodCache.Delete(first); err != nil {
		t.Fatal(err)
	}
	if _, err := h.reconcileRun(t.Context(), r.name); err != nil || r.terminating.Load() != nil || len(r.bindingAt(0).DevicesOf("2")) != 2 {
		t.Errorf("when it is gone: %v, %v, gave %v", err, r.terminating.Load(), r.bindingAt(0).DevicesOf("2"))
	}
}
