package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/gridbid/gridbid/protocol"
)

func TestAPodWhoseNodeHasJustGoneIsNotBound(t *testing.T) {
	now := noon
	h := bare(Config{}, &now)
	r := &run{launch: protocol.Launch{Node: "n1"}}
	p := &corev1.Pod{Spec: corev1.PodSpec{SchedulerName: Scheduler}}
	if err := h.bind(t.Context(), r, p, []*corev1.Pod{p}); err != nil || r.leaving != nil {
		t.Errorf("%v, leaving because %v", err, r.leaving)
	}
}
