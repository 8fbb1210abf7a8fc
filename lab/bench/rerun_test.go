package bench

import (
	"testing"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/explain/counterfactual"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Every round of a played day is cleared again as it was, also under a policy of
// operators, and gives what its ledger says.
func TestEveryRoundOfADayIsReproduced(t *testing.T) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 60})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []protocol.Policy{{}, {Version: 1, By: "ada", Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Prefer, Sites: []string{"hydro-north"}, Weight: 200}}}} {
		r := counterfactual.NewReplay(market.Config{Pay: accounts.PaymentRule{Margin: 100}})
		rounds := make(map[uint64]bool)
		_, err = scenarios.Replay(t.Context(), s, scenarios.PolicyAuction, new(membus.Bus), scenarios.Options{Policy: p, Record: func(m protocol.Message) error {
			r.AddMessage(m)
			switch b := m.Body.(type) {
			case protocol.Award:
				rounds[b.Round] = true
			case protocol.Defer:
				rounds[b.Round] = true
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		for round := range rounds {
			if out, err := r.ClearWithChange(round, counterfactual.RoundChange{}); err != nil || out.CountMoves() != 0 {
				t.Errorf("policy %d: %v, %d jobs decided otherwise", p.Version, err, out.CountMoves())
			}
		}
		if len(rounds) < 30 {
			t.Errorf("policy %d: only %d rounds", p.Version, len(rounds))
		}
	}
}
