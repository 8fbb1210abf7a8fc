package scenarios

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// birth is when all drawn scenarios begin.
var birth = protocol.FromStdTime(time.Date(2022, 4, 13, 6, 0, 0, 0, time.UTC))

// drawScenario draws a few hours at one to three sites, with everything that a scenario
// may contain: nodes without GPUs, jobs that no node fits, deadlines that cannot be
// met, negative prices, shares, gangs, residency.
func drawScenario(t *rapid.T, most int) spec.Scenario {
	span := time.Duration(rapid.IntRange(1, 5).Draw(t, "hours")) * time.Hour
	s := spec.Scenario{
		Name: "drawn", Seed: rapid.Uint64().Draw(t, "seed"), Start: birth, End: birth.Add(span),
		Weights: spec.Weights{Kappa: 100_000_000, WaitNow: 1_000_000, Late: 10_000_000},
	}
	names := []string{"coal", "hydro", "solar"}[:rapid.IntRange(1, 3).Draw(t, "sites")]
	for _, name := range names {
		s.Sites = append(s.Sites, drawSite(t, name))
	}
	for i := range rapid.IntRange(min(most, 4), most).Draw(t, "jobs") {
		s.Jobs = append(s.Jobs, drawJob(t, i, names, span))
	}
	slices.SortStableFunc(s.Jobs, func(x, y protocol.Job) int { return int(x.Arrival - y.Arrival) })
	return s
}

func drawSite(t *rapid.T, name string) spec.Site {
	site := spec.Site{Name: name, Zone: name, DayAhead: rapid.Bool().Draw(t, "dayAhead"), Signals: map[protocol.Quantity][]protocol.Point{
		protocol.GridPUE: {{At: birth.Add(-24 * time.Hour), Value: rapid.Int64Range(1000, 1600).Draw(t, "pue")}},
	}}
	swing := rapid.SampledFrom([]int64{-7_000, 0, 9_000}).Draw(t, "swing")
	base := rapid.Int64Range(-20_000, 150_000).Draw(t, "price")
	clean := rapid.Int64Range(0, 800_000).Draw(t, "carbon")
	for h := range 60 {
		at, noon := birth.Floor(24*time.Hour).Add(time.Duration(h-24)*time.Hour), int64(12-abs(h%24-12))
		site.Signals[protocol.GridPrice] = append(site.Signals[protocol.GridPrice], protocol.Point{At: at, Value: base + swing*noon})
		site.Signals[protocol.GridCarbon] = append(site.Signals[protocol.GridCarbon], protocol.Point{At: at, Value: clean + 10_000*noon})
	}
	for k := range rapid.IntRange(1, 3).Draw(t, "nodes") {
		n := spec.Node{
			Name: fmt.Sprintf("%s-%d", name, k), Memory: 64 << 10,
			CPU:  protocol.Milli(rapid.IntRange(4, 32).Draw(t, "cores")) * 1000,
			GPUs: rapid.SampledFrom([]int{0, 1, 2, 4, 8}).Draw(t, "gpus"),
		}
		if n.GPUs > 0 {
			n.Model = rapid.SampledFrom([]string{"V100", "A100", "T4"}).Draw(t, "model")
			n.GPUMemory = rapid.SampledFrom([]protocol.MiB{0, 16 << 10}).Draw(t, "gpuMemory")
		}
		site.Nodes = append(site.Nodes, n)
	}
	if rapid.IntRange(0, 3).Draw(t, "outage") == 0 {
		from := birth.Add(time.Duration(rapid.IntRange(1, 300).Draw(t, "dark from")) * time.Minute)
		site.Outages = []spec.Outage{{From: from, To: from.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "dark for")) * time.Minute)}}
	}
	said := rapid.SampledFrom([]protocol.Milli{0, 0, 700, 1300})
	site.Bids = spec.Misreport{Price: said.Draw(t, "says of its price"), Energy: said.Draw(t, "says of its energy")}
	return site
}

func drawJob(t *rapid.T, i int, sites []string, span time.Duration) protocol.Job {
	j := protocol.Job{
		ID: protocol.JobID(fmt.Sprintf("job-%02d", i)), Tenant: rapid.SampledFrom([]string{"lab", "shop"}).Draw(t, "tenant"),
		Home: rapid.SampledFrom(append([]string{"", "elsewhere"}, sites...)).Draw(t, "home"),
		GPUs: rapid.SampledFrom([]int{0, 1, 1, 1, 2, 4, 8, 16}).Draw(t, "gpus"),
		CPU:  protocol.Milli(rapid.IntRange(1, 12).Draw(t, "cores")) * 1000, Memory: protocol.MiB(rapid.IntRange(0, 40).Draw(t, "memory")) << 10,
		// Not on whole seconds: a stranger's clock is no round number.
		Arrival: birth + protocol.Time(rapid.Int64Range(0, span.Milliseconds()-1).Draw(t, "arrival")),
		Run:     time.Duration(rapid.Int64Range(1, 3*3600_000).Draw(t, "run"))*time.Millisecond + time.Second,
		Urgency: protocol.StandardOrNow(rapid.Bool().Draw(t, "deferrable")), Priority: rapid.IntRange(-2, 2).Draw(t, "priority"),
		Input: rapid.SampledFrom([]protocol.MiB{0, 0, 1, 50 << 10}).Draw(t, "input"),
	}
	if j.GPUs > 0 {
		j.Share = 1000
		j.GPUMemory = rapid.SampledFrom([]protocol.MiB{0, 0, 6 << 10, 40 << 10}).Draw(t, "gpuMemory")
		if rapid.IntRange(0, 3).Draw(t, "narrow") == 3 {
			j.Models = []string{rapid.SampledFrom([]string{"V100", "A100", "T4", "B9"}).Draw(t, "wants")}
		}
	}
	if j.GPUs == 1 && rapid.Bool().Draw(t, "shares") {
		j.Share = protocol.Milli(rapid.IntRange(1, 1000).Draw(t, "share"))
	}
	if rapid.IntRange(0, 7).Draw(t, "resident") == 7 {
		j.Regions = []string{rapid.SampledFrom(append([]string{"elsewhere"}, sites...)).Draw(t, "region")}
	}
	// From a deadline that cannot be met to a distant one.
	j.Deadline = j.Arrival + protocol.Time(rapid.SampledFrom([]int64{0, 1, 3_600_000, 7_777_777, 40_000_000}).Draw(t, "slack"))
	if rapid.IntRange(0, 15).Draw(t, "malformed") == 15 {
		j.CPU = -1
	}
	return j
}
