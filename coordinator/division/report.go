package division

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// division says what was decided, and why replicas are pending.
func (p *problem) division() Division {
	d := Division{Placed: p.silent, Room: p.silent}
	in, out := 0, 0
	prices := p.roomPrices()
	for i, pl := range p.places {
		d.Shares = append(d.Shares, Share{Site: pl.Name, Replicas: pl.n, RoomPrice: prices[i]})
		d.Placed += pl.n
		d.Room += pl.room
		d.Cost += pl.costOf(pl.n)
		d.StartCost += protocol.Microdollars(max(pl.n-pl.Held, 0)) * pl.Start
		in += max(pl.n-pl.Held, 0)
		out += max(pl.Held-pl.n, 0)
	}
	for i := range p.Sites {
		if s := &p.Sites[i]; s.Silent {
			d.Shares = append(d.Shares, Share{Site: s.Name, Replicas: s.Held})
		}
	}
	slices.SortFunc(d.Shares, func(a, b Share) int { return cmp.Compare(a.Site, b.Site) })
	d.Moves = min(in, out)
	d.Pending = max(p.target-d.Placed, 0)
	d.Reason = p.why(d)
	switch {
	case p.Load > 0:
		p.certifyLoad(&d)
	case p.Kind == ByCost:
		p.certify(&d)
	}
	return d
}

// why returns the reason of a division that is not as wished.
func (p *problem) why(d Division) Reason {
	switch {
	case d.Pending > 0 && len(p.places) == 0:
		return NoSites
	case d.Pending > 0 && p.reason == AtMost:
		return AtMost
	case d.Pending > 0 && p.AllOrNothing:
		return cmp.Or(p.reason, NotAllFit)
	case d.Pending > 0 && p.reason == NoTierFitsAll:
		return NoTierFitsAll
	case d.Pending > 0 && d.Room >= p.target && p.Load == 0:
		return GroupsFull
	case d.Pending > 0:
		return NoRoom
	case d.Placed > p.target:
		return HeldBySilent
	}
	return p.reason
}

// certify bounds from below what the placed replicas could cost.
func (p *problem) certify(d *Division) {
	low, left := p.leastOf()
	if left {
		d.Relaxed = append(d.Relaxed, MinPerSiteLeftOut)
	}
	if len(p.SpreadConstraints) > 0 {
		d.Relaxed = append(d.Relaxed, SpreadLeftOut)
	}
	falling := false
	tiers := p.tiers
	for _, tier := range tiers {
		least := leastCost(tier, low)
		d.LowerBound += protocol.Microdollars(least.bound)
		falling = falling || least.bound < least.cost
	}
	if falling {
		d.Relaxed = append(d.Relaxed, FallingSteps)
	}
	d.Unrestricted = d.LowerBound
	if sum(p.places, low) > 0 || len(tiers) > 1 {
		d.Unrestricted = protocol.Microdollars(leastCost(p.places, func(*place) int { return 0 }).bound)
	}
}

// leastOf returns what MinPerSite asks of each place for a bound, and whether it is left out as
// there are too few replicas to keep it.
func (p *problem) leastOf() (low func(*place) int, left bool) {
	if left = sum(p.places, p.minAt) > p.wanted(); left {
		return func(*place) int { return 0 }, p.MinPerSite > 0
	}
	return func(pl *place) int { return min(p.minAt(pl), pl.n) }, false
}

// minAt returns what MinPerSite asks of a place.
func (p *problem) minAt(pl *place) int { return min(p.MinPerSite, pl.room) }

// A least is what some replicas cost per hour at the least: a division, its cost, and a bound that
// is below it only where steps fall.
type least struct {
	n           []int
	cost, bound int64
}

// leastCost returns the division of least cost of as many replicas as places got, and a cost per
// hour that no other can be below; with what the room of replicas that start is worth.
func leastCost(places []*place, low func(*place) int) (out least) {
	curves := make([]curve, len(places))
	extra, rises, lows := sum(places, gotOf)-sum(places, low), true, int64(0)
	for i, pl := range places {
		curves[i] = newCurve(pl, low(pl), min(pl.room, low(pl)+extra), pl.price)
		lows += int64(pl.costOf(low(pl))) + int64(max(low(pl)-pl.Held, 0))*pl.price
		rises = rises && curves[i].rises()
	}
	if !rises {
		out.n, out.cost, out.bound = takeBlocks(curves, extra)
		out.cost, out.bound = out.cost+lows, out.bound+lows
		return out
	}
	out.n, out.cost = takeUnits(curves, extra), lows
	for i, n := range out.n {
		out.cost += curves[i].costUpTo(n)
	}
	out.bound = out.cost
	return out
}

// roomPrices returns for each full place how much more the dearest replica of its tier and those
// after it costs than its own last one.
func (p *problem) roomPrices() []protocol.Microdollars {
	prices := make([]protocol.Microdollars, len(p.places))
	if p.Kind != ByCost || p.Load > 0 {
		return prices
	}
	last := make([]protocol.Microdollars, len(p.places))
	for i, pl := range p.places {
		if pl.n > 0 {
			last[i] = pl.costOf(pl.n) - pl.costOf(pl.n-1)
		}
	}
	order := make([]int, len(p.places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.places[b].Tier, p.places[a].Tier) })
	var dearest protocol.Microdollars
	for from := 0; from < len(order); {
		to := from
		for ; to < len(order) && p.places[order[to]].Tier == p.places[order[from]].Tier; to++ {
			dearest = max(dearest, last[order[to]])
		}
		for _, i := range order[from:to] {
			if pl := p.places[i]; pl.n > 0 && pl.n == pl.room {
				prices[i] = max(dearest-last[i], 0)
			}
		}
		from = to
	}
	return prices
}
