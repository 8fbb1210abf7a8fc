package agents

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
)

// startChoices are the starts at which a job could run on one GPU model, soonest first. Of hundreds a few are
// picked, so an option is priced only when no cheaper one is left: until then there is a bound below its cost,
// which takes a tenth of the time. What is picked is what it would be if all were priced.
type startChoices struct {
	configs []configPricing
	bounds  []startBound // by configuration, then by start
	starts  []startChoice
	priced  []pricedOption // of some of the starts, the cheapest of each
}

// A startBound is a start in one configuration, and what it costs at least.
type startBound struct {
	start protocol.Time
	least protocol.Microdollars
}

// A startChoice is a start that some configurations allow.
type startChoice struct {
	startBound     // what the cheapest of them costs at least, and once it is priced what it costs
	option     int // position of the cheapest in startChoices.priced; -1: not priced yet
}

// startsOf returns the starts that are worth pricing in the given run configurations, all on one model. Starts
// lie on the planning's slots, except the earliest. The result is valid until the next call.
func (p *bidPricing) startsOf(j *protocol.Job, ways []capacity.RunConfig) *startChoices {
	s := &p.agent.starts
	s.configs, s.bounds, s.starts, s.priced = s.configs[:0], s.bounds[:0], s.starts[:0], s.priced[:0]
	declared := p.asDeclared(j)
	latest := p.now
	if p.strategy.TemporalShift && j.MayWait() {
		asCalled := declared
		if p.called != nil {
			asCalled = p.called
		}
		latest = min(p.weights.LatestWorthBidding(asCalled), p.now.Add(p.planning.Horizon))
	}
	idle := p.agent.fleet.IdlePowerShare(p.now, *j, ways[0].Model)
	for _, w := range ways {
		s.configs = append(s.configs, p.pricingOf(declared, w, idle))
		s.addStarts(&s.configs[len(s.configs)-1], j, latest)
	}
	return s
}

// addStarts adds the starts of j up to latest in a configuration.
func (s *startChoices) addStarts(c *configPricing, j *protocol.Job, latest protocol.Time) {
	now, fleet, slot := c.now, c.agent.fleet, c.planning.Slot
	c.firstBound = len(s.bounds)
	c.lastBound = c.firstBound
	model := c.config.Model
	if !c.strategy.SweepModelsAndCaps && !j.IsGang() {
		model = ""
	}
	earliest := max(now, j.StartWith)
	place, ok := capacity.PlacementQuote{}, false
	if earliest == now {
		place, ok = fleet.QuotePlacement(now, *j, model, c.run)
	}
	if !ok {
		if earliest, ok = fleet.EarliestStart(now, *j, model, earliest, c.run); !ok {
			return
		}
		if earliest <= now {
			earliest = now.Add(time.Second) // enough GPUs are free in total, but no single node has them now
		}
	}
	length, terms := place.WakeTime+c.run, c.agent.termsFor(j, c.lendingPlan)
	if earliest, ok = c.firstAllowedOpening(j, model, earliest, length, terms); !ok {
		return
	}
	last := max(earliest, min(capacity.LatestStart(*j, c.run), latest))
	bound := c.newCostBound(now)
	// A start that is searched node by node is open from opening on, or from always on; before
	// opening there is none.
	opening, always := protocol.Time(0), protocol.Time(-1)
	k := 0
	for t := earliest; t <= last; t = t.Add(time.Second).Ceil(slot) {
		if t > earliest && c.needsNodeByNode(j, t.Add(c.run)) {
			if always < 0 {
				always = fleet.AlwaysOpenFrom(now, j, c.config.Model, c.run)
			}
			if t > opening && t < always {
				if opening, ok = fleet.EarliestStart(now, *j, c.config.Model, t, c.run); !ok {
					break // nor is there a later one
				}
			}
			if t < opening {
				continue
			}
		}
		if !terms.allows(t, t.Add(length)) {
			continue
		}
		for k < len(s.starts) && s.starts[k].start < t {
			k++
		}
		if k == len(s.starts) || s.starts[k].start > t {
			s.starts = slices.Insert(s.starts, k, startChoice{startBound{t, math.MaxInt64}, -1})
		}
		if t == now {
			s.setOption(k, c.priceStart(t, &place))
			continue
		}
		// The node of a start that is not now is not known.
		c.latest = max(c.latest, t.Add(c.run))
		b := startBound{t, bound.costOf(t)}
		s.bounds = append(s.bounds, b)
		c.lastBound = len(s.bounds)
		s.starts[k].least = min(s.starts[k].least, b.least)
	}
}

// setOption makes an option that of its start, if that has no cheaper one.
func (s *startChoices) setOption(k int, o pricedOption) {
	at := &s.starts[k]
	switch {
	case at.option < 0:
		at.option = len(s.priced)
		s.priced = append(s.priced, o)
	case isCheaperOption(&o, &s.priced[at.option]):
		s.priced[at.option] = o
	}
	at.least = s.priced[at.option].cost
}

