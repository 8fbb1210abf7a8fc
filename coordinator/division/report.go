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
	if p.Kind == ByCost {
		p.certify(&d)
	}
	return d
}

// why returns the reason of a division that is not as wished.
func (p *problem) why(d Division) Reason {
	switch {
	case d.Pending > 0 && len(p.places) == 0:
		return NoSites
	case d.Pending > 0 && p.AllOrNothing:
		return cmp.Or(p.reason, NotAllFit)
	case d.Pending > 0 && p.reason == NoTierFitsAll:
		return NoTierFitsAll
	case d.Pending > 0 && d.Room >= p.target:
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
	floors := sum(p.places, p.minAt)
	if p.MinPerSite > 0 && floors > p.wanted() {
		d.Relaxed, floors = append(d.Relaxed, MinPerSiteLeftOut), 0
	}
	if len(p.SpreadConstraints) > 0 {
		d.Relaxed = append(d.Relaxed, SpreadLeftOut)
	}
	low := func(pl *place) int {
		if floors == 0 {
			return 0
		}
		return min(p.minAt(pl), pl.n)
	}
	falling := false
	for _, tier := range byTier(p.places) {
		bound, exact := leastCost(tier, low)
		d.LowerBound += protocol.Microdollars(bound)
		falling = falling || !exact
	}
	if falling {
		d.Relaxed = append(d.Relaxed, FallingSteps)
	}
	d.Unrestricted = d.LowerBound
	if floors > 0 || len(byTier(p.places)) > 1 {
		bound, _ := leastCost(p.places, func(*place) int { return 0 })
		d.Unrestricted = protocol.Microdollars(bound)
	}
}

// minAt returns what MinPerSite asks of a place.
func (p *problem) minAt(pl *place) int { return min(p.MinPerSite, pl.room) }

// leastCost returns a cost per hour that no other division of what places got can be below, and
// whether some division costs as little.
func leastCost(places []*place, low func(*place) int) (bound int64, exact bool) {
	curves := make([]curve, len(places))
	extra, rises := sum(places, gotOf)-sum(places, low), true
	for i, pl := range places {
		curves[i] = newCurve(pl, low(pl), min(pl.room, low(pl)+extra), 0)
		bound += int64(pl.costOf(low(pl)))
		rises = rises && curves[i].rises()
	}
	if !rises {
		_, cost, least := takeBlocks(curves, extra)
		return bound + least, least == cost
	}
	for i, n := range takeUnits(curves, extra) {
		bound += curves[i].costUpTo(n)
	}
	return bound, true
}

// roomPrices returns for each full place how much more the dearest replica of its tier and those
// after it costs than its own last one.
func (p *problem) roomPrices() []protocol.Microdollars {
	prices := make([]protocol.Microdollars, len(p.places))
	if p.Kind != ByCost {
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
