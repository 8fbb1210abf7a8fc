package auction

import (
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// minRunPart is the shortest part of a run that is worth a pause: forecasts are hourly.
const minRunPart = time.Hour

// bestPauseTime returns when to pause a job that starts as k; 0: never.
//
// A pause pays if a first part now and the rest in one piece later at the same site cost less than
// the whole run, the overhead of the pause included, by more than maxPremiumThousandths and
// minSaving, and if the rest ends FirmLead before the deadline. Costs follow the site's forecast
// and the prices of capacity. The rest is awarded when the pause comes, by what is known then,
// wherever it costs least with the transfer of its checkpoint; so further pauses and moves need no
// planning here (decision 0206). The rest of an elastic job may go on at once on another number of pods that
// the site bid (decision 0379).
func (p *problem) bestPauseTime(lot int, j protocol.Job, k *candidate, w protocol.Weights, g protocol.GridForecast) protocol.Time {
	run := k.Finish.Sub(k.Start)
	if j.Pause <= 0 || j.Run <= 0 || k.pool < 0 || k.Start > p.now || run < 2*minRunPart {
		return 0
	}
	cost, end := p.runCostBySlot(k, w, g, p.positionOf(j.Deadline.Add(-p.planning.FirmLead)))
	if end < k.b {
		return 0
	}
	own := p.inSlots(j.Pause) * p.inSlots(run) / p.inSlots(j.Run) // the pause's overhead, scaled to the speed of these GPUs
	rests := []restOfRun{{cost, end, k.b - k.a, own, 1, nil}}
	for _, x := range p.otherSizes(lot, k) {
		c, until := p.runCostBySlot(x, w, g, p.positionOf(j.Deadline.Add(-p.planning.FirmLead)))
		length := x.Finish.Sub(x.Start) - x.Wake
		rests = append(rests, restOfRun{c, until, p.inSlots(length), p.inSlots(j.Pause) * p.inSlots(length) / p.inSlots(j.Run), 0, p.slotsWithout(x)})
	}
	whole := cost.sumBetween(k.a, k.b)
	best, at := whole-float64(math.Abs(whole)*maxPremiumThousandths/1000)-minSaving, protocol.Time(0)
	least := p.inSlots(minRunPart)
	for i := int(k.b - least); float64(i) >= k.a+least; i-- {
		when := p.from.Add(time.Duration(i) * p.slot)
		if when != when.Floor(time.Hour) {
			continue // forecasts are hourly
		}
		first := cost.sumBetween(k.a, float64(i))
		for x := range rests {
			of := &rests[x]
			left := k.b - float64(i) + of.pause
			if x > 0 {
				left = float64((k.b-float64(i))/(k.b-k.a)*of.length) + of.pause
			}
			for s := i + of.gap; float64(s)+left <= of.end; s++ {
				if !of.hasRoom(s, float64(s)+left) {
					continue
				}
				if v := first + of.cost.sumBetween(float64(s), float64(s)+left); v < best-1 { // a microdollar at least: among equals the longest first part wins
					best, at = v, when
				}
			}
		}
	}
	return at
}

// A restOfRun is how the rest of a paused run may go on: on as many pods as before, or on another number.
type restOfRun struct {
	cost   prefixSum // by slot
	end    float64   // position up to which the cost is known
	length float64   // of a whole run, in slots
	pause  float64   // what a pause adds to it, in slots
	gap    int       // slots for which it waits at least: none, where its size changes
	full   []int     // of the slots before each, how many have no room for another size; nil: not looked at
}

// hasRoom reports whether there is room from slot s up to a position.
func (r *restOfRun) hasRoom(s int, to float64) bool {
	return r.full == nil || r.full[min(int(math.Ceil(to)), len(r.full)-1)] == r.full[s]
}

// slotsWithout returns, of the slots before each, in how many the pool of an option lacks its GPUs, next to all
// that runs now.
func (p *problem) slotsWithout(k *candidate) []int {
	full := make([]int, p.slots+1)
	for t := range p.slots {
		full[t+1] = full[t]
		if p.pools[k.pool].bare[t] < float64(float64(k.gpu)/1000*p.slotHours)-capacityTolerance {
			full[t+1]++
		}
	}
	return full
}

// otherSizes returns the cheapest option of a lot on each other number of pods that the site of an option bid on
// the same model; none, unless the job is elastic.
func (p *problem) otherSizes(lot int, k *candidate) (all []*candidate) {
	if k.Pods == 0 {
		return nil
	}
	for i := 0; ; i++ {
		x := p.lots[lot].candidateAt(i)
		if x == nil {
			return all
		}
		if x.site == k.site && x.Model == k.Model && x.Pods != k.Pods && !slices.ContainsFunc(all, func(y *candidate) bool { return y.Pods == x.Pods }) {
			all = append(all, x)
		}
	}
}

// runCostBySlot returns the cost of running as k does, capacity included, in microdollars per
// slot, and the position up to which it is known: until, or the end of the site's forecast.
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
	var facility float64 // hours of the run weighted by PUE, which the bid's energy includes
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
