package executor

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
	"github.com/gridbid/gridbid/protocol"
)

// gangOf is a launch of pods of two GPUs, so many at each node n1, n2, ...
func gangOf(task string, podsByNode ...int) protocol.Launch {
	c := protocol.Component{Role: "worker", GPUs: 2, Share: 1000, CPU: 1000, Memory: 1024}
	l := protocol.Launch{Epoch: 2, Task: protocol.Task(task), Power: 1000}
	for i, n := range podsByNode {
		p := protocol.Place{Pods: n, Node: fmt.Sprint("n", i+1)}
		for d := range 2 * n {
			p.Devices = append(p.Devices, d)
		}
		l.Places, c.Pods = append(l.Places, p), c.Pods+n
	}
	l.Job = protocol.Job{ID: "train"}.WithPods([]protocol.Component{c})
	l.Node, l.Devices = l.Places[0].Node, l.Places[0].Devices
	return l
}

func TestTaskOfAGangIsOneIndexedJob(t *testing.T) {
	h := New(Config{Site: "oslo", Sharing: kube.SharingDRA})
	text := `{"apiVersion":"batch/v1","kind":"Job","spec":{"backoffLimit":0,"template":` +
		strings.Replace(pod(2), `"image":"i"`, `"image":"i","env":[{"name":"MASTER_PORT","value":"7"}]`, 1) + `}}`
	u, _, err := h.buildRunObject(gangOf(text, 2, 1))
	if err != nil {
		t.Fatal(err)
	}
	name := kube.RunName("train", 2)
	built, err := json.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"completionMode":"Indexed"`, `"parallelism":3`, `"completions":3`, `"backoffLimit":0`, `"schedulingGates":[{"name":"gridbid.io/gang"}]`,
		`"subdomain":"` + name + `"`, `{"name":"MASTER_ADDR","value":"` + name + `-0.` + name + `"}`, `{"name":"MASTER_PORT","value":"7"}`, `{"name":"WORLD_SIZE","value":"3"}`,
		`{"name":"RANK","valueFrom":{"fieldRef":{"fieldPath":"metadata.annotations['batch.kubernetes.io/job-completion-index']"}}}`,
		`"gridbid.io/component":"0"`, `"resourceClaimTemplateName":"` + name + `-c0-g2"`} {
		if !strings.Contains(string(built), want) {
			t.Errorf("built %s; want in it %s", built, want)
		}
	}
	if strings.Count(string(built), "MASTER_PORT") != 1 {
		t.Errorf("what the task sets itself is set twice: %s", built)
	}
	if l, err := kube.UnpackLaunch(u.GetAnnotations()[kube.AnnotationLaunch]); err != nil || len(l.Places) != 2 || l.Job.PodCount() != 3 {
		t.Errorf("its launch is %+v, %v", l, err)
	}
}

func TestTaskThatIsNoGangIsRefusedInWords(t *testing.T) {
	h := New(Config{Site: "oslo", Sharing: kube.SharingDevicePlugin})
	two := gangOf("", 2, 1)
	two.Job = two.Job.WithPods(append(slices.Clone(two.Job.Pods), protocol.Component{Role: "head", Pods: 1, CPU: 1000}))
	for text, tc := range map[string]struct {
		launch protocol.Launch
		want   string
	}{
		`{"apiVersion":"batch/v1","kind":"Job","spec":{"parallelism":2,"template":` + pod(2) + `}}`: {gangOf("", 2, 1), "the task has 2 of spec.parallelism but the job needs 3 pods there"},
		`{"apiVersion":"batch/v1","kind":"Job","spec":{"completions":9,"template":` + pod(2) + `}}`: {gangOf("", 2, 1), "the task has 9 of spec.completions"},
		`{"apiVersion":"batch/v1","kind":"Job","spec":{"template":` + pod(3) + `}}`:                 {gangOf("", 2, 1), "the task requests 3 GPUs but the job requests 2"},
		`{"apiVersion":"batch/v1","kind":"Job","spec":{"template":` + pod(2) + `}}`:                 {two, "the job has 2 components"},
		objects[5].text: {gangOf("", 2, 1), "a RayJob runs on one node here"},
	} {
		tc.launch.Task = protocol.Task(text)
		if _, _, err := h.buildRunObject(tc.launch); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", text, err, tc.want)
		}
	}
}

func TestPodsOfAGangFillEachPlaceByIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &run{launch: protocol.Launch{Job: protocol.Job{Pods: make([]protocol.Component, 2)}}}
		pods := []int{0, 0}
		for i := range rapid.IntRange(1, 8).Draw(t, "places") {
			p := protocol.Place{Component: rapid.IntRange(0, 1).Draw(t, "component"), Pods: rapid.IntRange(1, 5).Draw(t, "pods"), Node: fmt.Sprint("n", i)}
			pods[p.Component] += p.Pods
			r.launch.Places = append(r.launch.Places, p)
		}
		got := make([]int, len(r.launch.Places))
		for c, n := range pods {
			for i := range n {
				place, ok := r.placeOfPod(gangPod(c, i))
				if !ok || r.launch.Places[place].Component != c {
					t.Fatalf("pod %d of component %d is at place %d, %v", i, c, place, ok)
				}
				got[place]++
			}
			if place, ok := r.placeOfPod(gangPod(c, n)); ok {
				t.Errorf("pod %d of component %d, of %d, is at place %d", n, c, n, place)
			}
		}
		for i, p := range r.launch.Places {
			if got[i] != p.Pods {
				t.Errorf("place %d has %d pods; want %d", i, got[i], p.Pods)
			}
		}
	})
}

// gangPod is an unbound pod of a gang of the run r1.
func gangPod(component, index int) *corev1.Pod {
	p := holder(fmt.Sprint("p", index), "r1", 2)
	p.UID, p.Labels[kube.LabelComponent] = types.UID(p.Name), strconv.Itoa(component)
	p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: strconv.Itoa(index)}
	p.Spec.NodeName, p.Spec.SchedulerName, p.Status.Phase = "", kube.SchedulerName, corev1.PodPending
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: kube.GateGang}}
	return p
}

// gangOnTwoNodes returns an executor with nodes n1 and n2 of four GPUs, a gang of three pods
// of which two belong on n1, and what its API server was asked to do. The server answers busy to
// every request whose line contains the text fails.
func gangOnTwoNodes(t *testing.T, fails string) (h *KubeExecutor, r *run, pods []*corev1.Pod, asked func() []string) {
	t.Helper()
	now := noon
	var mu sync.Mutex
	var lines []string
	h = served(t, &now, func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		line := q.Method + " " + strings.TrimPrefix(q.URL.Path, "/api/v1/namespaces/default/pods/")
		if fails != "" && strings.Contains(line, fails) {
			busy(w)
			return
		}
		lines = append(lines, line)
		_, _ = io.WriteString(w, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"}}`)
	})
	h.cfg.Nodes, h.inv.Nodes = kube.AllNodes, kube.AllNodes
	h.inv.PodCache = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{inventory.ByNode: func(o any) ([]string, error) { return []string{o.(*corev1.Pod).Spec.NodeName}, nil }})
	for _, name := range []string{"n1", "n2"} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{kube.PluginGPU: resource.MustParse("4")}}}
		if err := h.inv.NodeCache.Add(n); err != nil {
			t.Fatal(err)
		}
	}
	r = &run{name: "r1", namespace: "default", kind: &jobKinds[0], launch: gangOf("", 2, 1), companionsCreated: true, createdAt: noon}
	h.runs["r1"] = r
	return h, r, []*corev1.Pod{gangPod(0, 0), gangPod(0, 1), gangPod(0, 2)}, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(lines)
	}
}

