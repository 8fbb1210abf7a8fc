package bound

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// replayed returns the objective of a run's jobs, the lateness in it, and its schedule.
func replayed(t *testing.T, s spec.Scenario, policy string) (usd, late float64, run []JobPlacement) {
	t.Helper()
	res, err := scenarios.Replay(t.Context(), s, policy, new(membus.Bus), scenarios.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := scenarios.MarketWeights(s)
	return busy(res, w), res.Totals.LateUSD, PlacementsOf(scenarios.CompletedJobs(res.History, w))
}

// The search starts from what a run did, at what it cost, and ends at or below it and at or
// above the bound, for every policy.
func TestASearchIsBetweenTheBoundAndItsStart(t *testing.T) {
	s := day(80)
	c := certify(t, s, false)
	for _, policy := range []string{scenarios.PolicyAuction, "home-fifo", "k8s-least-allocated", "cheapest-now"} {
		usd, late, run := replayed(t, s, policy)
		m, err := newScenarioModel(s, false)
		if err != nil {
			t.Fatal(err)
		}
		same, replaced, err := m.scheduleOfRun(run)
		if err != nil {
			t.Fatal(err)
		}
		// One job fits nowhere. Rounding is the only difference of the two costs.
		if total, out := same.totalCost(); replaced != 1 || out != 1 || math.Abs(total/1e6-usd) > 1e-3*usd {
			t.Errorf("%s costs $%.4f; its schedule $%.4f with %d jobs placed anew and %d nowhere", policy, usd, total/1e6, replaced, out)
		}
		if got := same.latenessCost() / 1e6; math.Abs(got-late) > 1e-3*usd {
			t.Errorf("%s is late for $%.4f; its schedule for $%.4f", policy, late, got)
		}
		for _, steps := range []int{0, 400} {
			k, err := SearchBestKnown(s, c, SearchConfig{Steps: steps, Runs: [][]JobPlacement{run}})
			if err != nil {
				t.Fatal(err)
			}
			if k.TotalUSD() > k.StartUSD+1e-9 || k.TotalUSD() > usd || k.TotalUSD() < c.BoundUSD-1e-3 || k.Unplaced != 1 || k.Steps > steps {
				t.Errorf("%s, %d steps: $%.4f, %+v; the run cost $%.4f, the bound is $%.4f", policy, steps, k.TotalUSD(), k, usd, c.BoundUSD)
			}
		}
	}
}

// Steps lower the cost, and the same steps give the same schedule.
func TestASearchImprovesAndIsReproducible(t *testing.T) {
	s := day(80)
	c := certify(t, s, false)
	_, _, run := replayed(t, s, "home-fifo")
	search := func(steps int) BestKnown {
		k, err := SearchBestKnown(s, c, SearchConfig{Steps: steps, Runs: [][]JobPlacement{run}})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	none, some, again := search(0), search(800), search(800)
	if some.TotalUSD() >= none.TotalUSD() || some.Improved == 0 || some.Steps != 800 {
		t.Errorf("no steps find $%.4f, 800 steps $%.4f: %+v", none.TotalUSD(), some.TotalUSD(), some)
	}
	if some != again || some.WaitMeanS < some.WaitP50S || some.WaitP50S < 0 {
		t.Errorf("the same steps find $%.6f and $%.6f", some.TotalUSD(), again.TotalUSD())
	}
}

// V is what a schedule costs without lateness: energy, carbon, transfer and delay.
func TestTheValueOfAScheduleHasNoLateness(t *testing.T) {
	s := day(80)
	for i := range s.Jobs { // all are late
		s.Jobs[i].Deadline = s.Jobs[i].Arrival.Add(time.Minute)
	}
	s.Hash += " late"
	k, err := SearchBestKnown(s, certify(t, s, false), SearchConfig{Steps: 50})
	if err != nil {
		t.Fatal(err)
	}
	free := s
	free.Weights.Late = 0
	m, err := newScenarioModel(free, false)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newScenarioModel(s, false)
	if err != nil {
		t.Fatal(err)
	}
	greedy := p.p.newKnownSearch()
	greedy.tryGreedyStarts(20)
	want := 0.0
	for i, x := range greedy.best.placements {
		if x.config >= 0 {
			want += m.p.costWithoutRoom(&m.p.jobs[i], &m.p.jobs[i].configs[x.config], x.start)
		}
	}
	total, _ := greedy.best.totalCost()
	if got := total - greedy.best.latenessCost(); math.Abs(got-want) > 1 || k.LateUSD < 1 || k.ValueUSD <= 0 {
		t.Errorf("without lateness the schedule costs %.0f; at a lateness price of zero %.0f; %+v", got, want, k)
	}
	if k.CostUSD+k.CarbonKg*0.1 > k.ValueUSD || k.CarbonKg <= 0 {
		t.Errorf("energy costs $%.4f and %.3f kg; V is $%.4f", k.CostUSD, k.CarbonKg, k.ValueUSD)
	}
}

// Steps of either kind keep the calendar true: each node gives what its jobs hold and no more
// than it has, and each placement has its own cost.
func TestStepsKeepTheCalendar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := random(t)
		bound := p.subgradientSearch(40)
		k := p.newKnownSearch()
		k.tryGreedyStarts(rapid.IntRange(0, 40).Draw(t, "steps"))
		k.improveBest(rapid.IntRange(0, 40).Draw(t, "more steps"))
		held := make([][][]int32, len(p.pools))
		for i := range held {
			held[i] = make([][]int32, len(k.best.nodes[i]))
			for n := range held[i] {
				held[i][n] = make([]int32, len(k.best.nodes[i][n].held))
			}
		}
		for i, x := range k.best.placements {
			if x.config < 0 {
				continue
			}
			w := &p.jobs[i].configs[x.config]
			if v := p.costWithoutRoom(&p.jobs[i], w, x.start); v != x.value || x.start < p.jobs[i].arrival {
				t.Fatalf("job %d costs %v at %v, not %v; it arrives at %v", i, v, x.start, x.value, p.jobs[i].arrival)
			}
			first, last := cellsOfRun(x.start, w.length)
			for c := first; c < last; c++ {
				held[w.pool][x.node][c] += toMilliGPUs(p.jobs[i].gpus)
			}
		}
		for i := range held {
			for n := range held[i] {
				if !slices.Equal(held[i][n], k.best.nodes[i][n].held) || slices.Max(held[i][n]) > int32(p.pools[i].Size)*1000 {
					t.Fatalf("node %d of pool %d does not give what its jobs hold, or more than it has", n, i)
				}
			}
		}
		if v, _ := k.best.totalCost(); v != k.least || v < bound-1e-6 {
			t.Fatalf("the schedule costs %v; the search says %v; the bound is %v", v, k.least, bound)
		}
	})
}

