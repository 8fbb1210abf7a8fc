package executor

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// partLaunch returns the launch of one of the parts of a job, each on nodes n1, n2, ..., a pod on each.
func partLaunch(part int, task string, divide func(protocol.Job) protocol.Job, all ...protocol.Component) protocol.Launch {
	j := divide(protocol.Job{ID: "wide", MaxSites: 2, Arrival: 1, Run: time.Hour, Deadline: 1 << 40}.WithPods(all))
	l := protocol.Launch{Epoch: 3, Job: j.PartJobs()[part], Task: protocol.Task(task), Power: 1000}
	for c := range max(1, len(l.Job.Pods)) {
		pods := 1
		if l.Job.IsGang() {
			pods = l.Job.Pods[c].Pods
		}
		for range pods {
			l.Places = append(l.Places, protocol.Place{Component: c, Pods: 1, Node: "n" + string(rune('1'+len(l.Places))), Devices: []int{0, 1}})
		}
	}
	l.Node, l.Devices = l.Places[0].Node, l.Places[0].Devices
	if !l.Job.IsGang() {
		l.Places = nil
	}
	return l
}

// equalParts divides a job into so many equal parts.
func equalParts(n int) func(protocol.Job) protocol.Job {
	return func(j protocol.Job) protocol.Job { j, _ = j.WithEqualParts(n); return j }
}

var worker = protocol.Component{Role: "worker", Pods: 4, GPUs: 2, Share: 1000, CPU: 1000, Memory: 1024}

// The Job of a part has its own pods, and tells them of those of all parts.
func TestTaskOfAPartHasTheRanksOfTheWhole(t *testing.T) {
	h := New(Config{Site: "oslo", Sharing: kube.SharingDRA, Namespaces: []string{"ml"}})
	text := `{"apiVersion":"batch/v1","kind":"Job","spec":{"parallelism":4,"completions":4,"template":` + pod(2) + `}}`
	first, second := kube.RunName("wide.1", 3), kube.RunName("wide.2", 3)
	away := `{"name":"MASTER_ADDR","value":"` + first + `-leader.ml.svc.clusterset.local"}`
	rank := `{"name":"RANK","valueFrom":{"fieldRef":{"fieldPath":"metadata.annotations['gridbid.io/rank']"}}}`
	for name, tc := range map[string]struct {
		launch protocol.Launch
		want   []string
	}{
		"the first of two": {partLaunch(0, text, equalParts(2), worker), []string{`"parallelism":2`, `"completions":2`, `{"name":"WORLD_SIZE","value":"4"}`, rank,
			`{"name":"MASTER_ADDR","value":"` + first + `-0.` + first + `"}`, `"subdomain":"` + first + `"`}},
		"the second": {partLaunch(1, text, equalParts(2), worker), []string{`"parallelism":2`, `{"name":"WORLD_SIZE","value":"4"}`, rank, away, `"subdomain":"` + second + `"`}},
		"one of one pod": {partLaunch(1, text, equalParts(4), worker), []string{`"parallelism":1`, `"completions":1`, `"completionMode":"Indexed"`,
			`{"name":"WORLD_SIZE","value":"4"}`, rank, away, `"gridbid.io/rank":"1"`}},
	} {
		u, _, err := h.buildRunObject(tc.launch)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		built, err := json.Marshal(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tc.want {
			if !strings.Contains(string(built), want) {
				t.Errorf("%s lacks %s: %s", name, want, built)
			}
		}
	}
	if _, _, err := h.buildRunObject(partLaunch(0, strings.Replace(text, "4", "3", 2), equalParts(2), worker)); err == nil || !strings.Contains(err.Error(), "3 of spec.parallelism") {
		t.Errorf("a task of 3 pods for a part of 2 of 4: %v", err)
	}
}

// Of a JobSet a part has the replicatedJobs of its own components.
func TestTaskOfAPartHasItsComponentsAlone(t *testing.T) {
	h := New(Config{Site: "oslo", Sharing: kube.SharingDRA})
	job := func(name string, pods string) string {
		return `{"name":"` + name + `","template":{"spec":{"parallelism":` + pods + `,"template":` + pod(2) + `}}}`
	}
	text := `{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","spec":{"replicatedJobs":[` + job("actor", "2") + `,` + job("learner", "4") + `]}}`
	learner, actor := worker, worker
	learner.Role, actor.Role, actor.Pods = "learner", "actor", 2
	byRole := func(j protocol.Job) protocol.Job {
		j.Parts = []protocol.Part{{Name: "a", Pods: []int{2, 0}}, {Name: "l", Pods: []int{0, 4}}}
		return j
	}
	for part, want := range []string{"actor", "learner"} {
		u, _, err := h.buildRunObject(partLaunch(part, text, byRole, actor, learner))
		if err != nil {
			t.Fatal(err)
		}
		if list := childMap(u.Object, "spec")["replicatedJobs"].([]any); len(list) != 1 || list[0].(map[string]any)["name"] != want {
			t.Errorf("part %d has the replicatedJobs %v; want %s", part, list, want)
		}
	}
}

// Ranks go on from part to part, and from component to component.
func TestRanksOfPartsFollowEachOther(t *testing.T) {
	head := protocol.Component{Role: "head", Pods: 2, CPU: 1000}
	next := 0
	for part := range 2 {
		l := partLaunch(part, "", equalParts(2), head, worker)
		r := &run{launch: l}
		for c := range l.Job.Pods {
			for i := range l.Job.Pods[c].Pods {
				p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{kube.LabelComponent: string(rune('0' + c))},
					Annotations: map[string]string{"batch.kubernetes.io/job-completion-index": string(rune('0' + i)), kube.AnnotationPodsOfJob: "9"}}}
				if got, ok := r.rankOf(p); !ok || got != next {
					t.Errorf("pod %d of component %d of part %d has rank %d, %t; want %d", i, c, part, got, ok, next)
				}
				next++
			}
		}
	}
}
