package runtimeest

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

func draw(t *rapid.T) protocol.Job {
	j := protocol.Job{
		Tenant: rapid.SampledFrom([]string{"", "vision", "speech"}).Draw(t, "tenant"),
		Image:  rapid.SampledFrom([]string{"", "train:7", "serve:1"}).Draw(t, "image"),
		GPUs:   rapid.SampledFrom([]int{0, 1, 8}).Draw(t, "gpus"),
		CPU:    protocol.Milli(rapid.Int64Range(0, 64_000).Draw(t, "cpu")),
	}
	if j.GPUs > 0 {
		j.Share = 1000
	}
	if j.GPUs == 1 {
		j.Share = protocol.Milli(rapid.Int64Range(1, 1000).Draw(t, "share"))
	}
	return j
}

type run struct {
	job    protocol.Job
	lasted time.Duration
	power  protocol.Milliwatts
}

func runs(t *rapid.T) (all []run) {
	for range rapid.IntRange(0, 80).Draw(t, "runs") {
		all = append(all, run{draw(t), time.Duration(rapid.Int64Range(1, int64(protocol.MaxRun/time.Second)).Draw(t, "s")) * time.Second,
			protocol.Milliwatts(rapid.Int64Range(0, 5_000_000).Draw(t, "mW"))})
	}
	return all
}

func TestQuantilesRiseAndAreOfWhatWasSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := New(Config{})
		longest, shortest := time.Duration(0), protocol.MaxRun
		for _, r := range runs(t) {
			p.LearnRun(r.job, r.lasted, r.power, protocol.Utilization{})
			longest, shortest = max(longest, r.lasted), min(shortest, r.lasted)
		}
		e := p.EstimateRun(draw(t))
		last := time.Duration(0)
		for _, part := range []protocol.Milli{1, 100, 500, 900, 950, 999} {
			q := e.RunQuantile(part)
			if q < last {
				t.Fatalf("quantile %d is %v, and a lower one %v", part, q, last)
			}
			last = q
			if longest > 0 && (q.Seconds() > longest.Seconds()*1.03+1 || q.Seconds() < shortest.Seconds()/1.03-1) {
				t.Fatalf("quantile %d is %v; all runs took %v to %v", part, q, shortest, longest)
			}
		}
		if e.P50 != e.RunQuantile(500) || e.P90 != e.RunQuantile(900) || e.Mean < time.Second || e.Mean > protocol.MaxRun {
			t.Fatalf("estimate %+v", e.Estimate)
		}
	})
}

func TestTheSameRunsTellTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, j := runs(t), draw(t)
		tell := func() string {
			p := New(Config{Most: 6})
			for _, r := range all {
				p.LearnRun(r.job, r.lasted, r.power, protocol.Utilization{GPU: 500})
			}
			_ = p.EstimateRun(j) // asking changes nothing
			e := p.EstimateRun(j)
			return fmt.Sprint(e.Estimate, e.Power, p.ProfileRows())
		}
		if a, b := tell(), tell(); a != b {
			t.Fatalf("the same runs tell\n%s\n%s", a, b)
		}
	})
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	p := New(Config{Most: 100})
	for i := range 5000 {
		j := protocol.Job{Tenant: fmt.Sprint("tenant-", i), Image: fmt.Sprint("image-", i%7), CPU: protocol.Milli(i)}
		p.LearnRun(j, time.Duration(1+i*977%2_500_000)*time.Second, 100_000, protocol.Utilization{})
	}
	if n := len(p.kinds); n > 106 { // one run adds six kinds at most
		t.Errorf("%d kinds are kept; want about 100", n)
	}
	if p.EstimateRun(protocol.Job{Tenant: "unheard of", CPU: 1000}).Runs == 0 {
		t.Error("what is known of all jobs was forgotten")
	}
	n := 0
	p.kinds[jobKind{}].lasted.ForEach(func(float64, float64) bool { n++; return false })
	if n > bins {
		t.Errorf("a sketch has %d numbers; want at most %d", n, bins)
	}
}

func TestTheMostAlikeCountMost(t *testing.T) {
	p := New(Config{})
	mine := protocol.Job{Tenant: "vision", Image: "train:7", GPUs: 1, Share: 1000}
	for range 300 {
		p.LearnRun(protocol.Job{Tenant: "speech", GPUs: 1, Share: 1000}, time.Minute, 100_000, protocol.Utilization{})
	}
	before := p.EstimateRun(mine)
	if math.Abs(before.P50.Seconds()-60) > 2 {
		t.Errorf("of others alone it tells %+v", before.Estimate)
	}
	for range 60 {
		p.LearnRun(mine, 10*time.Hour, 400_000, protocol.Utilization{GPU: 900, Temperature: 70})
	}
	e := p.EstimateRun(mine)
	if e.Runs != 60 || math.Abs(e.P50.Hours()-10) > 0.3 || math.Abs(float64(e.Power)/400_000-1) > 0.03 || e.Mean < 7*time.Hour || e.Mean > 10*time.Hour+20*time.Minute {
		t.Errorf("of 60 runs of ten hours it tells %+v, %d mW", e.Estimate, e.Power)
	}
	for _, r := range p.ProfileRows() {
		if r.Image == "train:7" && r.Tenant == "vision" && (r.Runs != 60 || r.Use.GPU != 900 || r.Use.Temperature != 70 || r.Shape != "gpu=1") {
			t.Errorf("row %+v", r)
		}
	}
}

func TestWithoutARunItIsAGuessByRule(t *testing.T) {
	e := New(Config{}).EstimateRun(protocol.Job{CPU: 1000})
	if want := (protocol.Estimate{Mean: time.Hour, P50: time.Hour, P90: 24 * time.Hour}); !reflect.DeepEqual(e.Estimate, want) || e.RunQuantile(950) != 24*time.Hour {
		t.Errorf("Estimate = %+v; want %+v", e, want)
	}
}

func TestNonsenseIsNotLearned(t *testing.T) {
	p := New(Config{})
	for _, d := range []time.Duration{0, -time.Hour, protocol.MaxRun + 1} {
		p.LearnRun(protocol.Job{CPU: 1}, d, 1, protocol.Utilization{})
	}
	p.LearnRun(protocol.Job{CPU: 1}, time.Hour, -1, protocol.Utilization{})
	if len(p.kinds) != 0 {
		t.Errorf("learned: %+v", p.ProfileRows())
	}
}

func TestShapes(t *testing.T) {
	for want, j := range map[string]protocol.Job{
		"cpu<=1": {CPU: 500}, "cpu<=4": {CPU: 3001}, "cpu<=8": {CPU: 8000}, "gpu<=50%": {GPUs: 1, Share: 460}, "gpu=1": {GPUs: 1, Share: 1000}, "gpu=8": {GPUs: 8, Share: 1000},
	} {
		if got := ShapeOf(j); got != want {
			t.Errorf("Shape(%+v) = %q; want %q", j, got, want)
		}
	}
}
