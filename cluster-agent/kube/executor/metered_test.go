package executor

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

// drawing is a pod of which its machine wrote that it drew something from noon on.
func drawing(name string, id types.UID, until protocol.Time, drew protocol.Millijoules, final bool) *corev1.Pod {
	y := podenergy.EnergyTally{Until: until, Final: final}
	y.AddEnergy(noon, noon, drew)
	p := holder(name, "r1", 1)
	p.UID, p.Annotations = id, map[string]string{kube.AnnotationDevices: "0", podenergy.AnnotationEnergy: y.EncodeAnnotation()}
	return p
}

// A controller that starts a program again deletes its pods, and makes others, of the
// same names or of new ones. What each drew counts once, and its plan for none of it.
func TestEnergyOfReplacedPodsCountsOnce(t *testing.T) {
	const kilowatt = 1_000_000
	end := noon.Add(2 * time.Hour)
	first, again := drawing("main", "1", noon.Add(30*time.Minute), 3000, false), drawing("main", "2", end, 4000, true)
	for name, tc := range map[string]struct {
		seen      [][]*corev1.Pod
		want      protocol.Millijoules
		estimated bool
	}{
		"one pod":                  {[][]*corev1.Pod{{again}}, 4000, false},
		"another of the same name": {[][]*corev1.Pod{{first}, {again}}, 7000, true},
		"another of another name":  {[][]*corev1.Pod{{drawing("other", "1", noon.Add(30*time.Minute), 3000, false)}, {again}}, 7000, true},
		"it ended, and is gone":    {[][]*corev1.Pod{{again}, nil}, 4000, false},
		"its end was not written":  {[][]*corev1.Pod{{drawing("main", "1", end.Add(-time.Minute), 3000, false)}, nil}, 3000 + 60*kilowatt, true},
	} {
		now := end
		h := bare(Config{}, &now)
		r := &run{name: "r1", startedAt: noon, launch: protocol.Launch{Power: kilowatt}}
		for _, pods := range tc.seen {
			h.readPodEnergyTallies(r, pods)
		}
		draw, estimated := h.energyOfRun(r, noon, end)
		if got := (podenergy.EnergyTally{Hours: draw}).TotalEnergy(); got != tc.want || estimated != tc.estimated {
			t.Errorf("%s: %d mJ, an estimate: %v; want %d, %v", name, got, estimated, tc.want, tc.estimated)
		}
	}
}

// What a machine whose clock is ahead has yet to write is not waited for until that time
// has come: its cards would be idle for so long.
func TestFinalTallyTimeoutIgnoresNodeClockSkew(t *testing.T) {
	now := noon
	h := bare(Config{EnergyReportTimeout: 30 * time.Second}, &now)
	r := &run{name: "r1", startedAt: noon.Add(-time.Hour), launch: protocol.Launch{Power: 1000}}
	p := drawing("main", "1", noon, 3000, false)
	p.Status.Phase = corev1.PodSucceeded
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		FinishedAt: metav1.NewTime(noon.Add(3 * time.Hour).StdTime())}}}}
	h.readPodEnergyTallies(r, []*corev1.Pod{p})
	if left := h.outcomeDelay(r, []*corev1.Pod{p}); left <= 0 || left > 30*time.Second {
		t.Errorf("when it has ended %v are waited", left)
	}
	now = noon.Add(31 * time.Second)
	if left := h.outcomeDelay(r, []*corev1.Pod{p}); left > 0 {
		t.Errorf("after that %v are waited", left)
	}
}
