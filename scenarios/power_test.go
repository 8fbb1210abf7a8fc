package scenarios

import (
	"slices"
	"testing"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A draw is what one run at a site drew, by what was offered for it, in milliwatts, and its job.
type draw struct {
	site string
	mw   int64
	job  protocol.Job
}

// drawn plays a day under a policy, and tells each time that a run starts of all
// that run then. It returns how many jobs had no place.
func drawn(t *testing.T, p protocol.Policy, tell func(map[protocol.JobID]draw)) (unplaced int) {
	t.Helper()
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 300})
	if err != nil {
		t.Fatal(err)
	}
	offered, running, jobs := make(map[protocol.JobID]int64), make(map[protocol.JobID]draw), make(map[protocol.JobID]protocol.Job)
	for _, j := range s.Jobs {
		jobs[j.ID] = j
	}
	res, err := Replay(t.Context(), s, PolicyAuction, new(membus.Bus), Options{Policy: p, Record: func(m protocol.Message) error {
		switch b := m.Body.(type) {
		case protocol.Award:
			offered[b.Job] = int64(b.Option.Energy) * 1000 / b.Option.Finish.Sub(b.Option.Start).Milliseconds()
		case protocol.Started:
			running[b.Job] = draw{m.From.SiteName(), offered[b.Job], jobs[b.Job]}
			tell(running)
		case protocol.Finished:
			delete(running, b.Job)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return res.Totals.Unplaced
}

// together is what the runs at some sites draw.
func together(running map[protocol.JobID]draw, sites []string) (sum int64) {
	for _, x := range running {
		if slices.Contains(sites, x.site) {
			sum += x.mw
		}
	}
	return sum
}

// The power of all runs at a site stays under the policy's cap, also if a job is queued
// at the site and GPUs become free early; the same holds for a cap over two sites.
func TestAMarketKeepsACapOfPower(t *testing.T) {
	const limit = 600_000
	named := [][]string{{"hydro-north"}, {"hydro-north", "nuclear-river"}}
	free := make([]int64, len(named))
	drawn(t, protocol.Policy{}, func(running map[protocol.JobID]draw) {
		for i, sites := range named {
			free[i] = max(free[i], together(running, sites))
		}
	})
	for i, sites := range named {
		if free[i] <= limit {
			t.Fatalf("%v: runs draw %d mW without a cap, so one of %d shows nothing", sites, free[i], limit)
		}
		capped := int64(0)
		unplaced := drawn(t, protocol.Policy{Version: 1, By: "ada", Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Cap, Sites: sites, Power: limit}}}, func(running map[protocol.JobID]draw) {
			capped = max(capped, together(running, sites))
		})
		if capped == 0 || capped > limit {
			t.Errorf("%v: runs draw %d mW under a cap of %d", sites, capped, limit)
		}
		if unplaced > 0 {
			t.Errorf("%v: %d jobs have no place", sites, unplaced)
		}
		t.Logf("%v: most drawn at once: %d mW, under the cap %d mW", sites, free[i], capped)
	}
}

// A tenant under a cap never holds more GPUs than it says, over all sites or at some, and every job
// of the day ends all the same.
func TestAMarketKeepsACapOfGPUs(t *testing.T) {
	const limit = 8000 // the largest job has eight GPUs
	for _, rule := range []protocol.Rule{
		{ID: "R-1", Kind: protocol.Cap, Tenant: "team-b", GPUs: limit},
		{ID: "R-1", Kind: protocol.Cap, Sites: []string{"hydro-north", "nuclear-river"}, GPUs: limit},
	} {
		most := func(p protocol.Policy) (held protocol.Milli, unplaced int) {
			unplaced = drawn(t, p, func(running map[protocol.JobID]draw) {
				sum := protocol.Milli(0)
				for _, x := range running {
					if (rule.Tenant == "" || rule.Tenant == x.job.Tenant) && rule.CoversSite(x.site) {
						sum += x.job.TotalGPUMilli()
					}
				}
				held = max(held, sum)
			})
			return held, unplaced
		}
		free, _ := most(protocol.Policy{})
		if free <= limit {
			t.Fatalf("%+v: jobs hold %d thousandths of a GPU without a cap, so one of %d shows nothing", rule, free, limit)
		}
		capped, unplaced := most(protocol.Policy{Version: 1, By: "ada", Rules: []protocol.Rule{rule}})
		if capped == 0 || capped > limit || unplaced > 0 {
			t.Errorf("%+v: jobs hold %d thousandths of a GPU, and %d have no place; want at most %d, and none", rule, capped, unplaced, limit)
		}
	}
}
