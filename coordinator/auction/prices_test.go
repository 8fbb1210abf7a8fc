package auction

import (
	"fmt"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// Room that is worth nothing is not remembered, or a market would keep every name
// that a site ever gave its GPUs.
func TestRoomThatIsWorthNothingIsForgotten(t *testing.T) {
	a := New(Config{})
	for i := range 50 {
		model := fmt.Sprint("V", i)
		l := lot("job", 1, SiteBids{Site: "oslo", Options: []protocol.BidOption{option(model, 0, 1, 10)}})
		a.Clear(round([]Lot{l}, Site{Name: "oslo", Capacity: []protocol.CapacityProfile{hourly(model, 4000, 4000)}}))
	}
	if n := len(a.prices.lines); n != 0 {
		t.Errorf("prices of %d models are kept", n)
	}
}

// Nor are prices kept of models that a site told of once: a site that called its GPUs
// otherwise in each round would have calls grow until they cannot be said.
func TestRoomThatASiteTellsNoMoreOfIsForgotten(t *testing.T) {
	a := New(Config{})
	for i := range 9 {
		model := fmt.Sprint("V", i)
		l := lot("job", 1, SiteBids{Site: "oslo", Options: []protocol.BidOption{option(model, 0, 1, 10)}})
		a.Clear(round([]Lot{l}, Site{Name: "oslo", Capacity: []protocol.CapacityProfile{hourly(model, 4000, 0)}}))
		if n := len(a.prices.lines); n != 1 {
			t.Fatalf("after %d rounds prices of %d models are kept", i+1, n)
		}
	}
	a.Clear(round(nil, Site{Name: "bern"}))
	if n := len(a.prices.lines); n != 1 {
		t.Errorf("of a site that was silent prices of %d models are kept", n)
	}
}
