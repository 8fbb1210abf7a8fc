package packing

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/agents/fgd"
)

// TestDefaultTrace holds two seeds of the default trace to specification §14:
// failed pods and final allocation, for each policy that can be repeated.
func TestDefaultTrace(t *testing.T) {
	trace := openTrace(t, "default")
	if len(trace.Target) != 35 {
		t.Errorf("the target has %d classes; want 35 (§3)", len(trace.Target))
	}
	idle, err := fgd.New(fgd.Config{}, trace.Nodes, trace.Target)
	if err != nil {
		t.Fatal(err)
	}
	if num, den := idle.Fragmentation(); roundToCents(float64(num)/float64(den)) != 866232.55 {
		t.Errorf("F of the idle cluster is %d/%d; want 866,232.55 (§5)", num, den)
	}
	for _, tc := range []struct {
		policy fgd.Policy
		failed [2]float64
		final  [2]float64
	}{
		{fgd.DotProd, [2]float64{2874, 2760}, [2]float64{90.54, 90.84}},
		{fgd.GPUClustering, [2]float64{2797, 2674}, [2]float64{91.53, 91.97}},
		{fgd.GPUPacking, [2]float64{2794, 2670}, [2]float64{91.57, 92.06}},
		{fgd.BestFit, [2]float64{2676, 2579}, [2]float64{93.13, 93.25}},
		{fgd.FGD, [2]float64{2532, 2442}, [2]float64{95.29, 95.32}},
	} {
		t.Run(tc.policy.String(), func(t *testing.T) {
			for i := range tc.failed {
				run, err := trace.ReplaySeed(ReplayOptions{Policy: tc.policy, Tune: 1.3, Reference: true}, PublishedSeeds[i])
				if err != nil || run.Failed != tc.failed[i] || run.FinalAlloc != tc.final[i] {
					t.Errorf("seed %d: %v failed, final %v, %v; want %v, %v", PublishedSeeds[i], run.Failed, run.FinalAlloc, err, tc.failed[i], tc.final[i])
				}
			}
		})
	}
	sequence, rank, err := trace.DrawArrivals(1.3, 42)
	if err != nil || len(sequence) != 10866 || len(rank) != 1213 {
		t.Errorf("DrawArrivals(1.3, 42) = %d arrivals, %d ranks, %v; want 10,866 and 1,213", len(sequence), len(rank), err)
	}
}

// TestParity holds one trace, where float noise decides, to its published
// means; `make fgd-parity` does all.
func TestParity(t *testing.T) {
	expected, err := ReadExpected("expected", openFile(t, "openb/expected_summary.csv"))
	if err != nil {
		t.Fatal(err)
	}
	trace := openTrace(t, "gpuspec25")
	for _, e := range expected {
		if e.Trace != "openb_pod_list_gpuspec25" || e.Policy != "05-BestFit" && e.Policy != "06-FGD" {
			continue
		}
		v, err := trace.CheckParity(e)
		if err != nil || !v.Within {
			t.Errorf("%s is %.4f points off at %s, %v; want at most %v", e.Policy, v.Worst, v.Where, err, parityTolerance)
		}
	}
}

// small is a trace of a few nodes and many pods.
func small(shares int) *PlacementTrace {
	nodes := []fgd.Node{{Name: "b", CPU: 96000, Memory: 1 << 18, GPUs: 8, Model: "G2"}, {Name: "a", CPU: 64000, Memory: 1 << 18, GPUs: 2, Model: "P100"}}
	var pods []PodRow
	for i := range shares {
		pods = append(pods, PodRow{Name: string(rune('A' + i)), Request: fgd.Request{CPU: int64(100 * (i % 3)), GPUs: 1, Milli: int64(50 + 10*i)}})
	}
	return NewPlacementTrace(nodes, pods)
}

func TestArrivalsReachTheTune(t *testing.T) {
	trace := small(20)
	for _, tune := range []float64{0.1, 0.5, 1, 1.3} {
		sequence, rank, err := trace.DrawArrivals(tune, 42)
		if err != nil {
			t.Fatal(err)
		}
		var asked int64
		for _, i := range sequence {
			asked += trace.Pods[i].Request.TotalMilli()
		}
		// It stops at the first pod that would go over: one share, at most.
		if goal := tune * 10000; float64(asked) > goal || float64(asked) < goal-240 {
			t.Errorf("DrawArrivals(%v) asks for %d thousandths; want just under %v", tune, asked, goal)
		}
		slices.Sort(rank)
		if !slices.Equal(rank, []int{0, 1}) {
			t.Errorf("DrawArrivals(%v) ranks %v; want a permutation", tune, rank)
		}
	}
	a, _, _ := trace.DrawArrivals(1.3, 7)
	b, _, _ := trace.DrawArrivals(1.3, 7)
	c, _, _ := trace.DrawArrivals(1.3, 8)
	if !slices.Equal(a, b) || slices.Equal(a, c) {
		t.Error("Arrivals must depend on the seed and on nothing else")
	}
	for _, tune := range []float64{-1, math.Inf(1), math.NaN()} {
		if _, _, err := trace.DrawArrivals(tune, 1); err == nil {
			t.Errorf("DrawArrivals(%v) = nil; want an error", tune)
		}
	}
}

