package serviceday

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gridbid/gridbid/agents/serving"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// threeSites is a day of three invented grids in zones that have a place.
const threeSites = `name: three
about: "three grids far apart"
seed: 1
start: 2026-03-11T00:00:00Z
sites:
  - {name: de, zone: DE, region: {price: {mean: 90, swing: 40}, carbon: {mean: 380, swing: 100}, match: 0.5, peak: 8}, fleet: [{model: V100, gpus: 8, cpu: 96, memory: 512}]}
  - {name: gb, zone: GB, region: {price: {mean: 40, swing: 20}, carbon: {mean: 150, swing: 60}, match: 0.5, peak: 3}, fleet: [{model: V100, gpus: 8, cpu: 96, memory: 512}]}
  - {name: pjm, zone: US-MIDA-PJM, region: {price: {mean: 60, swing: 30}, carbon: {mean: 420, swing: 90}, match: 0.5, peak: 20}, fleet: [{model: V100, gpus: 8, cpu: 96, memory: 512}]}
jobs: {count: 20}
`

// aDay returns that day with a service of 60 requests a second.
func aDay(t *testing.T) *Day {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(file, []byte(threeSites), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := spec.LoadScenario(file, spec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pairs := []serving.Tokens{{Prompt: 300, Output: 60}, {Prompt: 1155, Output: 211}, {Prompt: 3000, Output: 400}}
	table, err := serving.Tabulate(serving.Profiles()[0], pairs, serving.Class{TTFT: 1000, TPOT: 60, Percentile: 95}, 1500, 1)
	if err != nil {
		t.Fatal(err)
	}
	minutes := make([]int, 58)
	for i := range minutes {
		minutes[i] = 300 + 5*(i%7)
	}
	d, err := NewDay(&World{Table: table, Minutes: minutes}, s, 1, 60)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Under every row the replicas that are scheduled run, requests are all served somewhere, and no row is
// below the bound, in money with carbon, in carbon or in money. By cost the service pays less than evenly.
func TestNoRowIsBelowTheBound(t *testing.T) {
	d := aDay(t)
	got := make(map[string]Result)
	for _, row := range Rows() {
		r, err := d.Run(t.Context(), row)
		if err != nil {
			t.Fatal(err)
		}
		got[row.Name] = r
		if row.Name == NoService {
			if r.KWh != 0 || r.JobsUSD <= 0 {
				t.Errorf("without a service: %+v", r)
			}
			continue
		}
		lack := 1 + r.MissingHours/r.ReplicaHours // replicas that did not run cost nothing
		if r.TotalUSD*lack < r.Bound.TotalUSD || r.USD*lack < r.Bound.USD || r.Kg*lack < r.Bound.Kg {
			t.Errorf("%s is below its bound: %+v", row.Name, r)
		}
		if r.MissingHours > 0.02*r.ReplicaHours || r.GPUHours < r.ReplicaHours || r.Attained < 0.9 || r.Attained > 1 {
			t.Errorf("%s: %+v", row.Name, r.Figures)
		}
	}
	even := got[EvenSplit]
	for _, name := range []string{OursSteady, OursHourly} {
		if r := got[name]; r.TotalUSD > 0.9*even.TotalUSD {
			t.Errorf("%s pays $%.2f; evenly it is $%.2f", name, r.TotalUSD, even.TotalUSD)
		}
	}
	if green := got["greenest"]; green.Kg > even.Kg {
		t.Errorf("the greenest sites emit %.1f kg, and an even split %.1f", green.Kg, even.Kg)
	}
}

// The bound is what the cheapest places of each minute cost.
func TestTheBoundIsTheCheapestPlacement(t *testing.T) {
	d := aDay(t)
	want := 0.0
	for m := settled; m < len(d.counts); m++ {
		left := d.counts[m]
		load := d.perSecond(m) / (float64(left) * d.world.Table.Limit)
		kwh := (d.world.Table.Watts(load) + hostWatts) / 60_000
		used := make([]bool, len(d.Scenario.Sites))
		for left > 0 {
			best, cost := -1, math.Inf(1)
			for i := range d.Scenario.Sites {
				if c := d.priceOf(d.hourOf(i, m)); !used[i] && c < cost {
					best, cost = i, c
				}
			}
			used[best] = true
			n := min(left, placesAt(d.Scenario.Sites[best]))
			want += float64(n) * kwh * cost
			left -= n
		}
	}
	if b := d.lowerBound(); math.Abs(b.TotalUSD-want) > 1e-6*want {
		t.Errorf("the bound is $%.6f; the cheapest placement costs $%.6f", b.TotalUSD, want)
	}
}

// Each hour's replicas serve its busiest five minutes at the sized load, and are wanted ten minutes before.
func TestTheScheduleServesTheBusiestMinutes(t *testing.T) {
	d := aDay(t)
	each := d.world.Table.Goodput(farthestRTT)
	for m := 4; m < len(d.counts); m++ {
		if m%60 < 4 {
			continue
		}
		sum := 0.0
		for k := range 5 {
			sum += d.perSecond(m-k) / 5
		}
		if float64(d.counts[m])*each < sum-1e-9 {
			t.Fatalf("minute %d has %.2f requests a second, and %d replicas of %.2f", m, sum, d.counts[m], each)
		}
	}
	for h := 1; h < 24; h++ {
		if d.counts[60*h-leadMinutes] < d.counts[60*h] {
			t.Errorf("ten minutes before hour %d %d replicas are wanted, and in it %d", h, d.counts[60*h-leadMinutes], d.counts[60*h])
		}
	}
}

// Time that replicas are there, serve and drain falls into the minutes in which it passes.
func TestReplicaTimeIsCountedByTheMinute(t *testing.T) {
	d := aDay(t)
	r := newRecorder(d)
	from := protocol.ExecutorParty("gb")
	at := func(minute int, seconds protocol.Time) protocol.Time { return d.minuteAt(minute) + 1000*seconds }
	agent := protocol.AgentParty("gb")
	r.add(protocol.Message{At: at(100, 30), From: agent, Body: protocol.RunReplicas{Service: protocol.Service{ID: serviceID}, Replicas: []protocol.Replica{{Number: 1}, {Number: 2}}}})
	r.add(protocol.Message{At: at(102, 0), From: from, Body: protocol.ReplicasRunning{Service: serviceID, Running: []int{1, 2}}})
	r.add(protocol.Message{At: at(103, 15), From: agent, Body: protocol.RunReplicas{Service: protocol.Service{ID: serviceID}, Replicas: []protocol.Replica{{Number: 2}}}})
	x := r.sites[r.index["gb"]]
	r.advance(x, at(105, 0))
	for what, tc := range map[string]struct{ got, want []float64 }{
		"present":  {x.present[99:105], []float64{0, 60_000, 120_000, 120_000, 75_000, 60_000}},
		"serving":  {x.ready[99:105], []float64{0, 0, 0, 120_000, 75_000, 60_000}},
		"draining": {x.draining[99:105], []float64{0, 0, 0, 0, 45_000, 15_000}},
	} {
		for i := range tc.want {
			if tc.got[i] != tc.want[i] {
				t.Errorf("%s: %v ms; want %v", what, tc.got, tc.want)
				break
			}
		}
	}
	if r.starts != 2 {
		t.Errorf("%d starts; want 2", r.starts)
	}
}

// Requests go to the nearest replicas, none is lost, and all replicas have the same load.
func TestTrafficGoesToTheNearestReplicas(t *testing.T) {
	d := aDay(t)
	r := newRecorder(d)
	const minute = 900
	load := d.perSecond(minute) / (10 * d.world.Table.Limit)
	sum, near := 0.0, math.Inf(1)
	for _, f := range r.traffic(minute, []float64{4, 3, 3}, load) {
		sum += f.perSecond
		near = min(near, f.rtt)
	}
	if math.Abs(sum-d.perSecond(minute)) > 1e-6 || near > 11 {
		t.Errorf("%.3f of %.3f requests a second are served, the nearest %.0f ms away", sum, d.perSecond(minute), near)
	}
	if way := rtt(zonePlaces["DE"], zonePlaces["AU-NSW"]); way < 250 || way > farthestRTT {
		t.Errorf("Frankfurt and Sydney are %.0f ms apart", way)
	}
}
