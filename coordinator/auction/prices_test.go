package auction

import (
	"fmt"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// Zero prices are not remembered, or the market would keep every model name that a site ever used.
func TestPricesOfFreeCapacityAreForgotten(t *testing.T) {
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

// A site that renamed its GPUs in each round would otherwise make calls grow until they exceed a
// message.
func TestPricesOfRemovedModelsAreForgotten(t *testing.T) {
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