func TestGangIsBoundWholeOrNotAtAll(t *testing.T) {
	type state struct {
		h    *KubeExecutor
		r    *run
		pods *[]*corev1.Pod
	}
	ungateAll, bindAll := []string{"PATCH p0", "PATCH p1", "PATCH p2"}, []string{"POST p0/binding", "POST p1/binding", "POST p2/binding"}
	for _, tc := range []struct {
		name  string
		fails string
		when  func(state)
		asked []string // sorted; patches come before bindings
		ends  protocol.Code
	}{
		{"all pods are there", "", func(state) {}, slices.Concat(ungateAll, bindAll), ""},
		{"one pod is missing", "", func(s state) { *s.pods = (*s.pods)[:2] }, nil, ""},
		{"one pod failed and has no successor", "", func(s state) { (*s.pods)[1].Status.Phase = corev1.PodFailed }, nil, ""},
		{"one pod is being deleted", "", func(s state) { (*s.pods)[2].DeletionTimestamp = &metav1.Time{} }, nil, ""},
		{"its service is missing", "", func(s state) { s.r.companionsCreated = false }, nil, ""},
		{"another controller's gate holds one", "", func(s state) {
			(*s.pods)[1].Spec.SchedulingGates = append((*s.pods)[1].Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "kueue.x-k8s.io/admission"})
		}, nil, ""},
		{"the last node is gone", "", func(s state) { _ = s.h.inv.NodeCache.Delete(s.h.inv.NodeByName("n2")) }, nil, ""},
		{"the last node is cordoned", "", func(s state) { s.h.inv.NodeByName("n2").Spec.Unschedulable = true }, nil, protocol.Evicted},
		{"others took the last node", "", func(s state) {
			other := holder("notebook", "", 3)
			other.Spec.NodeName = "n2"
			_ = s.h.inv.PodCache.Add(other)
		}, nil, protocol.TakenOver},
		{"the first node has room for one of its two", "", func(s state) { _ = s.h.inv.PodCache.Add(holder("notebook", "", 1)) }, nil, protocol.TakenOver},
		{"one pod requests more", "", func(s state) {
			(*s.pods)[2].Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("2")}
		}, nil, protocol.ClusterRefused},
		{"one pod is none of its own", "", func(s state) { (*s.pods)[2] = gangPod(0, 3) }, nil, protocol.ClusterRefused},
		{"another scheduler took one elsewhere", "", func(s state) { (*s.pods)[2].Spec.NodeName = "n1" }, nil, protocol.TakenOver},
		{"the gate of one stays", "PATCH p1", func(state) {}, []string{"PATCH p0", "PATCH p2"}, ""},
		{"two are bound already", "", func(s state) {
			(*s.pods)[0].Spec.NodeName, (*s.pods)[2].Spec.NodeName = "n1", "n2"
			(*s.pods)[0].Spec.SchedulingGates = nil
		}, []string{"PATCH p1", "POST p1/binding"}, ""},
		{"a failed pod has a successor", "", func(s state) {
			old := gangPod(0, 1)
			old.Name, old.UID, old.Spec.NodeName, old.Status.Phase = "old", "old", "n1", corev1.PodFailed
			(*s.pods)[0].Spec.NodeName, (*s.pods)[2].Spec.NodeName = "n1", "n2"
			*s.pods = append(*s.pods, old)
		}, []string{"PATCH p1", "POST p1/binding"}, ""},
	} {
		h, r, pods, asked := gangOnTwoNodes(t, tc.fails)
		tc.when(state{h, r, &pods})
		err := h.bindGang(t.Context(), r, pods)
		if (err != nil) != (tc.fails != "") {
			t.Errorf("%s: %v", tc.name, err)
		}
		got := asked()
		if firstBinding := slices.IndexFunc(got, func(s string) bool { return strings.HasPrefix(s, "POST") }); firstBinding >= 0 &&
			slices.ContainsFunc(got[firstBinding:], func(s string) bool { return strings.HasPrefix(s, "PATCH") }) {
			t.Errorf("%s: a pod was bound while the gate of another was there: %v", tc.name, got)
		}
		slices.Sort(got)
		if !slices.Equal(got, tc.asked) {
			t.Errorf("%s: asked for %v; want %v", tc.name, got, tc.asked)
		}
		code := protocol.Code("")
		if why := r.terminating.Load(); why != nil {
			code = why.Code
		}
		if code != tc.ends {
			t.Errorf("%s: it ends because %q; want %q", tc.name, code, tc.ends)
		}
	}
}

