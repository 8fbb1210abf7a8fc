package external

import (
	"encoding/json"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/inventory"
	"github.com/gridbid/gridbid/protocol"
)

// What a template carries of an earlier run is taken off before it is released.
func TestReleaseClearsMarksOfEarlierRun(t *testing.T) {
	x := &Jobs{Inventory: &inventory.Inventory{Config: inventory.Config{Site: "oslo", Sharing: kube.SharingDevicePlugin, Power: power.DefaultTable()}}}
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}
	j.Spec.Template.Annotations = map[string]string{"gridbid.io/drew": "{}", "gridbid.io/power": "{}", "note": "kept"}
	data, err := x.releasePatch(Run{Name: "r1"}, j, &corev1.Node{})
	if err != nil || !strings.Contains(string(data), `"gridbid.io/drew":null`) || strings.Contains(string(data), `"gridbid.io/power":null`) || strings.Contains(string(data), `"note"`) {
		t.Errorf("%s, %v", data, err)
	}
}

// A machine looks after pods that say that they have cards. What the cluster's own
// scheduler binds learns it from no other annotation.
func TestReleaseForOtherSchedulerCarriesDevices(t *testing.T) {
	x := &Jobs{Inventory: &inventory.Inventory{Config: inventory.Config{Site: "oslo", Sharing: kube.SharingDevicePlugin, Power: power.DefaultTable()}}}
	for scheduler, want := range map[string]bool{"": true, corev1.DefaultSchedulerName: true, kube.SchedulerName: false} {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}
		j.Spec.Template.Spec.SchedulerName = scheduler
		for _, devices := range [][]int{{2, 3}, nil} {
			data, err := x.releasePatch(Run{Name: "r1", Launch: protocol.Launch{Devices: devices}}, j, &corev1.Node{})
			if got := strings.Contains(string(data), `"gridbid.io/devices":"2,3"`); err != nil || got != (want && len(devices) > 0) {
				t.Errorf("scheduler %q, devices %v: %s, %v", scheduler, devices, data, err)
			}
		}
	}
}

// A user may take the label away while the object runs; it stays the user's.
func TestAnObjectThatWasSubmittedIsItsUsersForGood(t *testing.T) {
	for text, want := range map[string]Loan{
		`{"metadata":{"name":"mine","labels":{"gridbid.io/queue":"night"}}}`:                      {Object: "mine"},
		`{"metadata":{"name":"mine","annotations":{"gridbid.io/submitted":"2026-01-02T12:00Z"}}}`: {Object: "mine"},
		`{"metadata":{"name":"mine","annotations":{"gridbid.io/kueue-workload":"w"}}}`:            {Object: "mine", Kueue: "w"},
		`{"metadata":{"name":"ours","labels":{"gridbid.io/run":"r"}}}`:                            {},
	} {
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		if got := LoanOf(u); got != want {
			t.Errorf("%s is on loan as %+v; want %+v", text, got, want)
		}
	}
}
