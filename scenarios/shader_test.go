package scenarios

import (
	"testing"

	"github.com/gridbid/gridbid/bus/membus"
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

// Only a site that is told to charges jobs a share of its nodes' idle draw.
func TestASiteBidsIdleDrawIfItIsToldTo(t *testing.T) {
	s := small(20)
	s.Sites[0].IdleBid = true
	charged, free := 0, 0
	_, err := Play(t.Context(), s, Auction, new(membus.Hub), Options{Record: func(m protocol.Message) error {
		offer, _ := m.Body.(protocol.Offer)
		for _, menu := range offer.Jobs {
			for _, o := range menu.Options {
				told := m.From == protocol.Agent(s.Sites[0].Name)
				if told != (o.Awake != 0) {
					t.Errorf("%s bids %d for being awake", m.From, o.Awake)
				}
				if told {
					charged++
				} else {
					free++
				}
			}
		}
		return nil
	}})
	if err != nil || charged == 0 || free == 0 {
		t.Errorf("%d options with idle draw and %d without, error %v", charged, free, err)
	}
}
