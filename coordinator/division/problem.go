package division

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A place is a site that bids, with the bounds between which it gets replicas.
//
// Invariant: 0 <= floor <= base <= most.
type place struct {
	*Site
	at    int   // number of the site in the request
	order int   // place in the order of ties
	price int64 // what the room for one more replica is worth to other services, in µ$ per hour

	room  int // held replicas included; 0 if the site has no weight and others have
	most  int // what it may get: room, or 0 if its tier or group is ruled out
	floor int // what it gets before the rest is divided
	base  int // what it has, or gets before the rest is divided
	n     int // what it gets

	asked int // what spread constraints ask of its floor

	steady, fresh, grown int // of a rebalance: what it would get without, what it would get at once, what it grows by
}

// A problem is one request on its way to a division.
type problem struct {
	*Request
	places []*place   // by name
	tiers  [][]*place // the same, the tier to fill first in front
	target int        // replicas to place
	silent int        // of which silent sites hold so many
	reason Reason
	kept   int64 // of the load, if any one site is lost
}

// newProblem brings a request that was checked into order.
func newProblem(r *Request) *problem {
	p := &problem{Request: r, target: max(r.Wanted, r.Min)}
	if r.Max > 0 {
		p.target = min(p.target, r.Max)
	}
	weights := false
	for i := range r.Sites {
		s := &r.Sites[i]
		weights = weights || s.Weight > 0
		if s.Silent {
			p.silent += s.Held
			continue
		}
		p.places = append(p.places, &place{Site: s, at: i})
	}
	slices.SortFunc(p.places, func(a, b *place) int { return cmp.Compare(a.Name, b.Name) })
	for i, pl := range p.places {
		pl.order = i
		if isDescending(r.UID) {
			pl.order = len(p.places) - 1 - i
		}
		if pl.room = pl.Held + pl.Free; p.byWeight() && weights && pl.Weight == 0 {
			pl.room = 0
		}
		if pl.most = pl.room; p.Kind == ByWeightUncapped && (!weights || pl.Weight > 0) {
			pl.most = max(p.target, pl.Held)
		}
	}
	p.tiers = byTier(p.places)
	return p
}

// byWeight reports whether the kind divides by weight.
func (p *problem) byWeight() bool { return p.Kind == ByWeight || p.Kind == ByWeightUncapped }

// wanted returns how many replicas the sites that bid are to have.
func (p *problem) wanted() int { return max(p.target-p.silent, 0) }

// sum adds one quantity up over places.
func sum(places []*place, of func(*place) int) (total int) {
	for _, pl := range places {
		total += of(pl)
	}
	return total
}

// Quantities of a place.
func mostOf(pl *place) int   { return pl.most }
func baseOf(pl *place) int   { return pl.base }
func floorOf(pl *place) int  { return pl.floor }
func gotOf(pl *place) int    { return pl.n }
func heldOf(pl *place) int   { return pl.Held }
func steadyOf(pl *place) int { return pl.steady }
func keptOf(pl *place) int   { return min(pl.Held, pl.most) } // held, and not ruled out

// byTier returns places in groups of one tier, the tier to fill first in front.
func byTier(places []*place) (tiers [][]*place) {
	sorted := slices.Clone(places)
	slices.SortStableFunc(sorted, func(a, b *place) int { return cmp.Compare(a.Tier, b.Tier) })
	for i, pl := range sorted {
		if i == 0 || pl.Tier != sorted[i-1].Tier {
			tiers = append(tiers, nil)
		}
		tiers[len(tiers)-1] = append(tiers[len(tiers)-1], pl)
	}
	return tiers
}

// setFloors gives each place its floor, as far as the wanted replicas go: first what spread
// constraints ask for, so that a minimum per site does not use it up; then MinPerSite tier by tier,
// one replica each, then a second, and so on; those that run already first, then the favoured by
// the kind.
func (p *problem) setFloors() {
	left := p.wanted()
	for _, tier := range p.tiers {
		for _, pl := range tier {
			pl.floor = min(pl.asked, pl.most, left)
			left -= pl.floor
		}
	}
	for _, tier := range p.tiers {
		open := slices.Clone(tier)
		slices.SortStableFunc(open, p.favoured)
		for level := 1; left > 0; level++ {
			open = slices.DeleteFunc(open, func(pl *place) bool { return min(p.MinPerSite, pl.most) < level })
			if len(open) == 0 {
				break
			}
			for _, runs := range []bool{true, false} {
				for _, pl := range open {
					if left > 0 && pl.floor < level && (pl.Held >= level) == runs {
						pl.floor++
						left--
					}
				}
			}
		}
	}
	for _, pl := range p.places {
		pl.base = min(max(pl.Held, pl.floor), pl.most)
	}
}

// favoured orders places by what the kind of division looks at first.
func (p *problem) favoured(a, b *place) int {
	if p.Kind == ByCost {
		if c := cmp.Compare(a.costOf(1), b.costOf(1)); c != 0 {
			return c
		}
	} else if c := cmp.Compare(p.votes(b), p.votes(a)); c != 0 {
		return c
	}
	return cmp.Compare(a.order, b.order)
}

// votes returns what a place counts where all replicas are divided anew.
func (p *problem) votes(pl *place) int64 {
	switch {
	case !p.byWeight():
		return int64(pl.most)
	case pl.most > 0 && pl.Weight == 0: // no site has a weight
		return 1
	case pl.most == 0:
		return 0
	}
	return pl.Weight
}

// costOf returns what the first n replicas at a site cost per hour; those without a step count
// nothing.
func (s *Site) costOf(n int) (cost protocol.Microdollars) {
	for _, step := range s.Steps {
		k := min(n, step.Replicas)
		cost += protocol.Microdollars(k) * step.Cost
		if n -= k; n == 0 {
			break
		}
	}
	return cost
}
