package scenarios

import (
	"slices"
	"testing"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/script"
)

// drawnAt plays a day under a policy, and returns the most that the runs of some sites
// drew together at any instant, by what was offered for them, in milliwatts; and how
// many jobs had no place.
func drawnAt(t *testing.T, sites []string, p protocol.Policy) (most int64, unplaced int) {
	t.Helper()
	s, err := script.Load(script.Default, script.Options{MaxJobs: 300})
	if err != nil {
		t.Fatal(err)
	}
	offered, running := make(map[protocol.JobID]int64), make(map[protocol.JobID]int64)
	res, err := Play(t.Context(), s, Auction, new(membus.Hub), Options{Policy: p, Record: func(m protocol.Message) error {
		switch b := m.Body.(type) {
		case protocol.Award:
			offered[b.Job] = int64(b.Option.Energy) * 1000 / b.Option.Finish.Sub(b.Option.Start).Milliseconds()
		case protocol.Started:
			if !slices.Contains(sites, m.From.Site()) {
				break
			}
			running[b.Job] = offered[b.Job]
			var sum int64
			for _, x := range running {
				sum += x
			}
			most = max(most, sum)
		case protocol.Exited:
			delete(running, b.Job)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return most, res.Totals.Unplaced
}

// What all runs at a site draw stays under what the policy says, also where a job
// waits at the site and GPUs come free sooner than they were to; and what all runs at
// two sites draw, where the policy names both.
func TestAMarketKeepsACapOfPower(t *testing.T) {
	const limit = 600_000
	for _, sites := range [][]string{{"hydro-north"}, {"hydro-north", "nuclear-river"}} {
		free, _ := drawnAt(t, sites, protocol.Policy{})
		if free <= limit {
			t.Fatalf("%v: runs draw %d mW without a cap, so one of %d shows nothing", sites, free, limit)
		}
		capped, unplaced := drawnAt(t, sites, protocol.Policy{Version: 1, By: "ada", Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Cap, Sites: sites, Power: limit}}})
		if capped == 0 || capped > limit {
			t.Errorf("%v: runs draw %d mW under a cap of %d", sites, capped, limit)
		}
		if unplaced > 0 {
			t.Errorf("%v: %d jobs have no place", sites, unplaced)
		}
		t.Logf("%v: most drawn at once: %d mW, under the cap %d mW", sites, free, capped)
	}
}
