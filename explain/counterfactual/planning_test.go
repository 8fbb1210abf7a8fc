package counterfactual

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// Rounds are cleared anew by the planning that their ledger names; by the default where
// it names none, as a coordinator wrote it that is older than the field.
func TestRoundsAreReproducedByThePlanningOfTheirLedger(t *testing.T) {
	fine := protocol.Planning{Slot: 5 * time.Minute, Horizon: 5 * time.Hour, MaxStartDelay: 50 * time.Minute, FirmLead: 4 * time.Hour}
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlay(t)
		own := rapid.Bool().Draw(t, "a planning of its own")
		s := newStage(weights, p.sites...)
		if own {
			s = &stage{now: noon, mouths: make(map[protocol.Party]*protocol.Sender), market: market.New(market.Config{Terms: weights, Planning: fine}, auction.New(auction.Config{}))}
			for _, name := range p.sites {
				s.say(protocol.AgentParty(name), protocol.RegisterSite{Site: name})
			}
		}
		p.on(s, nil, nil)
		for i, m := range s.said {
			if c, ok := m.Body.(protocol.CallForBids); ok && !own {
				c.Planning = protocol.Planning{}
				s.said[i].Body = c
			}
		}
		if r := again(s); r.fault != "" || len(r.rounds) != len(s.calls) {
			t.Fatalf("with a planning of its own: %v: %d of %d rounds; %s", own, len(r.rounds), len(s.calls), r.fault)
		}
	})
}
