package protocol

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPartsThatCannotBeAreRefusedByField(t *testing.T) {
	if why := aDividedGang.InvalidReason(); why != "" {
		t.Fatalf("a valid division is refused: %s", why)
	}
	for name, tc := range map[string]struct {
		change func(*Job)
		want   string
	}{
		"one part":                    {func(j *Job) { j.Parts = j.Parts[:1] }, "sites.parts: 1"},
		"one site":                    {func(j *Job) { j.MaxSites = 1 }, "sites.max: 1"},
		"more sites than parts":       {func(j *Job) { j.MaxSites = 3 }, "sites.max: 3"},
		"sites without parts":         {func(j *Job) { j.Parts = nil }, "sites.parts: 0"},
		"a part without a name":       {func(j *Job) { j.Parts[0].Name = "" }, "sites.parts"},
		"two parts of one name":       {func(j *Job) { j.Parts[0].Name = "right" }, "two are named"},
		"pods that no part has":       {func(j *Job) { j.Parts[1].Pods[1] = 2 }, "1 pods of component 1 are in no part"},
		"pods that are not there":     {func(j *Job) { j.Parts[1].Pods[1] = 4 }, "of which 3 are left"},
		"negative pods":               {func(j *Job) { j.Parts[0].Pods[0] = -1 }, "-1 pods"},
		"a part without pods":         {func(j *Job) { j.Parts[0].Pods = []int{0, 0} }, "has no pods"},
		"counts of another job":       {func(j *Job) { j.Parts[0].Pods = []int{1} }, "counts pods of 1 components"},
		"a job that may be paused":    {func(j *Job) { j.Pause = time.Minute }, "drop pause"},
		"a job with fewer pods":       {func(j *Job) { j.MinPods = 3 }, "drop min_available"},
		"an elastic job":              {func(j *Job) { *j = anElastic; j.MaxSites = 2; *j, _ = j.WithEqualParts(2) }, "drop speed"},
		"groups that are divided":     {func(j *Job) { j.Groups = []PodGroup{{Component: 1, Level: "rack", Pods: 2}} }, "not whole groups of 2"},
		"ranks of a whole":            {func(j *Job) { j.WholePods = 8 }, "part_of"},
		"a part with parts":           {func(j *Job) { j.PartOf = "other" }, "part_of"},
		"ids longer than any may be":  {func(j *Job) { j.ID = JobID(strings.Repeat("x", 125)) }, "with the job's id"},
		"a job of one pod with parts": {func(j *Job) { j.Pods, j.GPUs, j.Share, j.CPU, j.Memory = nil, 1, 1000, 1, 1 }, "sites.parts"},
	} {
		j := aDividedGang
		j.Parts = []Part{{Name: "left", Pods: []int{1, 1}}, {Name: "right", Pods: []int{0, 3}}}
		if tc.change(&j); !strings.Contains(j.InvalidReason(), tc.want) {
			t.Errorf("%s: %q; want %q", name, j.InvalidReason(), tc.want)
		}
	}
}

func TestGroupsOfPodsGoWithTheirParts(t *testing.T) {
	j := aDividedGang
	j.Parts = []Part{{Name: "left", Pods: []int{1, 0}}, {Name: "right", Pods: []int{0, 4}}}
	j.Groups = []PodGroup{{Component: 1, Level: "rack", Pods: 2}}
	if why := j.InvalidReason(); why != "" {
		t.Fatalf("whole groups are refused: %s", why)
	}
	parts := j.PartJobs()
	if left := parts[0]; len(left.Groups) != 0 {
		t.Errorf("a part without grouped pods has groups %+v", left.Groups)
	}
	if right := parts[1]; right.InvalidReason() != "" || len(right.Groups) != 1 || right.Groups[0].Component != 0 {
		t.Errorf("groups %+v of the part, %s; want those of its only component", right.Groups, right.InvalidReason())
	}
}

func TestPartsTogetherAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, MaxParts).Draw(t, "parts")
		var all []Component
		for i := range rapid.IntRange(1, 3).Draw(t, "components") {
			all = append(all, Component{Role: string(rune('a' + i)), Pods: n * rapid.IntRange(1, 4).Draw(t, "pods"), GPUs: 2 * i, Share: Milli(min(i, 1) * 1000), CPU: 1000, Memory: 10})
		}
		j, ok := Job{ID: "whole", Arrival: noon, Run: time.Hour, Deadline: noon.Add(4 * time.Hour)}.WithPods(all).WithEqualParts(n)
		if j.MaxSites = 2; !ok || j.InvalidReason() != "" {
			t.Fatalf("equal parts: %v, %s", ok, j.InvalidReason())
		}
		var pods, gpus int
		var cpu, share Milli
		for _, p := range j.PartJobs() {
			if p.FirstRank != pods || p.WholePods != j.PodCount() || p.Leader != "whole.1" {
				t.Fatalf("part %s has the ranks from %d of %d on, led by %s; the parts before it have %d pods", p.ID, p.FirstRank, p.WholePods, p.Leader, pods)
			}
			if p.InvalidReason() != "" || p.PartOf != j.ID || p.IsDivided() {
				t.Fatalf("part %+v: %s", p, p.InvalidReason())
			}
			pods, gpus, cpu, share = pods+p.PodCount(), gpus+p.GPUs, cpu+p.CPU, share+p.TotalGPUMilli()
		}
		if pods != j.PodCount() || gpus != j.GPUs || cpu != j.CPU || share != j.TotalGPUMilli() {
			t.Fatalf("the parts have %d pods, %d GPUs, %d cores; the whole %d, %d, %d", pods, gpus, cpu, j.PodCount(), j.GPUs, j.CPU)
		}
	})
}
