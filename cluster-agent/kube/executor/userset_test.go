package executor

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/external"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/protocol"
)

// usersPod is a pod's template as a user writes it who knows the marks of others.
func usersPod(gpus int) string {
	return fmt.Sprintf(`{"metadata":{"labels":{"app":"mine","gridbid.io/run":"other"},"annotations":{"note":"kept","gridbid.io/devices":"0,1"}},"spec":{"schedulerName":"gridbid",
		"tolerations":[{"key":"mine","operator":"Exists"}],"schedulingGates":[{"name":"example.com/volume"}],"containers":[{"name":"main","image":"i","resources":{"limits":{"nvidia.com/gpu":"%d"}}}]}}`, gpus)
}

// usersSet is a suspended object in the queue, whose kind has a role of six workers and one of a
// driver without GPUs.
func usersSet(text string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		panic(err) // cannot happen: this file wrote it
	}
	u.SetName("mine")
	u.SetNamespace("default")
	u.SetUID("u1")
	u.SetResourceVersion("7")
	u.SetFinalizers([]string{"example.com/keep", kube.FinalizerQueue})
	u.SetLabels(map[string]string{kube.LabelQueue: "night", "team": "vision", kube.LabelOutcomeReported: "true"})
	u.SetAnnotations(map[string]string{kube.AnnotationSubmittedAt: "2026-01-02T12:00:00Z u1", podsets.AnnotationReplicas: "1"})
	return u
}

func usersMPIJob() *unstructured.Unstructured {
	return usersSet(`{"apiVersion":"kubeflow.org/v2beta1","kind":"MPIJob","spec":{"runPolicy":{"suspend":true},"mpiReplicaSpecs":{"Launcher":{"template":` + usersPod(0) + `},"Worker":{"replicas":6,"template":` + usersPod(2) + `}}}}`)
}

// borrowed is a run of a user's object.
func borrowed(h *KubeExecutor, u *unstructured.Unstructured) *run {
	l := driverAndWorkers("")
	l.Job.ID = protocol.JobID("oslo/" + string(u.GetUID()))
	k, err := jobKindOf(u, false)
	if err != nil {
		panic(err) // cannot happen: the tests use known kinds
	}
	r := &run{name: kube.RunName(l.Job.ID, l.Epoch), namespace: "default", kind: k, launch: l, external: external.Loan{Object: "mine"}, createdAt: noon}
	h.runs[r.name] = r
	return r
}

