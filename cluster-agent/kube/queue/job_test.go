package queue

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// A shelf is an API server that keeps one Job, and counts what is written to it.
type shelf struct {
	t      *testing.T
	job    map[string]any
	writes int
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		s.t.Error(err)
	}
	s.writes++
	answer := s.job
	switch path.Base(r.URL.Path) {
	case "status":
		s.job["status"] = body["status"]
	case "events":
		s.job["events"], answer = body, body
	default:
		merge(s.job, body)
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.t.Error(err)
	}
}

// merge is what a merge patch does.
func merge(into, patch map[string]any) {
	for k, v := range patch {
		inner, ok := v.(map[string]any)
		have, there := into[k].(map[string]any)
		switch {
		case v == nil:
			delete(into, k)
		case ok && there:
			merge(have, inner)
		default:
			into[k] = v
		}
	}
}

// read is the Job as it stands.
func (s *shelf) read() *batchv1.Job {
	j := &batchv1.Job{}
	data, err := json.Marshal(s.job)
	if err == nil {
		err = json.Unmarshal(data, j)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return j
}

// newShelf returns a queue whose cluster keeps a Job, and that cluster.
func newShelf(t *testing.T, j *batchv1.Job) (*KubeQueue, *shelf) {
	t.Helper()
	s := &shelf{t: t}
	data, err := json.Marshal(j)
	if err == nil {
		err = json.Unmarshal(data, &s.job)
	}
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	now := noon
	q := New(Config{Site: "oslo", Client: kubernetes.NewForConfigOrDie(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}), RunsJobsHere: true, Sharing: kube.SharingDevicePlugin, Now: func() protocol.Time { return now }})
	if q.conn, err = new(membus.Bus).Connect(t.Context(), protocol.QueueParty("oslo")); err != nil {
		t.Fatal(err)
	}
	return q, s
}

func TestRefusedLocalJobIsReleasedForGood(t *testing.T) {
	j := aJob()
	j.Spec.ManagedBy, j.Labels = nil, map[string]string{kube.LabelQueue: "night"}
	q, s := newShelf(t, j)
	look := func(times int) {
		for range times {
			if _, err := q.reconcileJob(t.Context(), s.read()); err != nil {
				t.Fatal(err)
			}
		}
	}
	look(3)
	if got := s.read(); len(got.Finalizers) != 1 || placedCondition(got) == nil {
		t.Fatalf("it was not taken in: %+v", got)
	}
	q.handleMessage(protocol.Message{From: protocol.Coordinator, To: protocol.QueueParty("oslo"), Body: protocol.Reject{Job: "oslo/9f86", Why: protocol.Reason{Code: protocol.NoBids}}})
	look(3)
	writes := s.writes
	look(10)
	got := s.read()
	if s.writes != writes || len(got.Finalizers) != 0 || placedCondition(got).Reason != "NoOffer" || len(q.jobNews) != 0 {
		t.Errorf("%d writes more; it is %+v, and known as %v", s.writes-writes, got, q.jobNews)
	}
}

// One that was evicted and whose pods may not fail has failed for good.
func TestLocalJobEndedWhileWaitingIsCancelled(t *testing.T) {
	j := aJob()
	j.Spec.ManagedBy, j.Labels = nil, map[string]string{kube.LabelQueue: "night"}
	q, s := newShelf(t, j)
	look := func(change func(*batchv1.Job)) bool {
		j := s.read()
		change(j)
		if _, err := q.reconcileJob(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		return q.newsOfJob("oslo/9f86", "").cancelled
	}
	failed := func(j *batchv1.Job) {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: batchv1.JobFailed, Status: "True"})
	}
	for range 3 {
		if look(func(*batchv1.Job) {}) {
			t.Fatal("it is taken back before it ended")
		}
	}
	if look(func(j *batchv1.Job) { failed(j); j.Labels[kube.LabelRun] = "r1" }) {
		t.Error("a run that ended was cancelled: its executor reports the outcome")
	}
	if !look(failed) {
		t.Error("it is still for sale")
	}
}
