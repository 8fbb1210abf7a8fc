package counterfactual

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// Each round is returned once, as soon as the ledger has shown its decisions and not before, with the
// decisions of the ledger.
func TestRoundsAreReturnedOnceTheLedgerShowsThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawPlay(t).play(weights, nil)
		r, taken := again(&stage{}), 0
		shown := make(map[uint64]int) // decisions by round
		for _, m := range s.said {
			switch b := m.Body.(type) {
			case protocol.Award:
				shown[b.Round]++
			case protocol.Defer:
				shown[b.Round]++
			}
			r.AddMessage(m)
			for _, x := range r.TakeRounds() {
				taken++
				if shown[x.In.Number] != len(x.Decisions) || len(x.Decisions) != len(x.In.Lots) {
					t.Fatalf("round %d has %d decisions of %d jobs; the ledger has shown %d", x.In.Number, len(x.Decisions), len(x.In.Lots), shown[x.In.Number])
				}
			}
		}
		if taken != len(r.rounds) || taken < len(shown) || r.Missing() != "" {
			t.Fatalf("%d of %d rounds: %s", taken, len(r.rounds), r.Missing())
		}
	})
}

// A round that the ledger shows otherwise is never returned, and the reason is said.
func TestARoundThatDiffersIsNotReturned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawPlay(t).play(weights, nil)
		at := slices.IndexFunc(s.said, func(m protocol.Message) bool { _, ok := m.Body.(protocol.Award); return ok })
		if at < 0 {
			t.Skip("nothing was awarded")
		}
		a := s.said[at].Body.(protocol.Award)
		a.Option.Money++
		s.said[at].Body = a
		r := again(s)
		for _, x := range r.TakeRounds() {
			if x.In.Number >= a.Round {
				t.Fatalf("round %d is returned; round %d differs", x.In.Number, a.Round)
			}
		}
		if r.Missing() == "" {
			t.Fatal("nothing is missing")
		}
	})
}