func TestAReleasedSetCarriesItsRunAndNothingOfOthers(t *testing.T) {
	now := noon
	for _, u := range []*unstructured.Unstructured{
		usersMPIJob(),
		usersSet(`{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","spec":{"replicas":0,"leaderWorkerTemplate":{"size":7,"leaderTemplate":` + usersPod(0) + `,"workerTemplate":` + usersPod(2) + `}}}`),
	} {
		h := bare(Config{Sharing: kube.SharingDevicePlugin}, &now)
		r, kind := borrowed(h, u), podsets.KindOf(u.GroupVersionKind())
		if why := h.markSet(r, kind, u); why != "" || kind.IsSuspended(u.Object) {
			t.Fatalf("%s: %q; suspended %v", kind.Kind, why, kind.IsSuspended(u.Object))
		}
		if got := u.GetLabels(); got[kube.LabelRun] != r.name || got[kube.LabelSite] != "oslo" || got[kube.LabelQueue] != "night" || got["team"] != "vision" || got[kube.LabelOutcomeReported] != "" {
			t.Errorf("%s: its labels are %v", kind.Kind, got)
		}
		if l, err := kube.UnpackLaunch(u.GetAnnotations()[kube.AnnotationLaunch]); err != nil || len(l.Places) != 3 || u.GetAnnotations()[kube.AnnotationSubmittedAt] == "" {
			t.Errorf("%s: its launch is %+v, %v", kind.Kind, l, err)
		}
		if policy, _, _ := unstructured.NestedString(u.Object, "spec", "runPolicy", "cleanPodPolicy"); policy != "Running" && kind.Kind == "MPIJob" {
			t.Errorf("its workers stay when it ends: %q", policy)
		}
		again := fmt.Sprint(u.Object)
		sets, err := kind.PodSetsOf(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range sets {
			labels, notes, spec := childMap(childMap(s.Template, "metadata"), "labels"), childMap(childMap(s.Template, "metadata"), "annotations"), childMap(s.Template, "spec")
			if labels["app"] != "mine" || labels[kube.LabelRun] != r.name || labels[kube.LabelComponent] != fmt.Sprint(i) || notes["note"] != "kept" || notes[kube.AnnotationDevices] != nil || notes[kube.AnnotationPodsOfJob] != fmt.Sprint(s.EachHas) {
				t.Errorf("%s: a template has %v and %v", kind.Kind, labels, notes)
			}
			if got := fmt.Sprint(spec["schedulingGates"]); got != "[map[name:example.com/volume] map[name:gridbid.io/gang]]" {
				t.Errorf("%s: its gates are %s", kind.Kind, got)
			}
			if n := len(spec["tolerations"].([]any)); n != 3 { // its own, and those for the site's nodes and for GPUs
				t.Errorf("%s: its tolerations are %v", kind.Kind, spec["tolerations"])
			}
		}
		// Released once more, it is the same: nothing piles up.
		if why := h.markSet(r, kind, u); why != "" || fmt.Sprint(u.Object) != again {
			t.Errorf("%s: marked twice: %q\n%v\n%s", kind.Kind, why, u.Object, again)
		}
	}
}

func TestASetThatIsNotAsSubmittedIsNotReleased(t *testing.T) {
	now := noon
	for want, change := range map[string]func(u *unstructured.Unstructured){
		`had 6 when it was submitted`: func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, int64(5), "spec", "mpiReplicaSpecs", "Worker", "replicas")
		},
		`it has 1 roles, and had 2`: func(u *unstructured.Unstructured) {
			unstructured.RemoveNestedField(u.Object, "spec", "mpiReplicaSpecs", "Launcher")
		},
		`schedulerName of role "worker" is other`: func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, "other", "spec", "mpiReplicaSpecs", "Worker", "template", "spec", "schedulerName")
		},
		`spec.mpiReplicaSpecs is empty`: func(u *unstructured.Unstructured) { delete(u.Object, "spec") },
	} {
		h, u := bare(Config{Sharing: kube.SharingDevicePlugin}, &now), usersMPIJob()
		change(u)
		if why := h.markSet(borrowed(h, u), &podsets.MPIJob, u); !strings.Contains(why, want) {
			t.Errorf("%q; want %q", why, want)
		}
	}
}

// changedVersion is the resource version of an object that was changed since it was read: a patch
// of what was read conflicts.
const changedVersion = "changed"

// A desk is an API server that keeps one object and its launcher, and notes what is asked of it.
type desk struct {
	object   *unstructured.Unstructured
	launcher string // run of its template; "": there is none
	asked    []string
}

func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/apis/kubeflow.org/v2beta1") && path.Base(r.URL.Path) == "v2beta1":
		_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"kubeflow.org/v2beta1","resources":[{"name":"mpijobs","namespaced":true,"kind":"MPIJob"}]}`)
	case r.Method == http.MethodPatch:
		body, _ := io.ReadAll(r.Body)
		if is := d.object.GetResourceVersion(); is == changedVersion && !strings.Contains(string(body), strconv.Quote(is)) {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}`)
			return
		}
		d.asked = append(d.asked, string(body))
		_ = json.NewEncoder(w).Encode(d.object.Object)
	case strings.Contains(r.URL.Path, "/jobs/") && d.launcher == "":
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	case strings.Contains(r.URL.Path, "/jobs/") && r.Method == http.MethodDelete:
		d.asked, d.launcher = append(d.asked, "delete launcher"), ""
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	case strings.Contains(r.URL.Path, "/jobs/"):
		_, _ = fmt.Fprintf(w, `{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"mine-launcher","namespace":"default","uid":"l1","ownerReferences":[{"kind":"MPIJob","name":"mine"}]},"spec":{"template":{"metadata":{"labels":{"gridbid.io/run":%q}}}}}`, d.launcher)
	case r.Method == http.MethodDelete:
		d.asked = append(d.asked, "delete")
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	default:
		_ = json.NewEncoder(w).Encode(d.object.Object)
	}
}

