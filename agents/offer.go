package agents

import (
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
)

// hours is how far ahead an agent says how its grid will be: a run that starts at the
// end of the usual horizon is still priced by the forecast for a day.
const hours = 96

// offer answers a call: a menu for each job, and the state of the site.
func (a *Agent) offer(now protocol.Time, c protocol.Call) []protocol.Message {
	a.look(now)
	clear(a.asked)
	defer func() { a.called = now }()
	plan := c.Planning.OrDefault()
	if err := plan.Validate(); err != nil {
		return a.refuseCall(now, c, err)
	}
	a.planning = plan
	p := pricing{agent: a, now: now, terms: c.Terms, planning: plan, shadow: newShadow(c.Shadow, a.cfg.Site)}
	o := protocol.Offer{Round: c.Round, Grid: a.outlook, Jobs: make([]protocol.Menu, 0, len(c.Jobs))}
	for _, j := range c.Jobs {
		expect := a.expect(&j)
		a.asked[j.ID] = j
		if j.Arrival > a.called { // not called before
			a.fleet.Observe(j)
		}
		m := p.menu(j)
		m.Expect = expect
		o.Jobs = append(o.Jobs, m)
	}
	o.Room = a.fleet.Room(now, plan.Slot, plan.Slots())
	o.Idle, o.Useless = a.fleet.Idle()
	said := a.say(now, protocol.Coordinator, o)
	said[0].Body = thinToMaxBytes(said[0], c.MaxBytes)
	return said
}

// refuseCall offers nothing for a call that cannot be planned by, and says why for
// each of its jobs. The planning of the last valid call stays in force.
func (a *Agent) refuseCall(now protocol.Time, c protocol.Call, err error) []protocol.Message {
	o := protocol.Offer{Round: c.Round, Grid: a.outlook, Jobs: make([]protocol.Menu, 0, len(c.Jobs))}
	why := protocol.Reason{Code: protocol.BadPlanning, Note: err.Error()}
	for _, j := range c.Jobs {
		o.Jobs = append(o.Jobs, protocol.Menu{Job: j.ID, Why: why})
	}
	return a.say(now, protocol.Coordinator, o)
}

// look brings the outlook up to now. It changes with the hour and with what the
// feed says, not from call to call.
func (a *Agent) look(now protocol.Time) {
	if a.curve != nil && a.outlook.From == now.Floor(time.Hour) {
		return
	}
	a.outlook = a.grid.Outlook(now, hours)
	a.curve = forecast.NewCurve(a.outlook)
}

// shadow is what room of one site is worth, by model.
type shadow map[string]protocol.Price

func newShadow(prices []protocol.Price, site string) shadow {
	s := make(shadow)
	for _, p := range prices {
		if p.Site == site && p.Slot > 0 {
			s[p.Model] = p
		}
	}
	return s
}

// of returns the mean price of a GPU-hour of a model over a run.
func (s shadow) of(model string, start, finish protocol.Time) protocol.Microdollars {
	p, ok := s[model]
	if !ok || finish <= start {
		return 0
	}
	first, last := int(start.Sub(p.From)/p.Slot), int((finish-1).Sub(p.From)/p.Slot)
	sum := protocol.Microdollars(0)
	for i := max(first, 0); i <= min(last, len(p.Values)-1); i++ {
		sum += p.Values[i]
	}
	return sum / protocol.Microdollars(last-first+1)
}
