package scenarios

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// small is a day at three sites of different grids: n jobs, one every few
// minutes, of one to four GPUs.
func small(n int) spec.Scenario {
	day := protocol.FromStdTime(time.Date(2022, 4, 13, 0, 0, 0, 0, time.UTC))
	s := spec.Scenario{
		Name: "small", Seed: 1, Start: day, End: day.Add(24 * time.Hour),
		Weights: spec.Weights{Kappa: 100_000_000, WaitNow: 1_000_000, Late: 10_000_000},
	}
	for i, name := range []string{"coal", "hydro", "solar"} {
		site := spec.Site{Name: name, Zone: name, DayAhead: i > 0, Signals: map[protocol.Quantity][]protocol.Point{
			protocol.GridPUE: {{At: day.Add(-24 * time.Hour), Value: 1200}},
		}}
		for h := range 72 {
			at := day.Add(time.Duration(h-24) * time.Hour)
			noon := int64(12 - abs(h%24-12))
			price, carbon := 60_000+1_000*noon, int64(700_000)
			switch name {
			case "hydro":
				price, carbon = 50_000, 30_000+1_000*noon
			case "solar":
				price, carbon = 80_000-6_000*noon, 400_000-25_000*noon
			}
			site.Signals[protocol.GridPrice] = append(site.Signals[protocol.GridPrice], protocol.Point{At: at, Value: price})
			site.Signals[protocol.GridCarbon] = append(site.Signals[protocol.GridCarbon], protocol.Point{At: at, Value: carbon})
		}
		for k := range 3 {
			site.Nodes = append(site.Nodes, spec.Node{
				Name: fmt.Sprintf("%s-%d", name, k), CPU: 64_000, Memory: 512 << 10, GPUs: 4,
				Model: []string{"V100", "A100", "T4"}[(i+k)%3], GPUMemory: 16 << 10,
			})
		}
		s.Sites = append(s.Sites, site)
	}
	for i := range n {
		j := protocol.Job{
			ID: protocol.JobID(fmt.Sprintf("job-%04d", i)), Tenant: "lab", Home: s.Sites[i%3].Name,
			GPUs: 1 + 3*(i%7/6), Share: 1000, CPU: 4000, Memory: 16 << 10,
			Arrival: day.Add(time.Duration(i) * 24 * time.Hour / time.Duration(n)).Floor(time.Second),
			Run:     time.Duration(5+i*37%170) * time.Minute, Urgency: protocol.StandardOrNow(i%5 != 0),
		}
		if i%11 == 0 {
			j.Share, j.GPUs = 300, 1
		}
		j.Deadline = j.Arrival.Add(j.Run + 8*time.Hour)
		if !j.MayWait() {
			j.Deadline = j.Arrival.Add(2*j.Run + time.Hour)
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

func abs(n int) int { return max(n, -n) }

func TestEveryPolicyPlaysADayThatAddsUp(t *testing.T) {
	s := small(200)
	for _, policy := range PolicyNames() {
		t.Run(policy, func(t *testing.T) {
			res, err := Replay(t.Context(), s, policy, new(membus.Bus), Options{})
			if err != nil {
				t.Fatal(err)
			}
			x := res.Totals
			t.Logf("%-20s %3d placed %3d late  %.1f kWh %.1f kg $%.2f objective $%.2f wait %.0fs decl %d rounds %d gap %.3f counts %v",
				policy, x.Placed, x.Late, x.EnergyKWh, x.CarbonKg, x.CostUSD, x.ObjectiveUSD, x.WaitS.Mean, x.Declines, x.Rounds, x.Gap, res.Counts)
			if x.Placed != len(s.Jobs) {
				t.Errorf("%s placed %d of %d jobs", policy, x.Placed, len(s.Jobs))
			}
		})
	}
}

// Without bids the record has the same figures, and of each round the same summary.
func TestAReplayWithoutBidsHasTheSameFigures(t *testing.T) {
	s := small(200)
	var totals [2]history.Totals
	var rounds [2][][]history.RoundSummary
	for i, o := range []Options{{}, {NoBids: true}} {
		res, err := Replay(t.Context(), s, PolicyAuction, new(membus.Bus), o)
		if err != nil {
			t.Fatal(err)
		}
		totals[i] = res.Totals
		for _, id := range res.History.JobIDs() {
			r, _ := res.History.LatestJob(id)
			rounds[i] = append(rounds[i], r.Rounds)
			if (len(r.FullRounds) == 0) != o.NoBids {
				t.Fatalf("%s has %d rounds in full; no bids are kept: %v", id, len(r.FullRounds), o.NoBids)
			}
		}
	}
	if !reflect.DeepEqual(totals[0], totals[1]) || !reflect.DeepEqual(rounds[0], rounds[1]) {
		t.Errorf("figures differ:\n%+v\n%+v", totals[0], totals[1])
	}
}

// If the jobs need more than the nodes can do in weeks, the error names the policy and
// how many jobs have ended.
func TestADayThatTakesWeeksSaysWhatIsLeft(t *testing.T) {
	s := small(24)
	s.Sites = s.Sites[:1]
	s.Sites[0].Nodes = s.Sites[0].Nodes[:1]
	for i := range s.Jobs {
		j := &s.Jobs[i]
		j.Home, j.GPUs, j.Share, j.Run = s.Sites[0].Name, 4, 1000, 24*time.Hour
		j.Deadline = j.Arrival.Add(48 * time.Hour)
	}
	_, err := Replay(t.Context(), s, "home-fifo", new(membus.Bus), Options{})
	if err == nil || !strings.Contains(err.Error(), "under home-fifo only 1") || !strings.Contains(err.Error(), "use fewer jobs or more nodes") {
		t.Errorf("24 days of work on one node: %v; want how much is done, and what to do", err)
	}
}
