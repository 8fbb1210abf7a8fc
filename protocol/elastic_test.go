package protocol

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestWhatIsWrongWithAnElasticJobNamesTheField(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Job)
		want   string
	}{
		"right":                    {func(*Job) {}, ""},
		"one pod":                  {func(j *Job) { *j = j.AtPods(1) }, ""},
		"fewer pods, too":          {func(j *Job) { j.MinPods = 2 }, "min_available: the job is elastic"},
		"groups":                   {func(j *Job) { j.Groups = []PodGroup{{Level: "rack", Pods: 2}} }, "components[0].groups: the job is elastic"},
		"no component":             {func(j *Job) { *j = j.PodsOf(0, 1); j.Speed = anElastic.Speed }, "components: a job without them"},
		"two components":           {func(j *Job) { *j = j.WithPods(aGang.Pods) }, "components: an elastic job has one component"},
		"one point":                {func(j *Job) { j.Speed = j.Speed[1:2] }, "components[0].speed: 1 points"},
		"pods that fall":           {func(j *Job) { j.Speed[2].Pods = 3 }, "components[0].speed[2]: 3 pods after 4"},
		"a speed that falls":       {func(j *Job) { j.Speed[2].Speed = 3100 }, "components[0].speed[2]: not above the speed on 4 pods"},
		"no speed":                 {func(j *Job) { j.Speed[1].Speed = 0 }, "components[0].speed[1]: want a speed above 0"},
		"one pod is not the unit":  {func(j *Job) { j.Speed[0].Speed = 900 }, "components[0].speed[0]: one pod has the speed 1"},
		"no pods":                  {func(j *Job) { j.Speed[0].Pods = 0 }, "components[0].speed[0]: 0 pods"},
		"more pods than a job has": {func(j *Job) { j.Speed[2].Pods = 1025 }, "components[0].speed[2]: 1025 pods"},
		"pods outside of it":       {func(j *Job) { j.Speed = j.Speed[:2]; *j = j.WithPods([]Component{{Pods: 5, CPU: 1}}) }, "components[0].pods: 5"},
		"no run time":              {func(j *Job) { j.Run = 0 }, "run: an elastic job says"},
		"too long on one pod":      {func(j *Job) { j.Run = 600 * time.Hour }, "components[0].speed[0]: on 1 pods"},
	} {
		j := anElastic
		j.Speed = append([]SpeedPoint(nil), anElastic.Speed...)
		tc.change(&j)
		if got := j.InvalidReason(); !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: InvalidReason = %q, want %q", name, got, tc.want)
		}
	}
	if why := (func() Job { j := anElastic; j.Pods = nil; return j })().InvalidReason(); why == "" {
		t.Error("a reader that does not know pods takes an elastic job for one of one pod")
	}
}

// G-E3: 16 hours of one pod's work at speed n^0.8.
func TestAnElasticJobTakesLessTimeOnMorePods(t *testing.T) {
	j := Job{ID: "e3", Arrival: noon, Run: 16 * time.Hour, Deadline: noon.Add(40 * time.Hour), Speed: []SpeedPoint{
		{Pods: 1, Speed: 1000}, {Pods: 2, Speed: 1741}, {Pods: 4, Speed: 3031}, {Pods: 8, Speed: 5278}}}.WithPods([]Component{{Pods: 1, GPUs: 1, Share: 1000, CPU: 1000}})
	if why := j.InvalidReason(); why != "" || !j.IsGang() {
		t.Fatal(why)
	}
	for pods, want := range map[int]float64{1: 16, 2: 9.19, 4: 5.28, 8: 3.03} {
		x := j.AtPods(pods)
		if got := x.Run.Hours(); got < want-0.006 || got > want+0.006 || x.GPUs != pods || x.PodCount() != pods || x.InvalidReason() != "" {
			t.Errorf("on %d pods it runs %.3f h with %d GPUs (%s); want %.2f h", pods, got, x.GPUs, x.InvalidReason(), want)
		}
	}
	if got := j.SpeedOf(6); got != (3031+5278)/2 {
		t.Errorf("between 4 and 8 pods the speed on 6 is %d", got)
	}
}

// The work of a job is the same on any number of pods, and none is lost by going from one to another.
func TestNoWorkIsLostBetweenNumbersOfPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := anElastic
		j.Run = time.Duration(rapid.Int64Range(1000, 80*3_600_000).Draw(t, "run")) * time.Millisecond
		work := func(x *Job) float64 { return x.Run.Seconds() * float64(x.SpeedOf(x.Pods[0].Pods)) }
		before := work(&j)
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, 8), 1, 5).Draw(t, "pods") {
			x := j.AtPods(n)
			if work(&x) < work(&j)-1e-6*before || work(&x) > work(&j)+5.3 || j.RunLeftOn(n, j.Run) != x.Run {
				t.Fatalf("%v on %d pods is %v on %d", j.Run, j.Pods[0].Pods, x.Run, n)
			}
			j = x
		}
	})
}
