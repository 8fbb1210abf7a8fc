package executor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// replicas is a role of one of Kubeflow's kinds.
func replicas(role string, n, gpus int) string {
	return fmt.Sprintf(`%q:{"replicas":%d,"template":%s}`, role, n, pod(gpus))
}

// Each role of the object is a component, of the same name, whatever their order.
func TestPodsOfASetWaitAsThoseOfTheirComponent(t *testing.T) {
	h := New(Config{Site: "oslo", Sharing: kube.SharingDRA})
	lws := func(more string) string {
		return `{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","metadata":{"annotations":{"leaderworkerset.sigs.k8s.io/exclusive-topology":"rack"}},"spec":{"replicas":2,` + more + `}}`
	}
	driver := driverAndWorkers("").Job.Pods[0]
	worker := driverAndWorkers("").Job.Pods[1]
	role := func(c protocol.Component, role string, n int) protocol.Component {
		c.Role, c.Pods = role, n
		return c
	}
	for _, tc := range []struct {
		name, task string
		components []protocol.Component
		want       []string // of each template: its component, its pods of one Job or group, its claims
	}{
		{"a PyTorchJob", `{"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob","spec":{"runPolicy":{"suspend":true},"pytorchReplicaSpecs":{` + replicas("Worker", 6, 2) + `,` + replicas("Master", 1, 0) + `}}}`,
			[]protocol.Component{role(worker, "worker", 6), role(driver, "master", 1)}, []string{"1 1 ", "0 6 c0-g2"}},
		{"an MPIJob", `{"apiVersion":"kubeflow.org/v2beta1","kind":"MPIJob","spec":{"mpiReplicaSpecs":{` + replicas("Worker", 6, 2) + `,` + replicas("Launcher", 1, 0) + `}}}`,
			[]protocol.Component{role(driver, "Launcher", 1), role(worker, "Worker", 6)}, []string{"0 1 ", "1 6 c1-g2"}},
		{"groups of a leader and three workers", lws(`"leaderWorkerTemplate":{"size":4,"leaderTemplate":` + pod(0) + `,"workerTemplate":` + pod(2) + `}`),
			[]protocol.Component{role(driver, "leader", 2), role(worker, "worker", 6)}, []string{"0 1 ", "1 3 c1-g2"}},
		{"groups of three that are alike", lws(`"leaderWorkerTemplate":{"size":3,"workerTemplate":` + pod(2) + `}`),
			[]protocol.Component{role(worker, "any", 6)}, []string{"0 3 c0-g2"}},
	} {
		j := protocol.Job{ID: "train"}.WithPods(tc.components)
		u, k, err := h.buildRunObject(protocol.Launch{Job: j, Epoch: 2, Task: protocol.Task(tc.task)})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		all, err := k.podTemplatesOf(u.Object)
		if err != nil || len(all) != len(tc.want) {
			t.Fatalf("%s: its templates are %+v, %v", tc.name, all, err)
		}
		for i, x := range all {
			claim := ""
			if list, _ := x.spec["resourceClaims"].([]any); len(list) == 1 {
				claim = strings.TrimPrefix(list[0].(map[string]any)["resourceClaimTemplateName"].(string), kube.RunName("train", 2)+"-")
			}
			if got := fmt.Sprint(childMap(x.metadata, "labels")[kube.LabelComponent], " ", childMap(x.metadata, "annotations")[kube.AnnotationPodsOfJob], " ", claim); got != tc.want[i] ||
				fmt.Sprint(x.spec["schedulingGates"]) != "[map[name:gridbid.io/gang]]" || x.spec["schedulerName"] != kube.SchedulerName {
				t.Errorf("%s: template %d is of %s with gates %v; want %s", tc.name, i, got, x.spec["schedulingGates"], tc.want[i])
			}
		}
		text, err := json.Marshal(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"exclusive-topology", "MASTER_ADDR", `"suspend":true`} {
			if strings.Contains(string(text), word) {
				t.Errorf("%s: built %s; want no %s in it", tc.name, text, word)
			}
		}
	}
}

func TestASetThatIsNotTheJobsIsRefused(t *testing.T) {
	h := New(Config{Site: "oslo", Sharing: kube.SharingDevicePlugin})
	pyTorch := func(roles string) string {
		return `{"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob","spec":{"pytorchReplicaSpecs":{` + roles + `}}}`
	}
	for _, tc := range []struct{ text, want string }{
		{pyTorch(replicas("Worker", 6, 2)), "PyTorchJob has 1 roles but the job has 2 components"},
		{pyTorch(replicas("Worker", 6, 2) + "," + replicas("Master", 1, 0)), "has the role master, of which the job has no component"},
		{pyTorch(replicas("Worker", 6, 2) + "," + replicas("worker", 6, 2)), "has the role worker, of which the job has no component of its own"},
		{pyTorch(replicas("Worker", 5, 2) + "," + replicas("Driver", 1, 0)), "has 5 pods of role worker but the job's component has 6"},
		{pyTorch(""), "the task's spec.pytorchReplicaSpecs is empty"},
		{`{"apiVersion":"kubeflow.org/v2beta1","kind":"MPIJob","spec":{"launcherCreationPolicy":"WaitForWorkersReady"}}`, "the task's spec.launcherCreationPolicy is WaitForWorkersReady, but all pods start together: leave it out"},
		{objects[2].text, "a TFJob runs on one node here"},
	} {
		if _, _, err := h.buildRunObject(driverAndWorkers(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", tc.text, err, tc.want)
		}
	}
}
