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

// misreportBids scales money, energy and carbon of all options, and changes how many replicas are said to find no
// node. It clones the slices: the agent still holds them.
func (s misreportingAgent) misreportBids(said []protocol.Message) []protocol.Message {
	for i, m := range said {
		switch b := m.Body.(type) {
		case protocol.Bids:
			said[i].Body = misreportOptions(b, s.bids())
		case protocol.ReplicaStatus:
			said[i].Body = misreportStuck(b, s.bids())
		case protocol.CapacityBid:
			b.Services = slices.Clone(b.Services)
			for k := range b.Services {
				b.Services[k].Held = misreportStuck(b.Services[k].Held, s.bids())
			}
			said[i].Body = b
		}
	}
	return said
}

// misreportOptions scales money, energy and carbon of all options.
func misreportOptions(offer protocol.Bids, bids spec.Misreport) protocol.Bids {
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
	return offer
}

// misreportStuck returns a status that says a wrong number of replicas without a node, where some have none.
func misreportStuck(st protocol.ReplicaStatus, bids spec.Misreport) protocol.ReplicaStatus {
	if st.Pending > 0 && bids.Stuck > 0 {
		st.Pending = bids.Stuck
	}
	return st
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