// openDesk returns an executor at a desk with a run of its object, which its cache has.
func openDesk(t *testing.T, u *unstructured.Unstructured) (*desk, *KubeExecutor, *run) {
	t.Helper()
	now := noon
	d := &desk{object: u}
	h := served(t, &now, d.ServeHTTP)
	h.inv.NodeCache = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, n := range []string{"n1", "n2"} {
		if err := h.inv.NodeCache.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n}}); err != nil {
			t.Fatal(err)
		}
	}
	r := borrowed(h, u)
	h.informerStores["mpijobs"] = []cache.Indexer{cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})}
	return d, h, r
}

func TestASetIsReleasedUnlessItIsNotWhatWasSubmitted(t *testing.T) {
	for want, change := range map[string]func(u *unstructured.Unstructured, r *run){
		"":                               func(*unstructured.Unstructured, *run) {},
		"was not submitted by this site": func(_ *unstructured.Unstructured, r *run) { r.launch.Job.ID = "lyon/u1" },
		"was deleted":                    func(u *unstructured.Unstructured, _ *run) { u.SetUID("u2") },
		"is not in the queue any more":   func(u *unstructured.Unstructured, _ *run) { u.SetLabels(nil) },
		"is not suspended: somebody else released it": func(u *unstructured.Unstructured, _ *run) { _ = podsets.MPIJob.SetSuspended(u.Object, false) },
		"node n9 is gone": func(_ *unstructured.Unstructured, r *run) { r.launch.Places[2].Node = "n9" },
		"MPIJob default/mine: spec.mpiReplicaSpecs is": func(u *unstructured.Unstructured, _ *run) {
			delete(u.Object["spec"].(map[string]any), "mpiReplicaSpecs")
		},
		"has ended": func(u *unstructured.Unstructured, _ *run) {
			u.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Succeeded", "status": "True"}}}
		},
	} {
		u := usersMPIJob()
		d, h, r := openDesk(t, u)
		change(u, r)
		why, err := h.releaseSet(t.Context(), r, "u1")
		if err != nil || !strings.Contains(why, want) || (why == "") != (want == "") || (len(d.asked) == 1) != (want == "") {
			t.Errorf("%q, %v after %q; want %q", why, err, d.asked, want)
		}
		if want == "" && (!strings.Contains(d.asked[0], `{"op":"replace","path":"/metadata/resourceVersion","value":"7"}`) || !strings.Contains(d.asked[0], `"suspend":false`)) {
			t.Errorf("asked for %s", d.asked[0])
		}
	}
	u := usersMPIJob()
	d, h, r := openDesk(t, u)
	u.SetLabels(map[string]string{kube.LabelQueue: "night", kube.LabelRun: r.name})
	if why, err := h.releaseSet(t.Context(), r, "u1"); why != "" || err != nil || len(d.asked) > 0 {
		t.Errorf("released by an earlier incarnation: %q, %v, asked for %q", why, err, d.asked)
	}
}

// Tasks come from others: one may claim to be an object of a kind that no user's set has.
func TestATaskOfAnotherKindIsNoUsersSet(t *testing.T) {
	for _, text := range []string{
		`{"apiVersion":"ray.io/v1","kind":"RayJob","metadata":{"name":"mine","namespace":"default","annotations":{"gridbid.io/release":"u1"}}}`,
		`{"apiVersion":"kubeflow.org/v2beta1","kind":"MPIJob","metadata":{"name":"mine","namespace":"default","annotations":{"gridbid.io/kueue-workload":"w"}}}`,
		`{"apiVersion":7,"kind":"Job","metadata":{"annotations":{"gridbid.io/release":"u1"}}}`,
	} {
		_, h, r := openDesk(t, usersMPIJob())
		r.external, r.launch.Task = external.Loan{}, protocol.Task(text)
		if is, err := h.adoptExternalJob(t.Context(), r); is || err != nil || r.external.Object != "" {
			t.Errorf("%s: taken as a user's: %v, %v", text, is, err)
		}
	}
	_, _, r := openDesk(t, usersMPIJob())
	if !r.isUserSet() {
		t.Error("an MPIJob of a user is no set")
	}
	if r.kind = &jobKinds[len(jobKinds)-1]; r.isUserSet() {
		t.Errorf("a %s is a user's set", r.kind.Kind)
	}
}

// The operator makes the launcher of a suspended MPIJob, of the template that it has then.
func TestALauncherOfBeforeTheReleaseIsMadeAnew(t *testing.T) {
	d, h, r := openDesk(t, usersMPIJob())
	for _, step := range []struct {
		launcher string
		done     bool
		deleted  int
	}{{"", false, 0}, {"before", false, 1}, {"", false, 1}, {r.name, true, 1}} {
		d.launcher = step.launcher
		if err := h.createCompanions(t.Context(), r, d.object); (err == nil) != step.done || len(d.asked) != step.deleted {
			t.Errorf("with launcher %q: %v after %q", step.launcher, err, d.asked)
		}
	}
}

