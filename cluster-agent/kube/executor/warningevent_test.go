package executor

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube/external"
	"github.com/gridbid/gridbid/protocol"
)

// A Job that waits in its own cluster keeps its name from run to run. What was
// refused of an earlier one is delivered once more when its event expires.
func TestFailedCreateEventsMatchTheirRun(t *testing.T) {
	at := func(t protocol.Time) metav1.Time { return metav1.NewTime(t.StdTime()) }
	for _, tc := range []struct {
		name    string
		created protocol.Time
		event   corev1.Event
		refused bool
	}{
		{"its own", noon, corev1.Event{LastTimestamp: at(noon.Add(time.Second))}, true},
		{"its own, in whole seconds", noon.Add(900 * time.Millisecond), corev1.Event{LastTimestamp: at(noon)}, true},
		{"its own, before the server has answered us", 0, corev1.Event{LastTimestamp: at(noon.Add(time.Hour))}, true},
		{"its own, in the newer form", noon, corev1.Event{EventTime: metav1.NewMicroTime(noon.StdTime())}, true},
		{"its own, repeated", noon, corev1.Event{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(noon.Add(-time.Hour))},
			Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(noon.Add(time.Second).StdTime())}}, true},
		{"of the run before", noon, corev1.Event{LastTimestamp: at(noon.Add(-10 * time.Minute))}, false},
		{"of the run before, while this one is asked for", 0, corev1.Event{LastTimestamp: at(noon)}, false},
	} {
		now := noon.Add(time.Hour)
		h := bare(Config{}, &now)
		h.runs["r2"] = &run{name: "r2", namespace: "default", kind: &jobKinds[0], createdAt: tc.created, external: external.Loan{Object: "train"}}
		e := tc.event
		e.Message, e.InvolvedObject = `pods "train-x" is forbidden: exceeded quota: small`, corev1.ObjectReference{Name: "train", Namespace: "default"}
		h.onWarningEvent(&e)
		if refused := h.createFailures["r2"] != ""; refused != tc.refused {
			t.Errorf("%s: refused %v, want %v", tc.name, refused, tc.refused)
		}
	}
}
