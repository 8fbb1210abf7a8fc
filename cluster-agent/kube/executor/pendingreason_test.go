package executor

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gridbid/gridbid/protocol"
)

func TestPendingReasonIsReported(t *testing.T) {
	now := noon.Add(10 * time.Minute)
	p := holder("main", "", 2)
	p.Status.Phase = corev1.PodPending
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image \"typo\""}}}}
	h, r := looked(t, &now, `{"apiVersion":"batch/v1","kind":"Job","spec":{"template":`+pod(2)+`}}`, nil, p)
	r.startedAt = 0
	if _, err := h.reconcileRun(t.Context(), r.name); err != nil {
		t.Fatal(err)
	}
	if why := r.terminating.Load(); why == nil || why.Code != protocol.NotStarted || !strings.Contains(why.Note, "ImagePullBackOff: Back-off pulling image") {
		t.Errorf("lost because %+v", why)
	}
}
