package lies_test

import (
	"flag"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

var (
	honestRounds = flag.Uint64("rounds", 400, "rounds of honest hubs that must verify")
	firstWorld   = flag.Uint64("world", 0, "the first world of them, of 25 rounds each")
)

// Whatever happens in an honest federation, restarts included, no reader finds anything.
func TestHonestRoundsVerify(t *testing.T) {
	const each = 25
	rounds, entries, committed, missed := 0, 0, 0, 0
	for seed := *firstWorld; (seed-*firstWorld)*each < *honestRounds; seed++ {
		w := newWorld(t, seed, nil)
		w.restarts = seed%2 == 1
		w.play(each)
		for _, r := range []struct {
			who    string
			report func() (findings int)
		}{
			{"bern", func() int { return said(t, seed, "bern", w.readSite("bern")) }},
			{"oslo", func() int { return said(t, seed, "oslo", w.readSite("oslo")) }},
			{"the tenant", func() int { return said(t, seed, "the tenant", w.readTenant()) }},
		} {
			if r.report() > 0 {
				t.FailNow()
			}
		}
		a := w.readAuditor()
		if said(t, seed, "the auditor", a) > 0 || a.Rounds < 20 || a.Entries < 200 || a.Heads < 10 {
			t.Fatalf("world %d: %d rounds were run again, %d entries, %d heads", seed, a.Rounds, a.Entries, a.Heads)
		}
		rounds, entries = rounds+a.Rounds, entries+a.Entries
		for _, m := range w.record {
			switch b := m.Body.(type) {
			case protocol.PartsDecided:
				if b.Committed {
					committed++
				}
			case protocol.Preempt:
				if b.Why.Code == protocol.NotStarted {
					missed++
				}
			}
		}
	}
	t.Logf("%d rounds, %d entries, %d jobs in parts committed, %d starts missed", rounds, entries, committed, missed)
	if committed < 5 || missed == 0 {
		t.Errorf("%d jobs in parts were committed, and %d starts missed: too few to judge", committed, missed)
	}
}
