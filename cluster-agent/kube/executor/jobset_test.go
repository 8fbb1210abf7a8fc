package executor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// driverAndWorkers is a gang of a driver without GPUs and six workers of two.
func driverAndWorkers(task string) protocol.Launch {
	j := protocol.Job{ID: "train"}.WithPods([]protocol.Component{
		{Role: "driver", Pods: 1, CPU: 1000, Memory: 1024},
		{Role: "worker", Pods: 6, GPUs: 2, Share: 1000, CPU: 1000, Memory: 1024},
	})
	return protocol.Launch{Job: j, Epoch: 2, Task: protocol.Task(task), Places: []protocol.Place{
		{Pods: 1, Node: "n1"}, {Component: 1, Pods: 4, Node: "n1"}, {Component: 1, Pods: 2, Node: "n2"}}}
}

// jobSet is a task with two replicatedJobs, of some more fields each.
func jobSet(worker, driver, more string) string {
	return `{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","spec":{` + more + `"replicatedJobs":[` +
		`{"name":"worker",` + worker + `"template":{"metadata":{"annotations":{"alpha.jobset.sigs.k8s.io/exclusive-topology":"rack"}},"spec":{"template":` + pod(2) + `}}},` +
		`{` + driver + `"template":{"spec":{"template":` + pod(0) + `}}}]}}`
}

func TestTaskOfAGangOfSeveralComponentsIsAJobSet(t *testing.T) {
	h := New(Config{Site: "oslo", Sharing: kube.SharingDRA})
	u, k, err := h.buildRunObject(driverAndWorkers(jobSet(`"replicas":2,`, `"name":"driver",`, "")))
	if err != nil {
		t.Fatal(err)
	}
	all, err := k.podTemplatesOf(u.Object)
	if err != nil || len(all) != 2 || all[0].count != 6 || all[1].count != 1 {
		t.Fatalf("its pod templates are %+v, %v; want six pods and one", all, err)
	}
	built, err := json.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"completionMode":"Indexed","completions":3,"parallelism":3`, `"completionMode":"Indexed","completions":1,"parallelism":1`,
		`"gridbid.io/pods-of-job":"3"`, `"resourceClaimTemplateName":"` + kube.RunName("train", 2) + `-c1-g2"`} {
		if !strings.Contains(string(built), want) {
			t.Errorf("built %s; want in it %s", built, want)
		}
	}
	for _, word := range []string{"exclusive-topology", "MASTER_ADDR", "subdomain", "startupPolicy"} {
		if strings.Contains(string(built), word) {
			t.Errorf("built %s; want no %s in it", built, word)
		}
	}
	for i, component := range []string{"1", "0"} {
		if l := all[i].metadata["labels"].(map[string]any); l[kube.LabelComponent] != component || fmt.Sprint(all[i].spec["schedulingGates"]) != "[map[name:gridbid.io/gang]]" {
			t.Errorf("template %d has labels %v and gates %v", i, l, all[i].spec["schedulingGates"])
		}
	}
}

func TestJobSetThatDoesNotStartTogetherIsRefused(t *testing.T) {
	h := New(Config{Site: "oslo", Sharing: kube.SharingDevicePlugin})
	for _, tc := range []struct{ text, want string }{
		{jobSet(`"replicas":4,`, `"name":"driver",`, ""), "has 4 replicas, by which the 6 pods of the component cannot be divided"},
		{jobSet(`"replicas":0,`, `"name":"driver",`, ""), "has 0 replicas"},
		{jobSet("", `"name":"driver",`, `"startupPolicy":{"startupPolicyOrder":"InOrder"},`), "startupPolicyOrder InOrder"},
		{jobSet("", `"name":"driver","dependsOn":[{"name":"worker"}],`, ""), "spec.replicatedJobs[1] has dependsOn"},
		{jobSet("", `"name":"leader",`, ""), "spec.replicatedJobs[1] is named leader"},
		{jobSet("", `"name":"worker",`, ""), "spec.replicatedJobs[1] is named worker"},
		{jobSet("", "", ""), "spec.replicatedJobs[1] is named <nil>"},
		{strings.Replace(jobSet("", `"name":"driver",`, ""), `"spec":{"template"`, `"spec":{"parallelism":5,"template"`, 1), "the task has 5 of spec.replicatedJobs[0].template.spec.parallelism but the job needs 6 pods there"},
		{`{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","spec":{"replicatedJobs":[7,8]}}`, "spec.replicatedJobs[0] is not an object"},
		{objects[4].text, "the task has 1 replicatedJobs but the job has 2 components"},
	} {
		if _, _, err := h.buildRunObject(driverAndWorkers(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", tc.text, err, tc.want)
		}
	}
}

func TestPodsOfAJobSetAreCountedOverItsJobs(t *testing.T) {
	r := &run{launch: driverAndWorkers("")}
	for _, tc := range []struct {
		component, index int
		job, each        string
		place            int
		ok               bool
	}{
		{0, 0, "0", "1", 0, true}, {1, 0, "0", "3", 1, true}, {1, 2, "0", "3", 1, true}, {1, 0, "1", "3", 1, true}, {1, 1, "1", "3", 2, true}, {1, 2, "1", "3", 2, true},
		{1, 3, "0", "3", 0, false}, {1, 0, "2", "3", 0, false}, {1, 0, "-1", "3", 0, false}, {1, 0, "1", "", 0, false}, {2, 0, "0", "3", 0, false},
	} {
		p := gangPod(tc.component, tc.index)
		p.Labels["jobset.sigs.k8s.io/job-index"], p.Annotations[kube.AnnotationPodsOfJob] = tc.job, tc.each
		if place, ok := r.placeOfPod(p); place != tc.place || ok != tc.ok {
			t.Errorf("pod %d of job %s of component %d is at place %d, %v; want %d, %v", tc.index, tc.job, tc.component, place, ok, tc.place, tc.ok)
		}
	}
}

// A JobSet that begins anew deletes the pods of the attempt before, and makes all others.
func TestNothingIsBoundBesidePodsOfAnOlderAttempt(t *testing.T) {
	const attempt = "jobset.sigs.k8s.io/restart-attempt"
	h, r, pods, asked := gangOnTwoNodes(t, "")
	for _, p := range pods {
		p.Labels[attempt] = "1"
	}
	old := gangPod(0, 0)
	old.Name, old.UID, old.Spec.NodeName, old.Labels[attempt] = "old", "old", "n1", "0"
	if err := h.bindGang(t.Context(), r, append(pods, old)); err != nil || len(asked()) > 0 || r.terminating.Load() != nil {
		t.Errorf("%v; asked for %v; it ends because %v", err, asked(), r.terminating.Load())
	}
	old.Status.Phase = "Succeeded"
	if err := h.bindGang(t.Context(), r, append(pods, old)); err != nil || len(asked()) != 6 {
		t.Errorf("%v; asked for %v; want three gates and three bindings", err, asked())
	}
}
