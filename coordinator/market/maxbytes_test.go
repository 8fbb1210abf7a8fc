package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

func TestCallCarriesMaxBytes(t *testing.T) {
	for _, limit := range []int{0, 520_192} {
		m := New(Config{MaxOfferBytes: limit}, auction.New(auction.Config{}))
		submitter := protocol.Sender{Party: protocol.Submitter}
		m.Step(noon, submitter.NewMessage(noon, protocol.Coordinator, protocol.Submit{Job: protocol.Job{Urgency: protocol.UrgencyNow, ID: "a", CPU: 1000, Arrival: noon, Run: time.Hour, Deadline: noon.Add(9 * time.Hour)}}))
		calls := 0
		for _, sent := range m.Tick(m.Due()) {
			if c, ok := sent.Body.(protocol.CallForBids); ok {
				if calls++; c.MaxBytes != limit {
					t.Errorf("a market that takes offers of %d bytes calls for %d", limit, c.MaxBytes)
				}
			}
		}
		if calls != 1 {
			t.Errorf("%d calls for one job", calls)
		}
	}
}
