package bound

import (
	"math"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/baseline"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// broken is a day on which most jobs that can wait can be paused.
func broken(n int) spec.Scenario {
	s := day(n)
	s.Hash += " in parts"
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.MayWait() && j.GPUs > 0 && i%3 > 0 {
			j.Pause, j.State = time.Duration(1+i%2)*time.Minute, protocol.MiB(i%5*100)
		}
	}
	return s
}

// calm is a day without negative prices.
func calm(s spec.Scenario) spec.Scenario {
	s.Hash += " calm"
	for _, site := range s.Sites {
		for i := range site.Signals[protocol.GridPrice] {
			v := &site.Signals[protocol.GridPrice][i].Value
			*v = max(*v, 10_000)
		}
	}
	return s
}

// No policy is below the bound, and no job below its own minimum with free capacity.
func TestNoPolicyBeatsTheBoundOfJobsInParts(t *testing.T) {
	whole, err := ComputeCertificate(calm(day(80)), Config{Steps: 80})
	if err != nil {
		t.Fatal(err)
	}
	c := against(t, calm(broken(80)))
	if c.BoundUSD > whole.BoundUSD || c.BoundUSD < 0.8*whole.BoundUSD {
		t.Errorf("the bound is $%.4f if jobs can be paused, $%.4f if not", c.BoundUSD, whole.BoundUSD)
	}
	t.Logf("the bound is $%.4f if jobs can be paused, $%.4f if not", c.BoundUSD, whole.BoundUSD)
	against(t, broken(80))
}

// against holds every policy to the bounds of a scenario.
func against(t *testing.T, s spec.Scenario) Certificate {
	jobs, all := certify(t, s, false), certify(t, s, true)
	p, err := modelScenario(s, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range scenarios.PolicyNames() {
		res, err := scenarios.Replay(t.Context(), s, policy, new(membus.Bus), scenarios.Options{})
		if err != nil {
			t.Fatal(err)
		}
		of, with := busy(res, jobs.Weights), res.Totals.ObjectiveUSD
		if of < jobs.BoundUSD || with < all.BoundUSD {
			t.Errorf("%s does its jobs for $%.4f, with idle nodes $%.4f; the bounds are $%.4f and $%.4f", policy, of, with, jobs.BoundUSD, all.BoundUSD)
		}
		parts := alone(t, s, p, policy, res.History)
		if pauses := policy == baseline.RuleSuspendResume || policy == baseline.RuleWaitInterrupting; pauses && parts == 0 {
			t.Errorf("%s pauses nothing", policy)
		}
		t.Logf("%-24s $%.3f against $%.3f; with idle $%.3f against $%.3f; %d pauses", policy, of, jobs.BoundUSD, with, all.BoundUSD, parts)
	}
	return jobs
}

// alone holds each job to its own least, and returns how often jobs were paused.
func alone(t *testing.T, s spec.Scenario, p *boundProblem, policy string, b *history.History) (parts int) {
	ran := make(map[protocol.JobID]scenarios.CompletedJob)
	for _, r := range scenarios.CompletedJobs(b, scenarios.MarketWeights(s)) {
		ran[r.Job] = r
	}
	for i, j := range s.Jobs {
		r, ok := ran[j.ID]
		if !ok {
			continue
		}
		cost, started := float64(r.Cost), r.Started
		for i, x := range r.PausedSegments {
			if i == 0 {
				started = x.Started
			}
			cost += float64(x.Cost)
		}
		parts += len(r.PausedSegments)
		delay, late := scenarios.MarketWeights(s).DelayAndLateCost(j, started, r.Ended)
		cost += float64(delay + late)
		w := &p.jobs[i]
		_, _, least := p.bestAtPrices(w)
		if v, f, _ := p.leastPausedCost(w, math.Inf(1)); len(r.PausedSegments) > 0 && (f == nil || v > cost) {
			t.Errorf("%s: %s costs %.0f in %d parts; the least in parts is %.0f", policy, j.ID, cost, 1+len(r.PausedSegments), v)
		} else if len(r.PausedSegments) == 0 && least > cost {
			t.Errorf("%s: %s costs %.0f; the least is %.0f", policy, j.ID, cost, least)
		}
	}
	return parts
}

// Who buys work and who prices it come to the same bound, also where sites, prices
// and deadlines are odd.
func TestWorkThatIsBoughtCostsWhatItIsWorth(t *testing.T) {
	tests := []struct {
		name   string
		change func(*spec.Scenario, *protocol.Job)
	}{
		{"as it is", func(*spec.Scenario, *protocol.Job) {}},
		{"no time to pause", func(_ *spec.Scenario, j *protocol.Job) { j.Deadline = j.Arrival.Add(j.Run + time.Minute) }},
		{"weeks of time", func(_ *spec.Scenario, j *protocol.Job) { j.Deadline = j.Deadline.Add(30 * 24 * time.Hour) }},
		{"one site", func(s *spec.Scenario, _ *protocol.Job) { s.Sites = s.Sites[len(s.Sites)-1:] }},
		{"pauses as long as the run", func(_ *spec.Scenario, j *protocol.Job) { j.Pause = j.Run }},
		{"without GPUs", func(_ *spec.Scenario, j *protocol.Job) { j.GPUs, j.Share, j.Pause = 0, 0, time.Minute }},
		{"odd times", func(_ *spec.Scenario, j *protocol.Job) { j.Arrival = j.Arrival.Add(j.Run/7 + time.Second) }},
		{"power always earns", func(s *spec.Scenario, j *protocol.Job) {
			for _, site := range s.Sites {
				for i := range site.Signals[protocol.GridPrice] {
					site.Signals[protocol.GridPrice][i].Value -= 5_000
				}
			}
		}},
	}
	for _, tc := range tests {
		for _, idle := range []bool{false, true} {
			s := broken(20)
			s.Name = tc.name
			for i := range s.Jobs {
				tc.change(&s, &s.Jobs[i])
			}
			certify(t, s, idle)
		}
	}
}

// Whatever being late costs, the proof holds: with prices of lateness near those
// of power the search does not look at all late starts, and its bound is lower.
func TestABoundIsProvenWhateverLatenessCosts(t *testing.T) {
	for i, late := range []protocol.Microdollars{0, 40_000, 400_000, 40_000, 400_000} {
		s := broken(20)
		s.Weights.Late = late
		if i > 2 { // the same with a limit, which makes it concave
			s.Weights.LateMost = late / 2
			s.Weights.WaitStandard = 5_000
		}
		c, err := ComputeCertificate(s, Config{Steps: 40})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := VerifyCertificate(s, c); err != nil {
			t.Errorf("lateness at %d: Check = %v, %v; the certificate says %v", late, got, err, c.BoundUSD)
		}
	}
}
