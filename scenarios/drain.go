package scenarios

import (
	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A SiteDrain is a time in which an operator keeps a site from new jobs; what runs there goes on.
type SiteDrain struct {
	Site     string
	From, To protocol.Time // zero: from the start, to the end
}

// A drainingOperator asks the market for drains at their times, as an operator does by the API.
type drainingOperator struct {
	sender protocol.Sender
	due    []protocol.Time // of what is yet to be sent, by time
	bodies []protocol.Drain
}

// newDrainingOperator returns the operator of a drain. Sites register at the start of a run, and one
// that is not known cannot be drained, so the first instant is after that.
func newDrainingOperator(d SiteDrain, start protocol.Time) bus.Machine {
	o := &drainingOperator{sender: protocol.Sender{Party: protocol.OperatorAPI}}
	o.due, o.bodies = append(o.due, max(d.From, start+1)), append(o.bodies, protocol.Drain{Site: d.Site})
	if d.To > o.due[0] {
		o.due, o.bodies = append(o.due, d.To), append(o.bodies, protocol.Drain{Site: d.Site, Over: true})
	}
	return o
}

// Due implements bus.Machine.
func (o *drainingOperator) Due() protocol.Time {
	if len(o.due) == 0 {
		return 0
	}
	return o.due[0]
}

// Tick implements bus.Machine.
func (o *drainingOperator) Tick(now protocol.Time) (out []protocol.Message) {
	for len(o.due) > 0 && o.due[0] <= now {
		out = append(out, o.sender.NewMessage(now, protocol.Coordinator, o.bodies[0]))
		o.due, o.bodies = o.due[1:], o.bodies[1:]
	}
	return out
}

// Step implements bus.Machine: an answer changes nothing.
func (*drainingOperator) Step(protocol.Time, protocol.Message) []protocol.Message { return nil }
