package agents

import (
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
)

// forecastHours is how far ahead a bid's forecast reaches: a run that starts at the end of the
// default horizon (72 h) still has forecast prices for a day.
const forecastHours = 96

// answerCall answers a call for bids: options for each job, and the site's capacity and forecast.
// The agent thins the bids to the call's MaxBytes itself, because the bus never edits a message
// (decision 0220).
func (a *Agent) answerCall(now protocol.Time, c protocol.CallForBids) []protocol.Message {
	a.refreshForecast(now)
	clear(a.calledJobs)
	defer func() { a.lastCallAt = now }()
	plan := c.Planning.OrDefault()
	if err := plan.Validate(); err != nil {
		return a.refuseCall(now, c, err)
	}
	a.planning = plan
	p := bidPricing{agent: a, now: now, weights: c.Weights, planning: plan, shadow: newShadowPrices(c.ShadowPrices, a.cfg.Site)}
	o := protocol.Bids{Round: c.Round, Grid: a.gridForecast, Jobs: make([]protocol.JobBids, 0, len(c.Jobs))}
	for _, j := range c.Jobs {
		expect := a.fillExpectedRun(&j)
		a.calledJobs[j.ID] = j
		if j.Arrival > a.lastCallAt { // first call of this job: placement learns what kinds of jobs arrive
			a.fleet.ObserveArrival(j)
		}
		m := p.bidsForJob(j)
		m.Expect = expect
		o.Jobs = append(o.Jobs, m)
	}
	o.Capacity = a.fleet.CapacityProfiles(now, plan.Slot, plan.SlotCount())
	o.Idle, o.FragmentedGPUs = a.fleet.IdleGPUs()
	msgs := a.messageTo(now, protocol.Coordinator, o)
	msgs[0].Body = thinToMaxBytes(msgs[0], c.MaxBytes)
	return msgs
}

// refuseCall bids nothing for a call whose planning is invalid, and gives the reason for each of
// its jobs. The planning of the last valid call stays in force.
func (a *Agent) refuseCall(now protocol.Time, c protocol.CallForBids, err error) []protocol.Message {
	o := protocol.Bids{Round: c.Round, Grid: a.gridForecast, Jobs: make([]protocol.JobBids, 0, len(c.Jobs))}
	why := protocol.Reason{Code: protocol.BadPlanning, Note: err.Error()}
	for _, j := range c.Jobs {
		o.Jobs = append(o.Jobs, protocol.JobBids{Job: j.ID, Why: why})
	}
	return a.messageTo(now, protocol.Coordinator, o)
}

// refreshForecast rebuilds the forecast if the hour changed or a signal arrived since the last
// call.
func (a *Agent) refreshForecast(now protocol.Time) {
	if a.curve != nil && a.gridForecast.From == now.Floor(time.Hour) {
		return
	}
	a.gridForecast = a.grid.ForecastFrom(now, forecastHours)
	a.curve = forecast.NewCurve(a.gridForecast)
}

// shadowPrices are the announced prices of one site's capacity, by model.
type shadowPrices map[string]protocol.ShadowPrice

// newShadowPrices returns the usable prices of one site.
func newShadowPrices(prices []protocol.ShadowPrice, site string) shadowPrices {
	s := make(shadowPrices)
	for _, p := range prices {
		if p.Site == site && p.Slot > 0 {
			s[p.Model] = p
		}
	}
	return s
}

// meanPrice returns the mean price of a GPU-hour of a model over a run. Slots beyond the announced
// ones cost nothing.
func (s shadowPrices) meanPrice(model string, start, finish protocol.Time) protocol.Microdollars {
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