func TestACPUOnlyTraceCannotBeTuned(t *testing.T) {
	trace := NewPlacementTrace([]fgd.Node{{Name: "a", GPUs: 1, CPU: 10}}, []PodRow{{Name: "p", Request: fgd.Request{CPU: 1}}})
	if _, err := trace.ReplaySeed(ReplayOptions{Tune: 1.3}, 1); err == nil {
		t.Error("ReplaySeed(CPU only, tune 1.3) = nil; want an error, not an endless search")
	}
	if run, err := trace.ReplaySeed(ReplayOptions{}, 1); err != nil || run.Failed != 0 {
		t.Errorf("ReplaySeed(CPU only) = %+v, %v", run, err)
	}
}

func TestCurve(t *testing.T) {
	trace := small(20)
	run, err := trace.ReplaySeed(ReplayOptions{Tune: 1.3}, 42)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(run.Curve); n < 129 || n > 131 {
		t.Errorf("the curve has %d points; want one for each percent to 130", n)
	}
	for k, p := range run.Curve[:90] {
		if p != nil && math.Abs(p.Alloc-float64(k)) > 1.5 {
			t.Errorf("at %d%% load %v%% is allocated; nothing has failed yet", k, p.Alloc)
		}
	}
}

func TestSummary(t *testing.T) {
	runs := []ReplayResult{{Failed: 1, Load: map[string]LoadPoint{"100": {Alloc: 90}}}, {Failed: 3, Load: map[string]LoadPoint{"100": {Alloc: 94}}}}
	mean, sd := meanAndDeviation(runs)
	if mean.Failed != 2 || sd.Failed != roundToMicros(math.Sqrt2) || mean.Load["100"].Alloc != 92 || sd.Load["100"].Alloc != roundToMicros(math.Sqrt(8)) {
		t.Errorf("summary = %+v, %+v; want 2 ± √2 failed and 92 ± √8 allocated", mean, sd)
	}
}

func TestReadExpected(t *testing.T) {
	var head, row strings.Builder
	head.WriteString("workload,policy")
	row.WriteString("w,06-FGD")
	for _, m := range summaryMetrics {
		for _, load := range []string{"90", "100", "110", "120", "130"} {
			head.WriteString("," + m.name + "@" + load + "_mean," + m.name + "@" + load + "_sd")
			row.WriteString(",1.5,0.5")
		}
	}
	ok := head.String() + "\n" + row.String() + "\n"
	got, err := ReadExpected("e", strings.NewReader(ok))
	if err != nil || len(got) != 1 || got[0].Mean[4].Ratio != 1.5 || got[0].SD[0].Alloc != 0.5 {
		t.Errorf("ReadExpected = %+v, %v", got, err)
	}
	for want, text := range map[string]string{
		"missing column": strings.Replace(ok, "alloc_pct@90_mean", "x", 1),
		"e:2: ":          strings.Replace(ok, "1.5", "many", 1),
	} {
		if _, err := ReadExpected("e", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadExpected = %v; want %q", err, want)
		}
	}
}

// TestStudy runs every variant on a small cluster: jobs must neither be lost
// nor done twice, and the outcome is the same each time.
func TestStudy(t *testing.T) {
	jobs := []TraceJob{
		{Request: fgd.Request{CPU: 4000, GPUs: 1, Milli: 500}, Duration: 4000, Moves: true},
		{Request: fgd.Request{CPU: 8000, GPUs: 2, Milli: 1000}, Duration: 9000},
		{Request: fgd.Request{CPU: 8000, GPUs: 8, Milli: 1000}, Duration: 3000},
		{Request: fgd.Request{CPU: 2000}, Duration: 500},
	}
	nodes := slices.Repeat(small(1).Nodes[1:], 4)
	o := StudyOptions{Load: 1, Days: 2, Round: 60, MaxWait: 3600, MoveCost: 60}
	rows, err := RunAllStudies(nodes, jobs, StudyVariants, []float64{0.5}, 2, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := RunAllStudies(nodes, jobs, StudyVariants, []float64{0.5}, 2, o, nil)
	if err != nil || !slices.Equal(rows, again) {
		t.Errorf("StudyAll differs from run to run, %v:\n%+v\n%+v", err, rows, again)
	}
	var text strings.Builder
	if err := WriteStudy(&text, rows); err != nil || strings.Count(text.String(), "\n") != len(StudyVariants)+2 {
		t.Errorf("WriteStudy wrote %v, %v; want a line for each variant", text.String(), err)
	}
	for _, r := range rows {
		if r.Alloc < 10 || r.Alloc > 60 || r.Failed < 0 || r.Failed > 60 {
			t.Errorf("%s: %+v; want about half of the GPU-time allocated", r.Variant, r.StudyOutcome)
		}
	}
	// One seed tells how far variants are apart, and not how sure that is.
	text.Reset()
	one, err := RunAllStudies(nodes, jobs, []StudyVariant{{Name: "fgd"}, {Name: "least-allocated", Policy: fgd.LeastAllocated}}, []float64{0.9}, 1, o, nil)
	if err != nil || one[1].Gain != roundToMicros(one[1].Alloc-one[0].Alloc) || one[1].Gain == 0 {
		t.Errorf("one seed: %+v, %v; want what least-allocated has more than fgd", one, err)
	}
	if err := WriteStudy(&text, one); err != nil || strings.Contains(text.String(), "±") {
		t.Errorf("one seed: %v, wrote\n%s\nwant no error of it", err, text.String())
	}
}
