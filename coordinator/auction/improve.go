package auction

import (
	"math"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A localSearch improves an assignment until no step is left that makes the round cheaper
// (docs/method.md, section 4; decision 0259). There are two kinds of steps: a move gives a lot
// another option that fits; an exchange gives a lot an option that one other lot is in the way of,
// and that one another.
//
// An ejectionSearch tries what prices recommend; a localSearch tries everything, so that an award
// that "costs least" stands beside no alternative that costs the round less. It counts its work
// and takes no time: a round gives the same bytes on every machine.
type localSearch struct {
	ejectionSearch
	work     int            // that is left; see maxSearchWork
	steps    int            // taken so far
	class    []int          // by lot: see classifyLots
	failed   [][]failedStep // by class: what failed since the last step
	touched  []int32        // pools that differ from the last kept state, because a step is being tried
	versions []uint32       // by pool: counts kept changes from 1
	known    [][]uint32     // by lot and option: twice the version for which it is known whether the option fits, and one more if it does
	hours    []float64      // reused by gapOf
}

// maxSearchWork bounds a search: about 25 ms. A look at one slot or at one remembered result is
// one unit.
const maxSearchWork = 3_000_000

// improveLocally returns an assignment that costs no more than choice, and that no move makes
// cheaper; no exchange does either, unless the search runs out of work. Lots look for a better
// option in the given order: first for one that is better with capacity included, because prices
// know what is worth a try, then for any. Lots that should rather wait than take what they have
// get -1, so that others can use its capacity.
func (p *problem) improveLocally(order, choice []int) []int {
	from := slices.Clone(choice)
	for i, c := range from {
		if c >= 0 && p.shouldWait(i, c) {
			from[i] = -1
		}
	}
	x := p.newLocalSearch(from)
	defer p.releaseCapacity(x.left)
	x.improve(order)
	for i, c := range x.choice {
		p.waits[i] = c < 0 && choice[i] >= 0
	}
	return x.choice
}

// newLocalSearch returns a search that begins with choice. Its owner releases its capacity.
func (p *problem) newLocalSearch(choice []int) *localSearch {
	class, classes := p.classifyLots()
	return &localSearch{
		ejectionSearch: *p.newEjectionSearch(choice), work: maxSearchWork, versions: slices.Repeat([]uint32{1}, len(p.pools)),
		known: make([][]uint32, len(p.lots)), class: class, failed: make([][]failedStep, classes),
	}
}

// improve takes steps until none is left, or work runs out; then moves alone, until none is left.
func (x *localSearch) improve(order []int) {
	x.repeat(order, moveOrPricedExchange)
	x.repeat(order, moveOrExchange)
	x.work = math.MaxInt // what is left takes little
	x.repeat(order, onlyMove)
}

// repeat tries a step for every lot until none of them finds one, or work runs out.
func (x *localSearch) repeat(order []int, kind stepKind) {
	for found := true; found && x.work > 0; {
		found = false
		for _, i := range order {
			found = x.tryStep(i, kind) || found
		}
	}
}

// takeLot gives lot i option c, as part of a step.
func (x *localSearch) takeLot(i, c int) {
	x.assignLot(i, c)
	x.touchPool(i, c)
}

// releaseLot takes the option of lot i from it, as part of a step, and returns the option.
func (x *localSearch) releaseLot(i int) (c int) {
	c = x.unassignLot(i)
	x.touchPool(i, c)
	return c
}

// touchPool records that the pool of option c of a lot differs from the last kept state.
func (x *localSearch) touchPool(i, c int) {
	if c < 0 {
		return
	}
	if pool := x.p.lots[i].scored[c].pool; pool >= 0 && !slices.Contains(x.touched, pool) {
		x.touched = append(x.touched, pool)
	}
}

// keepStep ends a step: its state is the one that results are remembered for.
func (x *localSearch) keepStep() bool {
	for _, pool := range x.touched {
		x.versions[pool]++
	}
	x.touched = x.touched[:0]
	x.steps++
	return true
}

// undoStep ends a step of lot i without a change. All other lots have their options already.
func (x *localSearch) undoStep(i, was int) bool {
	x.takeLot(i, was)
	x.touched = x.touched[:0]
	return false
}

// moveLot moves lot i to the cheapest option that fits, if that is cheaper than its own.
func (x *localSearch) moveLot(i int) bool {
	p, r, was := x.p, x.p.lots[i], x.releaseLot(i)
	paid := p.optionOrWaitCost(i, was)
	to := p.chooseOption(i, x.left, priceOfFreeCapacity)
	if to < 0 || p.shouldWait(i, to) || p.optionOrWaitCost(i, to) >= paid {
		to = -1 // what chooseOption found too expensive may hide a dearer option in cheaper capacity
		for c := 0; to < 0 && r.ensureSorted(c) && r.all[c].cost < paid; c++ {
			if p.mayChoose(i, c) && x.fitsLot(i, c) {
				to = c
			}
		}
	}
	if to < 0 {
		return x.undoStep(i, was)
	}
	x.takeLot(i, to)
	return x.keepStep()
}

// mayChoose reports whether an assignment may give a lot an option: one that is worth more to it
// than waiting and, between full rounds, its best one if that starts now (see chooseOption).
func (p *problem) mayChoose(lot, c int) bool {
	if p.deferrable[lot] && !p.full {
		best, _ := p.bestAtPrices(lot)
		return c == best && p.lots[lot].scored[c].now
	}
	return !p.shouldWait(lot, c)
}

// exchangeLot takes the first exchange that it finds for lot i, among the options that are better
// with capacity included (priced) or among all.
func (x *localSearch) exchangeLot(i int, priced bool) bool {
	p, r, was := x.p, x.p.lots[i], x.releaseLot(i)
	paid, worth := p.optionOrWaitCost(i, was), math.Inf(1)
	if was >= 0 && priced {
		worth = p.costWithCapacity(i, was)
	}
	for c := 0; r.ensureSorted(c) && r.all[c].cost < paid && x.work > 0; c++ {
		x.work--
		if r.scored[c].pool >= 0 && p.mayChoose(i, c) && p.costWithCapacity(i, c) < worth && x.exchangeWithOne(i, c, paid-r.all[c].cost) {
			return x.keepStep()
		}
	}
	return x.undoStep(i, was)
}

// exchangeWithOne gives lot i option c if one other lot that is in its way can move for less than
// gain. It never moves a lot of higher priority.
func (x *localSearch) exchangeWithOne(i, c int, gain protocol.Microdollars) bool {
	p, gap := x.p, x.gapOf(i, c)
	x.others = append(x.others[:0], x.holders[gap.pool]...) // holders change while others move
	failed, had := noClass, optionRef{}                     // the last holder that could not move, if it has a class
	for _, o := range x.others {
		x.work--
		if p.jobs[o].Priority > p.jobs[i].Priority || x.class[o] != noClass && x.class[o] == failed && x.optionOf(o) == had || !gap.isClosedBy(p, o, x.choice[o]) {
			continue
		}
		failed, had = x.class[o], x.optionOf(o)
		was := x.releaseLot(o)
		x.takeLot(i, c)
		if to, ok := x.placeBelow(o, p.optionOrWaitCost(o, was)+gain); ok {
			x.takeLot(o, to)
			return true
		}
		x.releaseLot(i)
		x.takeLot(o, was)
		if x.work <= 0 {
			break
		}
	}
	return false
}

// placeBelow returns an option of an unassigned lot that fits and counts less than limit, or -1 if
// it is to wait for less than that. ok is false if there is neither.
func (x *localSearch) placeBelow(i int, limit protocol.Microdollars) (to int, ok bool) {
	p, r := x.p, x.p.lots[i]
	for c := 0; r.ensureSorted(c) && r.all[c].cost < limit && x.work > 0; c++ {
		if p.mayChoose(i, c) && x.fitsLot(i, c) {
			return c, true
		}
	}
	return -1, p.deferrable[i] && p.waitingCost(i) < limit
}

// fitsLot reports whether option c of an unassigned lot fits. It remembers the result for pools
// that the step being tried leaves alone.
func (x *localSearch) fitsLot(i, c int) bool {
	r := x.p.lots[i]
	k := &r.scored[c]
	x.work--
	if k.pool < 0 {
		return true
	}
	slots := min(int(k.b), x.p.slots) - int(k.a)
	if slices.Contains(x.touched, k.pool) {
		x.work -= slots
		return x.ejectionSearch.fitsLot(i, c)
	}
	if len(x.known[i]) < len(r.scored) {
		x.known[i] = append(x.known[i], make([]uint32, len(r.scored)-len(x.known[i]))...)
	}
	known, version := &x.known[i][c], x.versions[k.pool]
	if *known>>1 != version {
		x.work -= slots
		*known = version << 1
		if x.ejectionSearch.fitsLot(i, c) {
			*known |= 1
		}
	}
	return *known&1 == 1
}

// A capacityGap is the capacity that an option of a lot lacks in its pool.
type capacityGap struct {
	pool  int32
	first int       // slot of hours[0]
	hours []float64 // GPU-hours by slot; at most 0: none
	now   float64   // GPUs at this instant
}

// gapOf returns what option c of an unassigned lot lacks. It is valid until the next call.
func (x *localSearch) gapOf(i, c int) capacityGap {
	p, r := x.p, x.p.lots[i]
	k := &r.scored[c]
	left, free := x.capacityFor(i)
	g := capacityGap{pool: k.pool, first: int(k.a), hours: x.hours[:0]}
	if k.now {
		g.now = r.gpusOf(k) - free[k.pool]
	}
	for t := g.first; t < p.slots && float64(t) < k.b; t++ {
		g.hours = append(g.hours, p.gpuHoursIn(r, k, t)-left[k.pool][t])
	}
	x.work -= len(g.hours)
	x.hours = g.hours
	return g
}

// gpuHoursIn returns the GPU-hours that an option of r uses in a slot.
func (p *problem) gpuHoursIn(r *ranking, k *scoredOption, slot int) float64 {
	part := min(k.b, float64(slot+1)) - max(k.a, float64(slot))
	return max(0, float64(r.gpusOf(k)*part*p.slotHours))
}

// isClosedBy reports whether option c of a lot in the same pool uses all that is missing.
func (g *capacityGap) isClosedBy(p *problem, lot, c int) bool {
	r := p.lots[lot]
	k := &r.scored[c]
	if g.now > capacityTolerance && (!k.now || r.gpusOf(k) < g.now-capacityTolerance) {
		return false
	}
	for j, h := range g.hours {
		if h > capacityTolerance && p.gpuHoursIn(r, k, g.first+j) < h-capacityTolerance {
			return false
		}
	}
	return true
}