// price prices a start in the configurations that allow it and could be the cheapest.
func (s *startChoices) price(k int) {
	at := &s.starts[k]
	for i := range s.configs {
		c := &s.configs[i]
		bounds := s.bounds[c.firstBound:c.lastBound]
		n, ok := slices.BinarySearchFunc(bounds, at.start, func(b startBound, t protocol.Time) int { return cmp.Compare(b.start, t) })
		if ok && (at.option < 0 || bounds[n].least <= s.priced[at.option].cost) {
			s.setOption(k, c.priceStart(at.start, &capacity.PlacementQuote{}))
		}
	}
}

// cheapest returns the cheapest start of those that are not left out, the soonest of equal ones; -1 if there is
// none.
func (s *startChoices) cheapest(leftOut func(k int) bool) int {
	for {
		best := -1
		for k := range s.starts {
			x := &s.starts[k]
			if best >= 0 && (x.least > s.starts[best].least || x.least == s.starts[best].least && (x.option >= 0 || s.starts[best].option < 0)) || leftOut(k) {
				continue
			}
			best = k
		}
		if best < 0 || s.starts[best].option >= 0 {
			return best
		}
		s.price(best)
	}
}

// appendSpread appends at most most options to out: the soonest, which the market may need; then the
// cheapest, first among those at least two hours, then one hour apart from the ones picked. So the
// market has other hours to choose from when the jobs of all sites want the same one. They are
// sorted by start.
func (s *startChoices) appendSpread(out []protocol.BidOption, most int) []protocol.BidOption {
	if len(s.starts) == 0 {
		return out
	}
	if s.starts[0].option < 0 {
		s.price(0)
	}
	picked := append(make([]int, 0, 8), 0)
	for _, apart := range []time.Duration{2 * time.Hour, time.Hour, 0} {
		for len(picked) < most {
			next := s.cheapest(func(i int) bool {
				return slices.ContainsFunc(picked, func(k int) bool {
					d := s.starts[i].start.Sub(s.starts[k].start)
					return i == k || k != 0 && max(d, -d) < apart
				})
			})
			if next < 0 {
				break
			}
			picked = append(picked, next)
		}
	}
	slices.Sort(picked)
	for _, k := range picked {
		out = append(out, s.priced[s.starts[k].option].BidOption)
	}
	return out
}

// A costBound bounds what a job costs at later starts in one configuration from below.
type costBound struct {
	*configPricing
	line  *forecast.Line
	draw  float64 // of the job and the part of its node, in milliwatts
	fixed float64 // what does not depend on the start, less what rounding takes at most, in microdollars
}

// boundless is a bound that says nothing. No cost is so low.
const boundless = math.MinInt64

// newCostBound returns the bound of a configuration for starts after now.
func (c *configPricing) newCostBound(now protocol.Time) costBound {
	b := costBound{configPricing: c}
	if c.tariff.FollowsEnergy() {
		return b
	}
	b.line = c.agent.costLine.LineOf(c.agent.curve, c.weights.Carbon)
	b.draw = forecast.Counted(c.config.Power) + forecast.Counted(c.idle)
	free := protocol.BidOption{Start: now, Finish: now.Add(c.run), Tariff: c.tariff.PerGPUHour(0, c.run), Pods: c.pods}
	terms := c.objective.PriceOption(&free, protocol.PricingBasis{})
	b.fixed = float64(terms.Tariff+c.transferCost+c.weights.CarbonCost(c.transferCarbon)) - roundingMost - float64(c.weights.Carbon)/1e6
	return b
}

// roundingMost is more than what rounding takes from a cost, in microdollars: half of one from money and from the
// money of the node's part, and all of one from the price of the carbon of each and of the transfer; half a
// milligram of each carbon is counted apart.
const roundingMost = 5

// costOf returns a bound below the cost of a start.
func (b *costBound) costOf(start protocol.Time) protocol.Microdollars {
	if b.line == nil {
		return boundless
	}
	finish := start.Add(b.run)
	from, until := b.draw*b.line.At(start), b.draw*b.line.At(finish)
	delay, late := b.objective.DelayAndLateCost(start, finish)
	exact := float64(delay + late + protocol.GPUHoursCost(b.gpus, b.run, b.room.meanPrice(start, finish)))
	// Sums of floating-point numbers are off by some 1e-14 of what was added up.
	least := until - from + b.fixed + exact - float64(1e-12*(math.Abs(from)+math.Abs(until)+math.Abs(exact)))
	if !(math.Abs(least) < 1<<52) {
		return boundless
	}
	return protocol.Microdollars(math.Floor(least))
}
