package scenarios

import (
	"slices"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A shader is an agent that does not say what it knows. What it does with what
// it wins, and what its meters say, is as with any other.
type shader struct {
	bus.Machine
	bids spec.Bids
}

// Step implements bus.Machine.
func (s shader) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	return s.shade(s.Machine.Step(now, m))
}

// Tick implements bus.Machine.
func (s shader) Tick(now protocol.Time) []protocol.Message { return s.shade(s.Machine.Tick(now)) }

func (s shader) shade(said []protocol.Message) []protocol.Message {
	for i, m := range said {
		offer, ok := m.Body.(protocol.Offer)
		if !ok {
			continue
		}
		offer.Jobs = slices.Clone(offer.Jobs)
		for k, menu := range offer.Jobs {
			menu.Options = slices.Clone(menu.Options)
			for n, o := range menu.Options {
				o.Money += part(max(o.Money, -o.Money), s.bids.Price)
				o.Energy += part(o.Energy, s.bids.Energy)
				o.Carbon += part(o.Carbon, s.bids.Energy)
				menu.Options[n] = o
			}
			offer.Jobs[k] = menu
		}
		said[i].Body = offer
	}
	return said
}

// part is how much is said beyond v by who says v times of thousandths; 0
// thousandths are the truth.
func part[T ~int64](v T, of protocol.Milli) T {
	if of == 0 {
		return 0
	}
	n, more := int64(v), int64(of-1000)
	return T(n/1000*more + n%1000*more/1000)
}