func TestGangBeginsWhenEachPodHasRun(t *testing.T) {
	h, r, pods, _ := gangOnTwoNodes(t, "")
	for i, p := range pods {
		h.observeStart(r, pods)
		if r.begun || r.startedAt != 0 != (i > 0) {
			t.Errorf("with %d of 3 pods it has begun: %v; its energy counts from %v", i, r.begun, r.startedAt)
		}
		if !h.startOverdueAt(r, noon.Add(h.cfg.StartTimeout)) {
			t.Errorf("with %d of 3 pods it is not overdue when its time is over", i)
		}
		p.Spec.NodeName, p.Status.Phase = r.launch.Places[i/2].Node, corev1.PodRunning
	}
	// A pod that failed has run, too: its successor may be pending when a restarted executor looks.
	pods[0].Status.Phase, pods[0].Status.ContainerStatuses = corev1.PodFailed, make([]corev1.ContainerStatus, 1)
	if h.observeStart(r, pods); !r.begun || h.startOverdueAt(r, noon.Add(time.Hour)) {
		t.Error("all pods have run, and it has not begun")
	}
}

// startOverdueAt asks startOverdue at another time.
func (h *KubeExecutor) startOverdueAt(r *run, now protocol.Time) bool {
	h.cfg.Now = func() protocol.Time { return now }
	return h.startOverdue(r)
}

// Devices of a gang are its own at the node where it has them.
func TestDevicesOfAGangAreThoseOfTheNode(t *testing.T) {
	h, r, _, _ := gangOnTwoNodes(t, "")
	for node, want := range map[string]int{"n1": 4, "n2": 2, "n3": 0} {
		if got, ok := h.devicesOfRun(r.name, node); len(got) != want || !ok {
			t.Errorf("it has devices %v of %s, %v; want %d", got, node, ok, want)
		}
	}
}
