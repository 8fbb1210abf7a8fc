package scenarios

import (
	"slices"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A misreportingAgent is an agent that misreports its bids. It runs jobs and reports usage as
// any other agent, so settlement sees the true values.
type misreportingAgent struct {
	bus.Machine
	bids func() spec.Misreport
}

// Step implements bus.Machine.
func (s misreportingAgent) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	return s.misreportBids(s.Machine.Step(now, m))
}

// Tick implements bus.Machine.
func (s misreportingAgent) Tick(now protocol.Time) []protocol.Message {
	return s.misreportBids(s.Machine.Tick(now))
}

// misreportBids scales money, energy and carbon of all options. It clones the slices: the
// agent still holds them.
func (s misreportingAgent) misreportBids(said []protocol.Message) []protocol.Message {
	for i, m := range said {
		offer, ok := m.Body.(protocol.Bids)
		if !ok {
			continue
		}
		bids := s.bids()
		offer.Jobs = slices.Clone(offer.Jobs)
		for k, menu := range offer.Jobs {
			menu.Options = slices.Clone(menu.Options)
			for n, o := range menu.Options {
				o.Money += misreportShare(max(o.Money, -o.Money), bids.Price)
				o.Energy += misreportShare(o.Energy, bids.Energy)
				o.Carbon += misreportShare(o.Carbon, bids.Energy)
				menu.Options[n] = o
			}
			offer.Jobs[k] = menu
		}
		said[i].Body = offer
	}
	return said
}

// misreportShare returns the difference between v times of thousandths and v; of = 0 means the
// true value. Dividing first avoids an overflow.
func misreportShare[T ~int64](v T, of protocol.Milli) T {
	if of == 0 {
		return 0
	}
	n, more := int64(v), int64(of-1000)
	return T(n/1000*more + n%1000*more/1000)
}
