package executor

import (
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// The webhook of Jobs is down: a Job that cannot be released keeps no room for ever. It
// is not suspended again, which it is, and which would fail, too.
func TestFailedReleaseEndsRunAtStartTimeout(t *testing.T) {
	now := noon
	h := served(t, &now, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"mine","namespace":"default","uid":"u1","labels":{"gridbid.io/queue":"night"}},"spec":{"suspend":true,"template":{"spec":{}}}}`)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","message":"failed calling webhook","code":500}`)
	})
	if err := h.inv.NodeCache.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); err != nil {
		t.Fatal(err)
	}
	h.startRun(protocol.Launch{Job: protocol.Job{ID: "oslo/u1"}, Epoch: 1, Node: "n1",
		Task: `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"mine","namespace":"default","annotations":{"gridbid.io/release":"u1"}}}`})
	name := kube.RunName("oslo/u1", 1)
	for range 3 {
		if _, err := h.reconcileRun(t.Context(), name); err == nil || len(h.endedRuns) > 0 {
			t.Fatalf("at first it is retried: %v, reported %v", err, h.endedRuns)
		}
		now = now.Add(h.cfg.StartTimeout / 2)
	}
	if _, err := h.reconcileRun(t.Context(), name); err != nil || h.runs[name] != nil || len(h.endedRuns) != 1 {
		t.Fatalf("%v; reported %v", err, h.endedRuns)
	}
	if x, ok := h.endedRuns[0].outcome.(protocol.Interrupted); !ok || x.Why.Code != protocol.NotStarted || !strings.Contains(x.Why.Note, "webhook") {
		t.Errorf("reported %+v", h.endedRuns[0].outcome)
	}
}
