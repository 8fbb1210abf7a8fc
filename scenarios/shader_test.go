package scenarios

import (
	"testing"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/script"
)

func TestAShaderChangesWhatIsBidAndNothingElse(t *testing.T) {
	bid := protocol.Option{Money: -2000, Energy: 9000, Carbon: 500_000, Transfer: 77}
	said := []protocol.Message{
		{Body: protocol.Offer{Jobs: []protocol.Menu{{Job: "a", Options: []protocol.Option{bid}}}}},
		{Body: protocol.Done{Job: "b", Money: 1000}},
	}
	s := shader{bids: script.Bids{Price: 1300, Energy: 500}}
	got := s.shade(said)
	want := bid
	want.Money, want.Energy, want.Carbon = -1400, 4500, 250_000
	if o := got[0].Body.(protocol.Offer).Jobs[0].Options[0]; o != want {
		t.Errorf("bid %+v, want %+v", o, want)
	}
	if got[1].Body.(protocol.Done).Money != 1000 {
		t.Errorf("a report is shaded too: %+v", got[1].Body)
	}
}
