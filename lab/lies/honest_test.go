package lies_test

import (
	"flag"
	"testing"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/verify"
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
		a := w.verifiedByAll()
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

// A part that is stopped since another part of its job made room is paid for as that one is. In these worlds jobs of
// one tenant have parts of the other's stopped.
func TestPartsThatGoWithAnotherArePaidByTheRule(t *testing.T) {
	for _, seed := range []uint64{438, 817} {
		w := newWorld(t, seed, nil)
		w.restarts = seed%2 == 1
		w.play(25)
		w.verifiedByAll()
	}
}

// verifiedByAll has two sites, the tenant and the auditor read what the hub shows, who find nothing, and returns what
// the auditor read.
func (w *world) verifiedByAll() verify.Report {
	for _, r := range []struct {
		who    string
		report func() (findings int)
	}{
		{"bern", func() int { return said(w.t, w.seed, "bern", w.readSite("bern")) }},
		{"oslo", func() int { return said(w.t, w.seed, "oslo", w.readSite("oslo")) }},
		{"the tenant", func() int { return said(w.t, w.seed, "the tenant", w.readTenant()) }},
	} {
		if r.report() > 0 {
			w.t.FailNow()
		}
	}
	a := w.readAuditor()
	if said(w.t, w.seed, "the auditor", a) > 0 || a.Rounds < 20 || a.Entries < 200 || a.Heads < 10 {
		w.t.Fatalf("world %d: %d rounds were run again, %d entries, %d heads", w.seed, a.Rounds, a.Entries, a.Heads)
	}
	return a
}
