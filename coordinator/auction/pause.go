package auction

import (
	"math"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// minRunPart is the shortest part of a run that is worth having.
const minRunPart = time.Hour

// bestPauseTime returns when a job that starts as k had better be paused; 0: not at all.
//
// It is paused where that pays: where running a first part now and the rest in one
// piece later, at the same site, costs less than the run as it was offered, the
// pause's own run included, by more than dearer and trifle; and the rest is done
// with time to spare. It is judged by what the site expects of its grid and by the
// prices of room. The rest is sold when it comes to that, by what is known then,
// wherever it costs least with the way of its checkpoint paid; so further parts,
// and moves, come of themselves.
func (p *problem) bestPauseTime(j protocol.Job, k *candidate, w protocol.Weights, g protocol.GridForecast) protocol.Time {
	run := k.Finish.Sub(k.Start)
	if j.Pause <= 0 || j.Run <= 0 || k.pool < 0 || k.Start > p.now || run < 2*minRunPart {
		return 0
	}
	cost, end := p.runCostBySlot(k, w, g, p.positionOf(j.Deadline.Add(-p.planning.FirmLead)))
	if end < k.b {
		return 0
	}
	own := p.inSlots(j.Pause) * p.inSlots(run) / p.inSlots(j.Run) // the pause's run, on these GPUs
	whole := cost.sumBetween(k.a, k.b)
	best, at := whole-float64(math.Abs(whole)*maxPremiumThousandths/1000)-minSaving, protocol.Time(0)
	least := p.inSlots(minRunPart)
	for i := int(k.b - least); float64(i) >= k.a+least; i-- {
		when := p.from.Add(time.Duration(i) * p.slot)
		if when != when.Floor(time.Hour) {
			continue // outlooks are hourly
		}
		rest := k.b - float64(i) + own
		first := cost.sumBetween(k.a, float64(i))
		for s := i + 1; float64(s)+rest <= end; s++ {
			if v := first + cost.sumBetween(float64(s), float64(s)+rest); v < best-1 { // of equals, the one that runs longest first
				best, at = v, when
			}
		}
	}
	return at
}

// runCostBySlot returns what it costs to run in the way of k, room included, in microdollars
// by slot, up to a position, or to where the site says how its grid will be.
func (p *problem) runCostBySlot(k *candidate, w protocol.Weights, g protocol.GridForecast, until float64) (cost prefixSum, end float64) {
	n := min(len(g.Price), len(g.Carbon))
	if n == 0 || g.From > p.from {
		return cost, 0
	}
	hour := func(i int) int { return int(p.from.Add(time.Duration(i)*p.slot).Sub(g.From) / time.Hour) }
	pue := func(h int) float64 {
		if len(g.PUE) == 0 {
			return 1
		}
		return float64(g.PUE[min(h, len(g.PUE)-1)]) / 1000
	}
	known := min(int(until), p.slots)
	for known > 0 && hour(known-1) >= n {
		known--
	}
	var facility float64 // the run's hours, each times its PUE, which its energy includes
	for i := int(k.a); float64(i) < k.b; i++ {
		part := min(k.b, float64(i+1)) - max(k.a, float64(i))
		facility += float64(part * p.slotHours * pue(hour(i)))
	}
	kw := k.Energy.InKWh() / max(facility, p.slotHours)
	var rates slotSeries
	for i := range known {
		h := hour(i)
		kWh := float64(g.Price[h]) + float64(w.CarbonCost(g.Carbon[h]))
		rates[i] = float64(kw*pue(h)*kWh) + float64(float64(k.gpu)/1000*p.pools[k.pool].price[i])
	}
	p.accumulateRates(&cost, &rates)
	return cost, float64(known)
}
