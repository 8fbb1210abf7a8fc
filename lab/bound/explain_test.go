package bound

import (
	"math"
	"testing"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// What jobs pay over their best places, and what room is worth that was left
// idle, is all that a run costs over the bound.
func TestThePartsOfAGapAddUp(t *testing.T) {
	for _, s := range []spec.Scenario{day(80), broken(80)} {
		addUp(t, s)
	}
}

// regretOfAll adds up what a yardstick says of each job.
func regretOfAll(t *testing.T, s spec.Scenario, c Certificate, ran []scenarios.CompletedJob) (sum float64) {
	y, err := NewYardstick(s, c)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range ran {
		v, err := y.RegretUSD(r)
		if err != nil || v < -1e-9 {
			t.Fatalf("job %s pays $%v over its best choice of $%v: %v", r.Job, v, y.BestUSD(r.Job), err)
		}
		sum += v
	}
	return sum
}

func addUp(t *testing.T, s spec.Scenario) {
	c := certify(t, s, false)
	for _, policy := range []string{scenarios.PolicyAuction, scenarios.PolicyGreensched, "home-fifo", "wait-awhile-interrupting"} {
		res, err := scenarios.Replay(t.Context(), s, policy, new(membus.Bus), scenarios.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := ExplainGap(s, c, scenarios.CompletedJobs(res.History, c.Weights), res.Totals.JobsUSD)
		if err != nil {
			t.Fatal(err)
		}
		sum, jobs := 0.0, 0
		for _, g := range p.Groups {
			sum += g.TotalUSD()
			jobs += g.Jobs
			if g.SiteUSD < 0 || g.WayUSD < 0 || g.DelayUSD < 0 || g.LateUSD < 0 || g.PartsUSD < 0 || g.TotalUSD() < 0 || g.Waits && g.DelayUSD > 0 {
				t.Errorf("%s: %+v: no job pays less than in its best place", policy, g)
			}
		}
		if got := regretOfAll(t, s, c, scenarios.CompletedJobs(res.History, c.Weights)); math.Abs(got-sum) > 1e-9*max(sum, 1) {
			t.Errorf("%s: the jobs' regrets add up to $%.9f, their groups to $%.9f", policy, got, sum)
		}
		for _, x := range p.Idle {
			sum += x.USD
			if x.USD < 0 {
				t.Errorf("%s: %+v: no more room is used than there is", policy, x)
			}
		}
		// The bound grants each job some millionths for rounding.
		if over := p.JobsUSD - p.BoundUSD; math.Abs(sum-over) > 40e-6*float64(len(s.Jobs)) || math.Abs(over-sum-p.RestUSD) > 1e-9 {
			t.Errorf("%s costs $%.6f over the bound, its parts $%.6f, the rest $%.6f", policy, over, sum, p.RestUSD)
		}
		if jobs != res.Totals.Placed || p.JobsUSD != res.Totals.JobsUSD {
			t.Errorf("%s: %d jobs at $%v are explained of %d at $%v", policy, jobs, p.JobsUSD, res.Totals.Placed, res.Totals.JobsUSD)
		}
		t.Logf("%-18s $%.4f over $%.4f: %.4f of jobs and room, rest %.6f", policy, p.JobsUSD-p.BoundUSD, p.BoundUSD, sum, p.RestUSD)
	}
	other := c
	other.Pools = other.Pools[1:]
	if _, err := ExplainGap(s, other, nil, 0); err == nil {
		t.Error("a certificate without a price for a kind of node explains a run")
	}
	if _, err := ExplainGap(s, c, []scenarios.CompletedJob{{Job: "of another day"}}, 0); err == nil {
		t.Error("a job of another scenario is explained")
	}
}
