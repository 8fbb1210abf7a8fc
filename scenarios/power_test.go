package scenarios

import (
	"testing"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/script"
)

// drawnAt plays a day under a policy, and returns the most that runs at a site
// were to draw together at any instant, as offered, in milliwatts; and how many
// jobs had no place.
func drawnAt(t *testing.T, site string, p protocol.Policy) (most int64, unplaced int) {
	t.Helper()
	s, err := script.Load(script.Default, script.Options{MaxJobs: 300})
	if err != nil {
		t.Fatal(err)
	}
	runs := make(map[protocol.JobID]protocol.Option)
	res, err := Play(t.Context(), s, Auction, new(membus.Hub), Options{Policy: p, Record: func(m protocol.Message) error {
		switch b := m.Body.(type) {
		case protocol.Award:
			if delete(runs, b.Job); m.To.Site() == site {
				runs[b.Job] = b.Option
			}
		case protocol.Decline:
			delete(runs, b.Job)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range runs {
		var sum int64
		for _, o := range runs {
			if o.Start <= at.Start && at.Start < o.Finish {
				sum += int64(o.Energy) * 1000 / o.Finish.Sub(o.Start).Milliseconds()
			}
		}
		most = max(most, sum)
	}
	return most, res.Totals.Unplaced
}

// What all runs at a site are to draw stays under what the policy says.
func TestAMarketKeepsACapOfPower(t *testing.T) {
	const site, limit = "hydro-north", 900_000
	free, _ := drawnAt(t, site, protocol.Policy{})
	if free <= limit {
		t.Fatalf("%s draws %d mW without a cap, so one of %d shows nothing", site, free, limit)
	}
	capped, unplaced := drawnAt(t, site, protocol.Policy{Version: 1, By: "ada", Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Cap, Sites: []string{site}, Power: limit}}})
	if capped == 0 || capped > limit {
		t.Errorf("%s is to draw %d mW under a cap of %d", site, capped, limit)
	}
	if unplaced > 0 {
		t.Errorf("%d jobs have no place", unplaced)
	}
	t.Logf("most drawn at once: %d mW, under the cap %d mW", free, capped)
}
