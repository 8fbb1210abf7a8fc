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
	a.calledJobs.begin(0)
	defer func() { a.lastCallAt = now }()
	plan := c.Planning.OrDefault()
	if err := plan.Validate(); err != nil {
		return a.refuseCall(now, c, err)
	}
	a.planning = plan
	a.noteOwnCalled(now, c.Jobs)
	recalled := a.recallForOwn(now, c)
	if len(c.Sites) > 0 {
		if c.Jobs = c.JobsFor(a.cfg.Site); len(c.Jobs) == 0 {
			return recalled // other sites are asked
		}
	}
	a.calledJobs.begin(len(c.Jobs))
	o := a.bidsForCall(now, c, func(j protocol.Job) {
		j.StartWith, j.MostPods = 0, 0 // they concern this call alone
		a.calledJobs.add(j)
		if j.Arrival > a.lastCallAt { // first call of this job: placement learns what kinds of jobs arrive
			a.fleet.ObserveArrival(j)
		}
	})
	msgs := a.messageTo(now, protocol.Coordinator, o)
	msgs[0].Body = thinToMaxBytes(msgs[0], c.MaxBytes)
	return append(recalled, msgs...)
}

// withSitePrices returns a call with the shadow prices that came before it, if it has none. They
// count for that call alone.
func (a *Agent) withSitePrices(c protocol.CallForBids, round uint64) protocol.CallForBids {
	if a.sitePrices.Round != round {
		return c
	}
	if len(c.ShadowPrices) == 0 {
		c.ShadowPrices = a.sitePrices.ShadowPrices
	}
	a.sitePrices = protocol.SitePrices{}
	return c
}

// bidsForCall returns the bids for the jobs of a call, by the planning in force. It calls observe
// with each job before its bids, the expected run time filled in.
func (a *Agent) bidsForCall(now protocol.Time, c protocol.CallForBids, observe func(protocol.Job)) protocol.Bids {
	p := bidPricing{agent: a, now: now, weights: c.Weights.ForRanking(), planning: a.planning, shadow: newShadowPrices(c.ShadowPrices, a.cfg.Site)}
	o := protocol.Bids{Round: c.Round, Grid: a.gridForecast, Jobs: make([]protocol.JobBids, 0, len(c.Jobs))}
	for _, j := range c.Jobs {
		expect := a.fillExpectedRun(&j)
		observe(j)
		p.estimated = len(expect) > 0
		m := protocol.JobBids{}
		if j.IsElastic() {
			m = p.bidsForElastic(j)
		} else {
			m = p.bidsForJob(j)
		}
		m.Expect = expect
		if a.own[j.ID].isUnsettled() {
			m = protocol.JobBids{Job: j.ID, Why: protocol.Reason{Code: protocol.StartedAlone}}
		}
		o.Jobs = append(o.Jobs, m)
	}
	o.Preemptions = a.preemptionsFor(now, c, o.Jobs)
	o.Spreads, o.Holes, o.Largest, o.WithinDomain = p.spreads, p.holes, p.largest, p.within
	a.withoutKeptRooms(c.Jobs, func() { o.Capacity = a.lentCapacity(now, c.Jobs, p.lendingPlan) })
	o.Idle, o.FragmentedGPUs = a.fleet.IdleGPUs()
	return o
}

// answerQuoteRequest answers with what the agent would bid, were c a call. The agent is
// afterwards as it was before: what a bid leaves behind is put back, so that an enquiry changes
// no later bid and takes no place.
func (a *Agent) answerQuoteRequest(now protocol.Time, c protocol.CallForBids) []protocol.Message {
	planning, grid, curve, lacked := a.planning, a.gridForecast, a.curve, a.lackedCapacity
	defer func() { a.planning, a.gridForecast, a.curve, a.lackedCapacity = planning, grid, curve, lacked }()
	a.refreshForecast(now)
	if a.planning = c.Planning.OrDefault(); a.planning.Validate() != nil {
		return nil // this coordinator plans as no agent can: its calls say so
	}
	return a.messageTo(now, protocol.Coordinator, protocol.Quote{Bids: a.bidsForCall(now, c, func(protocol.Job) {})})
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
