package queue

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/protocol"
)

const aStatus = `{"admission":{"clusterQueue":"gpus"},"conditions":[{"type":"QuotaReserved","status":"True","reason":"QuotaReserved"},{"type":"gridbid.io/Placed","status":"False"}],
"admissionChecks":[{"name":"sites","state":"Pending"}],"nominatedClusterNames":["lyon"],"other":{"deep":[1,2]}}`

func picked(t *testing.T, fields string) any {
	t.Helper()
	var status, set map[string]any
	for text, to := range map[string]*map[string]any{aStatus: &status, fields: &set} {
		if err := json.Unmarshal([]byte(text), to); err != nil {
			t.Fatal(err)
		}
	}
	return pickManagedFields(status, set)
}

func TestPickManagedFields(t *testing.T) {
	for fields, want := range map[string]string{
		`{"f:admission":{"f:clusterQueue":{}},"f:nominatedClusterNames":{}}`:                          `{"admission":{"clusterQueue":"gpus"},"nominatedClusterNames":["lyon"]}`,
		`{"f:conditions":{"k:{\"type\":\"QuotaReserved\"}":{".":{},"f:type":{},"f:status":{}}}}`:      `{"conditions":[{"type":"QuotaReserved","status":"True"}]}`,
		`{"f:admissionChecks":{".":{},"k:{\"name\":\"sites\"}":{".":{},"f:name":{}}},"f:nowhere":{}}`: `{"admissionChecks":[{"name":"sites"}]}`,
		`{"f:other":{}}`: `{"other":{"deep":[1,2]}}`,
		`{"f:nominatedClusterNames":{"v:\"lyon\"":{},"v:\"oslo\"":{}}}`: `{"nominatedClusterNames":["lyon"]}`,
	} {
		var is any
		if err := json.Unmarshal([]byte(want), &is); err != nil {
			t.Fatal(err)
		}
		if got := picked(t, fields); !reflect.DeepEqual(got, is) {
			t.Errorf("of %s: %v; want %v", fields, got, is)
		}
	}
}

func TestParseWorkloadPodSets(t *testing.T) {
	w := &workload{}
	if err := json.Unmarshal([]byte(`{"metadata":{"name":"job-train","namespace":"vision","uid":"77"},"spec":{"maximumExecutionTimeSeconds":1800,
"podSets":[{"count":2,"template":{"spec":{"containers":[{"name":"main","image":"registry.example.com/train:7","resources":{"requests":{"cpu":"4"},"limits":{"nvidia.com/gpu":"1"}}}]}}}]}}`), w); err != nil {
		t.Fatal(err)
	}
	s, faults := (&KubeQueue{cfg: Config{Site: "hub", Kueue: &KueueDispatcher{}}}).parseWorkload(w, noon.StdTime())
	if j := s.Job; len(faults) > 0 || j.GPUs != 2 || j.CPU != 8000 || j.Run != 30*time.Minute || j.Image != "registry.example.com/train:7" {
		t.Errorf("read %+v, %q", j, faults)
	}
}

func TestAppliedStatusExcludesOtherFields(t *testing.T) {
	w := &workload{}
	var status map[string]any
	if err := json.Unmarshal([]byte(aStatus), &status); err != nil {
		t.Fatal(err)
	}
	w.object = map[string]any{"status": status}
	entry := func(manager string, op metav1.ManagedFieldsOperationType, sub, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: op, Subresource: sub, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	w.ManagedFields = []metav1.ManagedFieldsEntry{
		entry("other", metav1.ManagedFieldsOperationApply, "status", `{"f:status":{"f:other":{}}}`),
		entry(kueueFieldManager, metav1.ManagedFieldsOperationUpdate, "status", `{"f:status":{"f:conditions":{}}}`),
		entry(kueueFieldManager, metav1.ManagedFieldsOperationApply, "status", `{"f:status":{"f:admission":{"f:clusterQueue":{}}}}`),
	}
	if got, err := appliedStatus(w, kueueFieldManager); err != nil || !reflect.DeepEqual(got, map[string]any{"admission": map[string]any{"clusterQueue": "gpus"}}) {
		t.Errorf("owns %v, %v", got, err)
	}
	w.ManagedFields[2].FieldsV1.SetRawString("{")
	if _, err := appliedStatus(w, kueueFieldManager); err == nil {
		t.Error("fields that cannot be read are taken for none")
	}
}

// Whatever stands in managed fields, nothing is picked that is not there.
func FuzzPick(f *testing.F) {
	f.Add(`{"f:conditions":{"k:{\"type\":\"QuotaReserved\"}":{"f:status":{}},"v:1":{},"k:{":{}}}`)
	f.Fuzz(func(t *testing.T, fields string) {
		var status, set map[string]any
		if json.Unmarshal([]byte(fields), &set) != nil {
			return
		}
		if err := json.Unmarshal([]byte(aStatus), &status); err != nil {
			t.Fatal(err)
		}
		if got, ok := pickManagedFields(status, set).(map[string]any); !ok || len(got) > len(status) {
			t.Errorf("picked %v", got)
		}
	})
}

func TestForgetDeletedObject(t *testing.T) {
	q := New(Config{Site: "hub"})
	for _, store := range []*map[string]cache.Indexer{&q.jobs, &q.workloads} {
		(*store)["vision"] = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	}
	for _, key := range []string{jobKeyPrefix + "vision/train", workloadKeyPrefix + "vision/train"} {
		q.newsOfJob(protocol.JobID(key), key)
		q.reportedStates[key] = "77: it waits"
		if _, err := q.reconcileObject(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if len(q.jobNews) > 0 || len(q.reportedStates) > 0 {
		t.Errorf("of what is gone is known %v and %v", q.jobNews, q.reportedStates)
	}
}
