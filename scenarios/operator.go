package scenarios

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// An operator asks the market at their times for what the operators of a scenario do, as they would
// by the API: drains, removals of sites and cancellations, and all that is asked of services.
type operator struct {
	sender protocol.Sender
	due    []operation // not sent yet, by time
}

// An operation is one request of an operator.
type operation struct {
	at   protocol.Time
	body protocol.Body
}

// newOperator returns the operator of a scenario's events; nil if they have none. Sites register at the
// start of a run, and one that is not known cannot be drained, so the first instant is after that.
func newOperator(s spec.Scenario) bus.Machine {
	o := &operator{sender: protocol.Sender{Party: protocol.OperatorAPI}}
	for _, e := range s.Events {
		at := max(e.At, s.Start+1)
		switch e.Kind {
		case spec.DrainSite:
			o.due = append(o.due, operation{at, protocol.Drain{Site: e.Name}})
			if e.Until > at {
				o.due = append(o.due, operation{e.Until, protocol.Drain{Site: e.Name, Over: true}})
			}
		case spec.RemoveSite:
			o.due = append(o.due, operation{at, protocol.DecommissionSite{Site: e.Name, By: "operator"}})
		case spec.CancelJob:
			o.due = append(o.due, operation{at, protocol.Cancel{Job: protocol.JobID(e.Name)}})
		case spec.ScaleService:
			o.due = append(o.due, operation{at, protocol.ScaleService{Service: protocol.ServiceID(e.Name), Wanted: e.Replicas, By: "operator"}})
		case spec.RebalanceService:
			o.due = append(o.due, operation{at, protocol.RebalanceService{Service: protocol.ServiceID(e.Name), By: "operator"}})
		case spec.DeleteService:
			o.due = append(o.due, operation{at, protocol.DeleteService{Service: protocol.ServiceID(e.Name), By: "operator"}})
		}
	}
	for _, x := range s.Services {
		o.due = append(o.due, operation{max(x.At, s.Start+1), protocol.SubmitService{Service: x.Service}})
	}
	if len(o.due) == 0 {
		return nil
	}
	slices.SortStableFunc(o.due, func(a, b operation) int { return cmp.Compare(a.at, b.at) })
	return o
}

// Due implements bus.Machine.
func (o *operator) Due() protocol.Time {
	if len(o.due) == 0 {
		return 0
	}
	return o.due[0].at
}

// Tick implements bus.Machine.
func (o *operator) Tick(now protocol.Time) (out []protocol.Message) {
	for len(o.due) > 0 && o.due[0].at <= now {
		out = append(out, o.sender.NewMessage(now, protocol.Coordinator, o.due[0].body))
		o.due = o.due[1:]
	}
	return out
}

// Step implements bus.Machine: an answer changes nothing.
func (*operator) Step(protocol.Time, protocol.Message) []protocol.Message { return nil }
