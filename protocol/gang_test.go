package protocol

import (
	"strings"
	"testing"
	"time"
)

func TestWhatIsWrongWithAGangNamesTheField(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Job)
		want   string
	}{
		"right":                          {func(*Job) {}, ""},
		"sums that are none":             {func(j *Job) { j.GPUs = 8 }, "components: gpus, share, cpu and memory of the job are not those"},
		"a share of its own":             {func(j *Job) { j.Share = 1000 }, "components: gpus"},
		"one pod":                        {func(j *Job) { *j = j.WithPods(j.Pods[:1]); j.Pods = aGang.Pods[:1] }, "components: one pod"},
		"no pod":                         {func(j *Job) { *j = withComponent(Component{CPU: 1}) }, "components[1].pods"},
		"more GPUs than a node has":      {func(j *Job) { *j = withComponent(Component{Pods: 1, GPUs: 17, Share: 1000}) }, "components[1].gpus"},
		"half of two GPUs":               {func(j *Job) { *j = withComponent(Component{Pods: 1, GPUs: 2, Share: 500}) }, "components[1].share"},
		"neither GPU nor core":           {func(j *Job) { *j = withComponent(Component{Pods: 1}) }, "components[1].cpu"},
		"a role that another has":        {func(j *Job) { *j = withComponent(Component{Role: "head", Pods: 1, CPU: 1}) }, "components[1].role"},
		"a role longer than any name":    {func(j *Job) { *j = withComponent(Component{Role: strings.Repeat("x", 129), Pods: 1, CPU: 1}) }, "components[1].role"},
		"more pods than a gang may have": {func(j *Job) { *j = withComponent(Component{Pods: 1024, CPU: 1}) }, "components: 1025 pods"},
		"negative memory":                {func(j *Job) { *j = withComponent(Component{Pods: 1, CPU: 1, Memory: -1}) }, "components[1].memory"},
	} {
		j := aGang
		tc.change(&j)
		if got := j.InvalidReason(); !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: InvalidReason = %q, want %q", name, got, tc.want)
		}
	}
}

// withComponent is the gang with another second component.
func withComponent(c Component) Job { return aGang.WithPods([]Component{aGang.Pods[0], c}) }

// A reader of before, which does not know pods, takes no gang for a job that it could run: its share
// cannot be that of one.
func TestAGangLooksInvalidToWhoDoesNotKnowPods(t *testing.T) {
	withoutGPUs := Job{ID: "sum", Run: time.Hour, Arrival: noon, Deadline: noon.Add(3 * time.Hour)}.WithPods([]Component{{Pods: 4, CPU: 1000}})
	for _, j := range []Job{aGang, withoutGPUs} {
		if why := j.InvalidReason(); why != "" {
			t.Errorf("%+v is invalid: %s", j, why)
		}
		j.Pods = nil
		if why := j.InvalidReason(); why == "" {
			t.Errorf("without its pods %+v is a valid job", j)
		}
	}
}

func TestPlacesHaveEachPodOnce(t *testing.T) {
	if why := aGang.InvalidPlaces([]Place{{Pods: 1, Node: "n1"}, {Component: 1, Pods: 1, Node: "n1"}, {Component: 1, Pods: 3, Node: "n2"}}); why != "" {
		t.Errorf("right places are refused: %s", why)
	}
	l := Launch{Job: aGang, Places: gangPlaces}
	if p := l.PartAt(l.PlacesOf()[2]); p.GPUs != 24 || p.CPU != 96_000 || p.IsGang() {
		t.Errorf("three workers are %+v", p)
	}
	l = Launch{Job: aJob, Node: "n4", Devices: []int{2}}
	if all := l.PlacesOf(); len(all) != 1 || all[0].Node != "n4" || l.PartAt(all[0]).GPUs != aJob.GPUs {
		t.Errorf("a job of one pod is at %+v", all)
	}
	if got := (Job{GPUs: 1, Share: 500}).WithPods([]Component{{Pods: 1, GPUs: 2, Share: 1000}}); got.IsGang() || got.GPUs != 2 || got.Share != 1000 || got.Run != time.Duration(0) {
		t.Errorf("one component of one pod makes %+v", got)
	}
}
