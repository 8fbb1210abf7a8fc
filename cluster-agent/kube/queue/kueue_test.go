package queue

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fakedynamic "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A queue that is to serve Kueue, in a cluster without it, would wait in silence for
// what will not come.
func TestMissingKueueIsLogged(t *testing.T) {
	lists := map[schema.GroupVersionResource]string{
		kueueResource("admissionchecks"): "AdmissionCheckList", kueueResource("multikueueconfigs"): "MultiKueueConfigList", kueueResource("workloads"): "WorkloadList",
	}
	for _, there := range []bool{false, true} {
		client := fake.NewClientset()
		if there {
			client.Resources = []*metav1.APIResourceList{{GroupVersion: kueueGroupVersion.String()}}
		}
		var log strings.Builder
		q := New(Config{
			Site: "oslo", Client: client, Dynamic: fakedynamic.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists),
			Kueue: &KueueDispatcher{}, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := q.startInformers(ctx); err != nil {
			t.Fatal(err)
		}
		if logged := strings.Contains(log.String(), "does not serve Kueue"); logged == there {
			t.Errorf("Kueue is there: %v; the log says:\n%s", there, log.String())
		}
	}
}

// asked counts the messages to the market.
type asked struct {
	bus.Conn
	times int
}

func (a *asked) Send(_ context.Context, ms ...protocol.Message) error {
	a.times += len(ms)
	return nil
}

// The market is asked about a Workload that it refused no more than once, for as long as
// that waits.
func TestRefusedWorkloadIsNotResubmitted(t *testing.T) {
	object := func(text string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		return u
	}
	w := object(`{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"train","namespace":"vision","uid":"77","finalizers":["gridbid.io/queue"],
"annotations":{"gridbid.io/submitted":"2026-01-02T12:00:00Z","gridbid.io/regions":"lyon"}},"spec":{"podSets":[{"count":1,"template":{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"1"}}}]}}}]},
"status":{"conditions":[{"type":"QuotaReserved","status":"True","lastTransitionTime":"2026-01-02T12:00:00Z"}],"admissionChecks":[{"name":"sites","state":"Pending"}]}}`)
	now := noon
	q := New(Config{
		Site: "hub", Kueue: &KueueDispatcher{}, Client: fake.NewClientset(), Dynamic: fakedynamic.NewSimpleDynamicClient(runtime.NewScheme(), w.DeepCopy()), Now: func() protocol.Time { return now },
	})
	market := &asked{}
	q.conn = market
	shelf := func(all ...*unstructured.Unstructured) cache.Indexer {
		in := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
		for _, u := range all {
			if err := in.Add(u); err != nil {
				t.Fatal(err)
			}
		}
		return in
	}
	q.workloads["vision"] = shelf(w)
	q.checks = kueueAdmission{shelf(object(`{"metadata":{"name":"sites"},"spec":{"controllerName":"kueue.x-k8s.io/multikueue","parameters":{"name":"all"}}}`)),
		shelf(object(`{"metadata":{"name":"all"},"spec":{"clusters":["lyon"]}}`))}
	look := func() {
		t.Helper()
		if _, err := q.reconcileObject(t.Context(), workloadKeyPrefix+"vision/train"); err != nil {
			t.Fatal(err)
		}
	}
	look()
	if market.times != 1 {
		t.Fatalf("the market was asked %d times", market.times)
	}
	q.handleMessage(protocol.Message{From: protocol.Coordinator, To: protocol.QueueParty("hub"), Body: protocol.Reject{Job: "hub/77-1767355200", Why: protocol.Reason{Code: protocol.NoBids}}})
	for range 5 {
		look()
		now = now.Add(q.cfg.StatusInterval)
	}
	if market.times != 1 {
		t.Errorf("it was asked %d times", market.times)
	}
	if err := unstructured.SetNestedSlice(w.Object, nil, "status", "conditions"); err != nil { // Kueue took its reservation back
		t.Fatal(err)
	}
	look()
	if len(q.jobNews) != 0 {
		t.Errorf("what is over is kept in mind: %v", q.jobNews)
	}
}

// A queue whose clock was a day ahead when it asked does not wait for that day.
func TestClockSetBackQueriesAtOnce(t *testing.T) {
	now, port := noon.Add(24*time.Hour), &asked{}
	q := New(Config{Site: "oslo", Now: func() protocol.Time { return now }})
	q.conn = port
	q.newsOfJob("j", "job/default/j")
	s := protocol.Submit{Job: protocol.Job{ID: "j"}}
	for _, at := range []protocol.Time{now, noon, noon.Add(time.Second)} {
		now = at
		if again, err := q.submitAndQueryStatus(t.Context(), s, false); err != nil || again > q.cfg.StatusInterval {
			t.Errorf("at %v: %v; it asks again in %v", at, err, again)
		}
	}
	if port.times != 2 {
		t.Errorf("it asked %d times; want once by each clock", port.times)
	}
}
