package agents

import (
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/terms"
	"github.com/gridbid/gridbid/protocol"
)

// A configPricing prices the starts of one job in one configuration. It holds what does not depend
// on the start: a call prices hundreds of starts of each job, under each cap.
type configPricing struct {
	*bidPricing
	objective      protocol.JobPricing // of the job as its submitter described it: see asDeclared
	gpus           protocol.Milli
	config         capacity.RunConfig
	run            time.Duration         // with the transfer of its input
	idle           protocol.Milliwatts   // its IdlePowerShare
	transferCost   protocol.Microdollars // cost of the transfer
	transferCarbon protocol.Milligrams   // of the transfer
	room           *shadowPrice          // nil: capacity costs nothing
	tariff         terms.Charge          // of the site
	pods           int                   // of an elastic job; else 0

	firstBound, lastBound int // its part of startChoices.bounds
}

// pricingOf returns the pricing of a job in a configuration; idle is its IdlePowerShare there.
func (p *bidPricing) pricingOf(declared *protocol.Job, w capacity.RunConfig, idle protocol.Milliwatts) configPricing {
	n, site := p.agent.cfg.Network, p.agent.cfg.Site
	objective, pods := declared, 0
	if p.called != nil {
		objective, pods = p.called, declared.PodCount()
	}
	return configPricing{
		bidPricing: p, objective: p.weights.ForJob(objective), pods: pods, gpus: declared.TotalGPUMilli(), config: w, run: w.Run + n.transferTime(*declared, site), idle: idle,
		transferCost: n.transferCost(*declared, site), transferCarbon: n.transferCarbon(*declared, site),
		room: p.shadow[w.Model], tariff: p.agent.cfg.Terms.ChargeFor(declared, w.Model),
	}
}

// priceStart returns the option of starting the run at an instant, and its cost. At is its
// placement, if it starts now: a sleeping node wakes first.
func (c *configPricing) priceStart(start protocol.Time, at *capacity.PlacementQuote) (priced pricedOption) {
	finish := start.Add(at.WakeTime + c.run)
	c.latest = max(c.latest, finish)
	// The market takes the energy of an option as evenly spread from start to finish (decision 0204).
	mean := c.config.Power * protocol.Milliwatts(c.run/time.Millisecond) / protocol.Milliwatts(max(at.WakeTime+c.run, time.Millisecond)/time.Millisecond)
	span := c.agent.curve.SpanBetween(start, finish)
	o := &priced.BidOption
	*o = protocol.BidOption{Start: start, Finish: finish, Model: c.config.Model, Cap: c.config.Choice.Cap, FragmentationDelta: at.FragmentationDelta, Score: at.Score, Transfer: c.transferCost, Wake: at.WakeTime, Pods: c.pods}
	o.Energy, o.Carbon, o.Money = span.CostOf(mean)
	o.Tariff = c.tariff.PerGPUHour(o.Money, finish.Sub(start))
	o.Carbon += c.transferCarbon
	if at.WakeTime != 0 {
		span = c.agent.curve.SpanBetween(start, start.Add(c.run))
	}
	carbon, money := span.CarbonAndMoneyOf(c.idle)
	o.NodeIdleShare = c.awakeCost(money+c.weights.CarbonCost(carbon), at)
	room := c.room.meanPrice(start, finish)
	priced.cost = c.objective.PriceOption(o, protocol.PricingBasis{Shadow: room}).Total() + protocol.GPUHoursCost(c.gpus, c.run, room)
	return priced
}

// awakeCost returns what keeping a node awake for an option costs (decision 0255), of which share is
// the job's. A later start is charged the job's share. A start of now is charged what it adds to its
// own node's awake time, nothing where other jobs keep it awake anyway, and at most its share: who
// opens a node pays for its own part of it, because others will follow; else all would wait for
// another to be first. For the same reason the share leaves out the time in which the node wakes:
// the quote of a later start does not know that its node sleeps, so at a steady price it would cost
// less than a start of now, and be put off slot by slot.
func (c *configPricing) awakeCost(share protocol.Microdollars, at *capacity.PlacementQuote) protocol.Microdollars {
	if at.SleepPower == 0 {
		return share
	}
	added := protocol.Microdollars(0)
	for _, s := range at.AddedAwake {
		_, carbon, money := c.agent.curve.CostBetween(s.From, s.Until, at.SleepPower)
		added += money + c.weights.CarbonCost(carbon)
	}
	return min(added, share)
}

// A shadowPrice is the announced price of a model's capacity, with its sums, so that the mean over
// any run takes two look-ups.
type shadowPrice struct {
	protocol.ShadowPrice
	sums []protocol.Microdollars // Invariant: sums[i] is the sum of the first i Values
}

// shadowPrices are the announced prices of one site's capacity, by model.
type shadowPrices map[string]*shadowPrice

// newShadowPrices returns the usable prices of one site.
func newShadowPrices(prices []protocol.ShadowPrice, site string) shadowPrices {
	s := make(shadowPrices)
	for _, p := range prices {
		if p.Site != site || p.Slot <= 0 {
			continue
		}
		x := &shadowPrice{ShadowPrice: p, sums: make([]protocol.Microdollars, len(p.Values)+1)}
		for i, v := range p.Values {
			x.sums[i+1] = x.sums[i] + v
		}
		s[p.Model] = x
	}
	return s
}

// meanPrice returns the mean price of a GPU-hour of a model over a run.
func (s shadowPrices) meanPrice(model string, start, finish protocol.Time) protocol.Microdollars {
	return s[model].meanPrice(start, finish)
}

// meanPrice returns the mean price of a GPU-hour over a run. Slots beyond the announced ones cost
// nothing; nor does any if p is nil.
func (p *shadowPrice) meanPrice(start, finish protocol.Time) protocol.Microdollars {
	if p == nil || finish <= start {
		return 0
	}
	first, last := int(start.Sub(p.From)/p.Slot), int((finish-1).Sub(p.From)/p.Slot)
	from, until := max(first, 0), min(last+1, len(p.Values))
	if from >= until {
		return 0
	}
	return (p.sums[until] - p.sums[from]) / protocol.Microdollars(last-first+1)
}
