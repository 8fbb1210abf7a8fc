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
		l := lot("job", 1, Menu{Site: "oslo", Options: []protocol.Option{option(model, 0, 1, 10)}})
		a.Clear(round([]Lot{l}, Site{Name: "oslo", Room: []protocol.Room{hourly(model, 4000, 4000)}}))
	}
	if n := len(a.prices.lines); n != 0 {
		t.Errorf("prices of %d models are kept", n)
	}
}
