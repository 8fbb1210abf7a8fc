package queue

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/podsets"
	"github.com/gridbid/gridbid/protocol"
)

// setOf is an object that a user suspended and queued, with more annotations; GPUS stands for
// the limits of its pods.
func setOf(t *testing.T, group, kind, notes, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"train","namespace":"vision","uid":"9f86","resourceVersion":"1","labels":{"gridbid.io/queue":"night"},"annotations":{"gridbid.io/run":"90m"%s}},"spec":{%s}}`,
		group, kind, notes, strings.ReplaceAll(spec, "POD", `"spec":{"schedulerName":"gridbid","containers":[{"name":"main","image":"registry.example.com/train:7","resources":{"requests":{"cpu":"4","memory":"16Gi"},"limits":{"nvidia.com/gpu":"8"}}}]}`))
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return u
}

// queuedSets are one of each kind that waits, with the components that it is submitted with.
func queuedSets(t *testing.T) map[*unstructured.Unstructured]string {
	return map[*unstructured.Unstructured]string{
		setOf(t, "jobset.x-k8s.io/v1alpha2", "JobSet", "", `"suspend":true,"replicatedJobs":[{"name":"worker","replicas":2,"template":{"spec":{"completionMode":"Indexed","parallelism":3,"completions":3,"template":{POD}}}}]`):   "worker 6",
		setOf(t, "kubeflow.org/v1", "PyTorchJob", "", `"runPolicy":{"suspend":true},"pytorchReplicaSpecs":{"Worker":{"replicas":3,"template":{POD}},"Master":{"template":{POD}}}`):                                                 "master 1 worker 3",
		setOf(t, "kubeflow.org/v2beta1", "MPIJob", "", `"runPolicy":{"suspend":true},"mpiReplicaSpecs":{"Worker":{"replicas":4,"template":{POD}},"Launcher":{"template":{POD}}}`):                                                  "launcher 1 worker 4",
		setOf(t, "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", `,"gridbid.io/replicas":"2"`, `"replicas":0,"leaderWorkerTemplate":{"size":2,"workerTemplate":{POD}}`):                                                          "worker 4",
		setOf(t, "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", `,"gridbid.io/replicas":"2"`, `"replicas":0,"leaderWorkerTemplate":{"size":2,"leaderTemplate":{POD},"workerTemplate":{"metadata":{"labels":{"app":"x"}},POD}}`): "leader 2 worker 2",
	}
}

var pluginSite = Config{Site: "oslo", RunsJobsHere: true, Sharing: kube.SharingDevicePlugin}

func TestASetIsSubmittedWithAComponentForEachRole(t *testing.T) {
	for u, want := range queuedSets(t) {
		k := podsets.KindOf(u.GroupVersionKind())
		s, faults := pluginSite.parseSet(k, u, noon)
		var got []string
		for _, c := range s.Job.Pods {
			got = append(got, fmt.Sprint(c.Role, " ", c.Pods))
			if c.GPUs != 8 || c.Share != 1000 || c.CPU != 4000 || c.Memory != 16<<10 {
				t.Errorf("%s: a pod is %+v", k.Kind, c)
			}
		}
		if j := s.Job; len(faults) > 0 || strings.Join(got, " ") != want || j.ID != "oslo/9f86" || j.Tenant != "oslo/vision" || j.Home != "oslo" || strings.Join(j.Regions, "") != "oslo" ||
			j.Run != 90*time.Minute || j.Arrival != noon || j.Image != "registry.example.com/train:7" || j.GPUs != 8*j.PodCount() {
			t.Errorf("%s: read %+v, %q; want %s", k.Kind, s.Job, faults, want)
		}
		for _, word := range []string{`"gridbid.io/release":"9f86"`, `"kind":"` + k.Kind + `"`, `"name":"train"`, `"namespace":"vision"`} {
			if !strings.Contains(string(s.Task), word) {
				t.Errorf("%s: the task is %s; want in it %s", k.Kind, s.Task, word)
			}
		}
		// What is submitted stays the same when it is released.
		if err := k.SetSuspended(u.Object, false); err != nil {
			t.Fatal(err)
		}
		if again, _ := pluginSite.parseSet(k, u, noon); fmt.Sprint(again) != fmt.Sprint(s) {
			t.Errorf("%s: released it is %+v; was %+v", k.Kind, again, s)
		}
	}
}

func TestFaultsOfASetAreReportedTogether(t *testing.T) {
	job := func(notes, spec string) *unstructured.Unstructured {
		return setOf(t, "kubeflow.org/v1", "PyTorchJob", notes, spec)
	}
	const whole = `"pytorchReplicaSpecs":{"Worker":{"replicas":2,"template":{POD}}}`
	for _, tc := range []struct {
		name string
		c    Config
		u    *unstructured.Unstructured
		want []string
	}{
		{"of its terms and its pods", pluginSite, job(`,"gridbid.io/within":"soon","gridbid.io/regions":"lyon"`, strings.Replace(whole, "POD", `"spec":{"containers":[{"name":"main"}]}`, 1)),
			[]string{`"soon" is not a duration`, `schedulerName of the template of role "worker" is ""`, "annotation gridbid.io/regions"}},
		{"no pods", pluginSite, job("", ""), []string{"spec.pytorchReplicaSpecs is empty"}},
		{"a template that is none", pluginSite, job("", strings.Replace(whole, "POD", `"spec":{"containers":7}`, 1)), []string{`the template of role "worker": `}},
		{"another manager", pluginSite, job("", `"runPolicy":{"managedBy":"kueue.x-k8s.io/multikueue"},`+whole), []string{`managedBy is "kueue.x-k8s.io/multikueue": leave it out`}},
		{"a hub", Config{Site: "oslo", Sharing: kube.SharingDevicePlugin}, job("", whole), []string{"this one runs no jobs itself"}},
		{"device claims", Config{Site: "oslo", RunsJobsHere: true, Sharing: kube.SharingDRA}, job("", whole), []string{"this site allocates GPUs by dra"}},
		{"too large", pluginSite, job("", strings.Replace(whole, `"replicas":2`, `"replicas":2000`, 1)), []string{"pods: want 1..1024"}},
	} {
		_, faults := tc.c.parseSet(&podsets.PyTorchJob, tc.u, noon)
		for _, want := range tc.want {
			if !strings.Contains(strings.Join(faults, "; "), want) {
				t.Errorf("%s: %q; want %q", tc.name, faults, want)
			}
		}
		if len(faults) != len(tc.want) {
			t.Errorf("%s: %q; want %d", tc.name, faults, len(tc.want))
		}
	}
	own := job("", `"runPolicy":{"managedBy":"kubeflow.org/training-operator","activeDeadlineSeconds":3600},`+whole)
	own.SetAnnotations(nil)
	if s, faults := pluginSite.parseSet(&podsets.PyTorchJob, own, noon); len(faults) > 0 || s.Job.Run != time.Hour {
		t.Errorf("its own manager and limit: %q, runs %v", faults, s.Job.Run)
	}
}

// All its pods have an index, run at once, and are bound by us, or may go elsewhere.
func TestAnIndexedJobIsAGang(t *testing.T) {
	indexed, two, four := batchv1.IndexedCompletion, int32(2), int32(4)
	for _, tc := range []struct {
		name   string
		change func(*batchv1.Job)
		pods   int
	}{
		{"one that may go elsewhere", func(*batchv1.Job) {}, 2},
		{"not indexed", func(j *batchv1.Job) { j.Spec.CompletionMode = nil }, 0},
		{"not all at once", func(j *batchv1.Job) { j.Spec.Completions = &four }, 0},
		{"any number of successes", func(j *batchv1.Job) { j.Spec.Completions = nil }, 0},
		{"its cluster's own, bound by us", func(j *batchv1.Job) {
			j.Spec.ManagedBy, j.Spec.Template.Spec.SchedulerName = nil, kube.SchedulerName
		}, 2},
		{"its cluster's own, bound by its scheduler", func(j *batchv1.Job) { j.Spec.ManagedBy = nil }, 0},
	} {
		j := aJob()
		j.Spec.CompletionMode, j.Spec.Completions = &indexed, &two
		tc.change(j)
		s, faults := pluginSite.parseJob(j, noon)
		if want := tc.pods > 0; len(faults) > 0 || s.Job.IsGang() != want || want && s.Job.PodCount() != tc.pods || s.Job.GPUs != 4 {
			t.Errorf("%s: %+v, %q", tc.name, s.Job, faults)
		}
	}
}

// setShelf is a queue whose cluster keeps a set.
func setShelf(t *testing.T, u *unstructured.Unstructured) (*KubeQueue, *shelf) {
	t.Helper()
	s := &shelf{t: t, job: u.Object}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	at := &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	now := noon
	q := New(Config{Site: "oslo", Client: kubernetes.NewForConfigOrDie(at), Dynamic: dynamic.NewForConfigOrDie(at), RunsJobsHere: true, Sharing: kube.SharingDevicePlugin, Now: func() protocol.Time { return now }})
	var err error
	if q.conn, err = new(membus.Bus).Connect(t.Context(), protocol.QueueParty("oslo")); err != nil {
		t.Fatal(err)
	}
	return q, s
}

// look reconciles the set as it stands, some times.
func (s *shelf) look(q *KubeQueue, times int) (u *unstructured.Unstructured) {
	s.t.Helper()
	for range times {
		u = s.object()
		if _, err := q.reconcileSet(s.t.Context(), "set/x", podsets.KindOf(u.GroupVersionKind()), u.DeepCopy()); err != nil {
			s.t.Fatal(err)
		}
	}
	return u
}

// object returns the object as it is.
func (s *shelf) object() *unstructured.Unstructured {
	s.t.Helper()
	data, err := json.Marshal(s.job)
	if err != nil {
		s.t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		s.t.Fatal(err)
	}
	return u
}

func TestASetIsTakenInOnceAndShowsItsState(t *testing.T) {
	for u := range queuedSets(t) {
		q, s := setShelf(t, u)
		if got := s.look(q, 3); len(got.GetFinalizers()) != 1 || got.GetAnnotations()[AnnotationSubmittedAt] != "2022-04-13T12:00:00Z 9f86" || !strings.HasPrefix(got.GetAnnotations()[AnnotationState], "Asking: ") {
			t.Fatalf("%s was not taken in: %v", u.GetKind(), got.Object["metadata"])
		}
		q.handleMessage(protocol.Message{From: protocol.Coordinator, To: protocol.QueueParty("oslo"), Body: protocol.Confirm{Job: "oslo/9f86"}})
		if got := s.look(q, 2); !strings.HasPrefix(got.GetAnnotations()[AnnotationState], "Submitted: ") {
			t.Errorf("%s: its state is %q", u.GetKind(), got.GetAnnotations()[AnnotationState])
		}
		q.handleMessage(protocol.Message{From: protocol.Coordinator, To: protocol.QueueParty("oslo"), Body: protocol.Reject{Job: "oslo/9f86", Why: protocol.Reason{Code: protocol.NoBids}}})
		s.look(q, 3)
		writes := s.writes
		if got := s.look(q, 10); len(got.GetFinalizers()) > 0 || !strings.HasPrefix(got.GetAnnotations()[AnnotationState], "NoOffer: ") || s.writes != writes {
			t.Errorf("%s: closed it is %v, and written to %d times more", u.GetKind(), got.Object["metadata"], s.writes-writes)
		}
		// A copy of it is another set, though it has the annotations of the first.
		s.job["metadata"].(map[string]any)["uid"] = "77aa"
		if got := s.look(q, 2); len(got.GetFinalizers()) != 1 || !strings.HasSuffix(got.GetAnnotations()[AnnotationSubmittedAt], " 77aa") {
			t.Errorf("%s: its copy was not taken in: %v", u.GetKind(), got.Object["metadata"])
		}
	}
}

func TestASetThatCannotWaitIsNotTakenIn(t *testing.T) {
	for u := range queuedSets(t) {
		k := podsets.KindOf(u.GroupVersionKind())
		if err := k.SetSuspended(u.Object, false); err != nil {
			t.Fatal(err)
		}
		q, s := setShelf(t, u)
		if got := s.look(q, 3); len(got.GetFinalizers()) > 0 || !strings.HasPrefix(got.GetAnnotations()[AnnotationState], "NotSuspended: ") || s.writes != 2 {
			t.Errorf("%s: %v after %d writes", k.Kind, got.Object["metadata"], s.writes)
		}
	}
}

// Somebody else released it, or took its label, or deleted it: its job is cancelled.
func TestASetThatIsWithdrawnIsCancelled(t *testing.T) {
	for name, change := range map[string]func(u map[string]any){
		"released": func(u map[string]any) { u["spec"].(map[string]any)["runPolicy"].(map[string]any)["suspend"] = false },
		"unlabeled": func(u map[string]any) {
			delete(u["metadata"].(map[string]any)["labels"].(map[string]any), kube.LabelQueue)
		},
		"deleted": func(u map[string]any) { u["metadata"].(map[string]any)["deletionTimestamp"] = "2022-04-13T12:00:00Z" },
		"ended": func(u map[string]any) {
			u["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Failed", "status": "True"}}}
		},
	} {
		q, s := setShelf(t, setOf(t, "kubeflow.org/v1", "PyTorchJob", "", `"runPolicy":{"suspend":true},"pytorchReplicaSpecs":{"Worker":{"replicas":3,"template":{POD}}}`))
		s.look(q, 3)
		if q.jobNews["oslo/9f86"].cancelled {
			t.Errorf("%s: it was cancelled before", name)
		}
		change(s.job)
		if s.look(q, 1); !q.jobNews["oslo/9f86"].cancelled {
			t.Errorf("%s: it was not cancelled", name)
		}
	}
}