// Its owner's object is suspended, not deleted; one that the owner has deleted is let go, when the
// market has cancelled its job.
func TestALostSetGoesBackToItsOwner(t *testing.T) {
	u := usersMPIJob()
	d, h, r := openDesk(t, u)
	if err := h.informerStores["mpijobs"][0].Add(u); err != nil {
		t.Fatal(err)
	}
	r.terminating.Store(&protocol.Reason{Code: protocol.Evicted})
	if _, err := h.deleteRunAndReportLost(t.Context(), r, nil); err != nil || len(d.asked) != 1 || !strings.Contains(d.asked[0], `"runPolicy":{"suspend":true}`) || !strings.Contains(d.asked[0], `"gridbid.io/run":null`) || strings.Contains(d.asked[0], "finalizers") {
		t.Errorf("%v; asked for %q", err, d.asked)
	}

	at := metav1.NewTime(noon.StdTime())
	u = usersMPIJob()
	u.SetDeletionTimestamp(&at)
	d, h, r = openDesk(t, u)
	if err := h.informerStores["mpijobs"][0].Add(u); err != nil {
		t.Fatal(err)
	}
	r.terminating.Store(&protocol.Reason{Code: protocol.TakenOver})
	if wait, err := h.deleteRunAndReportLost(t.Context(), r, nil); err != nil || wait == 0 || len(d.asked) > 0 {
		t.Errorf("before it is cancelled: %v, %v; asked for %q", wait, err, d.asked)
	}
	r.cancelled.Store(true)
	if _, err := h.deleteRunAndReportLost(t.Context(), r, nil); err != nil || len(d.asked) != 1 || !strings.Contains(d.asked[0], `"finalizers":["example.com/keep"]`) || strings.Contains(d.asked[0], "suspend") {
		t.Errorf("%v; asked for %q", err, d.asked)
	}
}

// An owner deletes a set in the moment in which it is cancelled: suspended, its controller would leave
// its pods as they are for ever. The executor looks again.
func TestASetThatIsDeletedMeanwhileIsLetGo(t *testing.T) {
	u := usersMPIJob()
	d, h, r := openDesk(t, u)
	store := h.informerStores["mpijobs"][0]
	if err := store.Add(u.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	at := metav1.NewTime(noon.StdTime())
	u.SetDeletionTimestamp(&at)
	u.SetResourceVersion(changedVersion)
	r.cancelled.Store(true)
	r.terminating.Store(&protocol.Reason{Code: protocol.Cancelled})
	if _, err := h.deleteRunAndReportLost(t.Context(), r, nil); !apierrors.IsConflict(err) || len(d.asked) > 0 {
		t.Errorf("by what was read before: %v; asked for %q", err, d.asked)
	}
	if err := store.Update(u); err != nil {
		t.Fatal(err)
	}
	if _, err := h.deleteRunAndReportLost(t.Context(), r, nil); err != nil || len(d.asked) != 1 || !strings.Contains(d.asked[0], `"finalizers":["example.com/keep"]`) {
		t.Errorf("read again: %v; asked for %q", err, d.asked)
	}
}

// A user's object that has ended stays, as long as its owner wants.
func TestGarbageCollectionLeavesSetsOfUsers(t *testing.T) {
	u := usersMPIJob()
	d, h, _ := openDesk(t, u)
	if err := h.informerStores["mpijobs"][0].Add(u); err != nil {
		t.Fatal(err)
	}
	for _, since := range []protocol.Time{0, 1} {
		h.garbageCollect(t.Context(), map[types.UID]protocol.Time{"u1": since})
	}
	if len(d.asked) > 0 {
		t.Errorf("asked for %q", d.asked)
	}
	u.SetLabels(map[string]string{kube.LabelOutcomeReported: "true"}) // one of ours
	u.SetAnnotations(nil)
	if h.garbageCollect(t.Context(), map[types.UID]protocol.Time{"u1": 1}); len(d.asked) != 1 {
		t.Errorf("asked for %q; want the deletion of our own", d.asked)
	}
}
