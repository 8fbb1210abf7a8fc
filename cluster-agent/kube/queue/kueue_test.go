package queue

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fakedynamic "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
)

// A queue that is to serve Kueue, in a cluster without it, would wait in silence for
// what will not come.
func TestAQueueSaysThatItsClusterHasNoKueue(t *testing.T) {
	lists := map[schema.GroupVersionResource]string{
		kueues("admissionchecks"): "AdmissionCheckList", kueues("multikueueconfigs"): "MultiKueueConfigList", kueues("workloads"): "WorkloadList",
	}
	for _, there := range []bool{false, true} {
		client := fake.NewClientset()
		if there {
			client.Resources = []*metav1.APIResourceList{{GroupVersion: served.String()}}
		}
		var log strings.Builder
		q := New(Config{
			Site: "oslo", Client: client, Dynamic: fakedynamic.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists),
			Kueue: &Kueue{}, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := q.watch(ctx); err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(log.String(), "no Kueue"); said == there {
			t.Errorf("Kueue is there: %v; the log says:\n%s", there, log.String())
		}
	}
}
