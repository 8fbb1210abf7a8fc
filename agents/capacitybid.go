package agents

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// answerCallForCapacity bids how many further replicas of each service fit now, each as if it were the
// only one, and what they cost. A bid reserves nothing.
func (a *Agent) answerCallForCapacity(now protocol.Time, c protocol.CallForCapacity) []protocol.Message {
	a.refreshForecast(now)
	o := protocol.CapacityBid{Round: c.Round}
	seen := make(map[protocol.ServiceID]bool, len(c.Services))
	for i := range c.Services {
		if s := &c.Services[i]; !seen[s.ID] {
			seen[s.ID] = true
			o.Services = append(o.Services, a.bidForService(now, s, c.Weights))
		}
	}
	return a.messageTo(now, protocol.Coordinator, o)
}

// bidForService returns the row of a service in a CapacityBid.
func (a *Agent) bidForService(now protocol.Time, s *protocol.Service, w protocol.Weights) protocol.ReplicaBid {
	b := protocol.ReplicaBid{Service: s.ID}
	price := replicaPricing{agent: a, from: now, until: now.Add(s.MoveHorizon()), weights: w}
	var draw protocol.Milliwatts // of the replica that draws most
	var serve protocol.Milli     // what those that are here serve together
	if h := a.services[s.ID]; h != nil {
		b.Held = h.status()
		b.Held.Service = ""
		for _, r := range h.replicas {
			cost, carbon := price.hourly(r.Power)
			b.HeldCost += (cost + price.ofRoom(s, r.Model)) / protocol.Microdollars(len(h.replicas))
			b.HeldCarbon += carbon / protocol.Milligrams(len(h.replicas))
			if s.Load > 0 {
				serve += s.GoodputAt(a.cfg.Site, r.Model)
			}
			draw = max(draw, r.Power)
		}
		if n := protocol.Milli(len(h.replicas)); n > 0 {
			b.HeldServes = (serve + n - 1) / n // rounded up, or what serves all would not quite
		}
		b.Hourly = price.nextHour(draw)
	}
	b.Why = a.refusesService(s)
	if b.Why.Code == "" && a.curve == nil {
		b.Why.Code = protocol.NoSignal
	}
	if b.Why.Code != "" {
		return b
	}
	j, serves := s.ReplicaAt(a.cfg.Site)
	if !serves {
		b.Why = protocol.Reason{Code: protocol.NotAllowed, Note: a.cfg.Site + " has no GPU model that keeps its classes so far away"}
		return b
	}
	j.ID = protocol.ReplicaName(s.ID, 0)
	for _, q := range a.fleet.QuoteReplicas(now, j, protocol.MaxReplicas) {
		b.Available++
		draw = max(draw, s.PowerOn(q.Model, q.Power))
		next := protocol.CostStep{Count: 1}
		next.Cost, next.Carbon = price.hourly(s.PowerOn(q.Model, q.Power) + q.WakesDrawn)
		next.Cost += price.ofRoom(s, q.Model)
		if s.Load > 0 {
			next.Serves = s.GoodputAt(a.cfg.Site, q.Model)
		}
		if n := len(b.Steps); n > 0 && b.Steps[n-1].Cost == next.Cost && b.Steps[n-1].Carbon == next.Carbon && b.Steps[n-1].Serves == next.Serves {
			b.Steps[n-1].Count++
		} else {
			b.Steps = append(b.Steps, next)
		}
	}
	here := b.Available
	if h := a.services[s.ID]; h != nil {
		here += len(h.replicas)
	}
	b.Beyond = a.replicasBeyond(now, s, here)
	b.Hourly = price.nextHour(draw)
	if b.Available == 0 {
		if _, b.Why = a.fleet.RunConfigs(j); b.Why.Code == "" {
			b.Why.Code = protocol.NoCapacity
		}
	}
	return b
}

// A replicaPricing prices the draw of replicas by the forecast of a span of time.
type replicaPricing struct {
	agent       *Agent
	from, until protocol.Time
	weights     protocol.Weights
}

// hourly returns what a draw costs in an hour, as the mean of the span: money and carbon at its price, and
// that carbon.
func (p *replicaPricing) hourly(power protocol.Milliwatts) (protocol.Microdollars, protocol.Milligrams) {
	if p.agent.curve == nil {
		return 0, 0
	}
	_, carbon, money := p.agent.curve.CostBetween(p.from, p.until, power)
	inAnHour := float64(time.Hour/time.Millisecond) / float64(max(p.until.Sub(p.from)/time.Millisecond, 1))
	cost := float64(money+p.weights.CarbonCost(carbon)) * inAnHour
	const most = float64(protocol.MaxMoney) / 2
	emitted := min(max(float64(carbon)*inAnHour, 0), float64(protocol.MaxCarbon))
	return protocol.Microdollars(min(max(cost, -most), most)), protocol.Milligrams(emitted)
}

// nextHour returns what a draw takes in the hour from now on.
func (p *replicaPricing) nextHour(power protocol.Milliwatts) (u protocol.ReplicaUse) {
	if p.agent.curve != nil {
		u.Energy, u.Carbon, u.Money = p.agent.curve.CostBetween(p.from, p.from.Add(time.Hour), power)
	}
	return u
}

// ofRoom returns what the GPUs of a replica are worth to jobs in an hour, by the shadow prices of the last
// call: without it services would take the cheap GPUs that jobs save more by.
func (p *replicaPricing) ofRoom(s *protocol.Service, model string) protocol.Microdollars {
	each := p.agent.roomPrices.meanPrice(model, p.from, p.until)
	return min(each*protocol.Microdollars(s.GPUs)*protocol.Microdollars(s.Share)/1000, protocol.MaxMoney/2)
}