// Nothing runs at a site without power.
func TestAScheduleLeavesOutagesFree(t *testing.T) {
	s := day(40)
	o := spec.Outage{From: s.Start.Add(6 * time.Hour), To: s.Start.Add(18 * time.Hour)}
	s.Sites[1].Outages = []spec.Outage{o}
	m, err := newScenarioModel(s, false)
	if err != nil {
		t.Fatal(err)
	}
	m.p.outages = m.outagesByPool()
	k := m.p.newKnownSearch()
	k.tryGreedyStarts(60)
	there := 0
	for i, x := range k.best.placements {
		if x.config < 0 || x.node < 0 {
			continue
		}
		w := &m.p.jobs[i].configs[x.config]
		if w.site != 1 {
			continue
		}
		there++
		if x.start < m.slotOf(o.To)-1e-6 && x.start+w.length > m.slotOf(o.From)+1e-6 {
			t.Errorf("job %d runs from %v for %v slots at a site without power", i, x.start, w.length)
		}
	}
	if there == 0 {
		t.Error("no job runs at the site")
	}
}

// A run of other jobs is refused.
func TestASearchRefusesARunOfAnotherScenario(t *testing.T) {
	s := day(20)
	c := certify(t, s, false)
	if _, err := SearchBestKnown(s, c, SearchConfig{Runs: [][]JobPlacement{{{Job: "no-such-job"}}}}); err == nil {
		t.Error("a run of another scenario is no error")
	}
	other := c
	other.Weights.Late++
	if _, err := SearchBestKnown(s, other, SearchConfig{}); err == nil {
		t.Error("a certificate of other weights is no error")
	}
	var stopped protocol.Time
	if _, err := SearchBestKnown(s, c, SearchConfig{Steps: 10, Stop: func() error { stopped++; return t.Context().Err() }}); err != nil || stopped == 0 {
		t.Errorf("Stop was polled %d times: %v", stopped, err)
	}
}
