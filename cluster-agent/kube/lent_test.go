package kube

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a template carries of an earlier run is taken off before it is released.
func TestAJobThatIsReleasedCarriesNothingOfAnEarlierRun(t *testing.T) {
	now := noon
	h := bare(Config{}, &now)
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}
	j.Spec.Template.Annotations = map[string]string{"gridbid.io/drew": "{}", "gridbid.io/power": "{}", "note": "kept"}
	data, err := h.freedom(&run{name: "r1"}, j, &corev1.Node{})
	if err != nil || !strings.Contains(string(data), `"gridbid.io/drew":null`) || strings.Contains(string(data), `"gridbid.io/power":null`) || strings.Contains(string(data), `"note"`) {
		t.Errorf("%s, %v", data, err)
	}
}
