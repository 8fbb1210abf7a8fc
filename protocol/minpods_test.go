package protocol

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A gang that starts with fewer pods asks for less, and takes longer by as much; it is valid, but for a run that is
// longer than any job's, for which no site bids; and its other components are whole.
func TestAGangWithFewerPodsTakesAsManyGPUHours(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		workers := rapid.IntRange(2, 64).Draw(rt, "workers")
		j := Job{ID: "gang", Arrival: noon, Run: time.Duration(rapid.IntRange(1, 48*3600).Draw(rt, "run")) * time.Second, Deadline: noon.Add(24 * time.Hour)}
		j = j.WithPods([]Component{{Role: "head", Pods: 1, CPU: 1000}, {Role: "worker", Pods: workers, GPUs: 2, Share: 1000, CPU: 4000}})
		j.MinPods = rapid.IntRange(2, workers+1).Draw(rt, "least")
		if why := j.InvalidReason(); why != "" {
			rt.Fatalf("%+v: %s", j, why)
		}
		pods := rapid.IntRange(j.MinPods, workers+1).Draw(rt, "pods")
		x := j.WithPodCount(pods)
		valid := x
		valid.Run = min(x.Run, MaxRun)
		if x.PodCount() != pods || x.Pods[0] != j.Pods[0] || valid.InvalidReason() != "" || j.Pods[1].Pods != workers {
			rt.Fatalf("with %d of %d pods it is %+v: %s", pods, workers+1, x, valid.InvalidReason())
		}
		was, is := float64(j.GPUs)*j.Run.Seconds(), float64(x.GPUs)*x.Run.Seconds()
		if is < was || is > was+float64(x.GPUs) {
			rt.Fatalf("with %d of %d pods it takes %v GPU-seconds, with all %v", pods, workers+1, is, was)
		}
		places := []Place{{Component: 0, Pods: 1, Node: "a"}, {Component: 1, Pods: pods - 1, Node: "a"}}
		if why := j.InvalidPlaces(places); why != "" {
			rt.Fatalf("places of %d of %d pods: %s", pods, workers+1, why)
		}
		if got := j.AtPlaces(places); got.PodCount() != pods {
			rt.Fatalf("at these places it has %d pods, not %d", got.PodCount(), pods)
		}
		places[1].Pods = j.MinPods - 2
		if places[1].Pods > 0 && j.InvalidPlaces(places) == "" {
			rt.Fatalf("places of %d pods are taken, and it wants %d", j.MinPods-1, j.MinPods)
		}
	})
}

func TestInvalidNumbersOfPodsToStartWithAreRefused(t *testing.T) {
	for _, tc := range []struct {
		least int
		pause time.Duration
		want  string
	}{
		{1, 0, `min_available: 1; want 2..5, since only component "worker", which has the most pods, may start in part`},
		{6, 0, `min_available: 6; want 2..5, since only component "worker", which has the most pods, may start in part`},
		{-3, 0, `min_available: -3; want 2..5, since only component "worker", which has the most pods, may start in part`},
		{3, time.Minute, "min_available: the job may be paused, too; drop pause, or start with all pods"},
		{2, 0, ""},
	} {
		j := aGang
		j.MinPods, j.Pause, j.Urgency = tc.least, tc.pause, UrgencyFlexible
		if got := j.InvalidReason(); got != tc.want {
			t.Errorf("min_available %d: %q; want %q", tc.least, got, tc.want)
		}
	}
	one := aJob
	if one.MinPods = 1; one.InvalidReason() == "" {
		t.Error("a job of one pod may say with how many it starts")
	}
}
