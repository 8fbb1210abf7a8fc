package division

import (
	"cmp"
	"slices"
)

// Divide divides the replicas of one service over sites. A request that contradicts itself (a
// negative count, a site named twice, Min above Max, steps that do not cover a site's room) is an
// error that names the site and the field; too little room is none, but pending replicas with a
// reason.
func Divide(r Request) (Division, error) {
	if err := r.check(); err != nil {
		return Division{}, err
	}
	if r.Kind == "" {
		r.Kind = ByCost
	}
	p := newProblem(&r)
	p.solve()
	return p.division(), nil
}

// solve says how many replicas each place gets, within all that the policy says.
func (p *problem) solve() {
	if p.Load > 0 {
		p.divideLoad()
		return
	}
	if p.ExclusiveTiers {
		p.keepOneTier()
	}
	p.divideSpread()
}

// A mode says what of a service is divided.
type mode int

const (
	added   mode = iota // replicas that are added to those of each site
	removed             // those that stay, when fewer are wanted
	anew                // all
)

// divide says how many replicas each place gets.
func (p *problem) divide() {
	p.setFloors()
	want, room := p.wanted(), sum(p.places, mostOf)
	switch {
	case p.AllOrNothing && room < want && p.keepHeld():
	case p.byWeight():
		p.divideTiers(anew, floorOf, mostOf, min(want, room))
	case p.Rebalance:
		p.rebalance(min(want, room))
	default:
		p.divideChange(min(want, room))
	}
}

// keepHeld leaves all replicas where they are, unless those are more than are wanted.
func (p *problem) keepHeld() bool {
	if sum(p.places, heldOf) > p.wanted() {
		return false
	}
	for _, pl := range p.places {
		pl.n = pl.Held
	}
	return true
}

// divideChange leaves replicas where they are and divides what is added or removed.
func (p *problem) divideChange(total int) {
	if total >= sum(p.places, baseOf) {
		p.divideTiers(added, baseOf, mostOf, total)
	} else {
		p.divideTiers(removed, floorOf, baseOf, total)
	}
}

// divideTiers divides a total so that each place gets from low to high, in order of tiers: what
// is beyond the lows goes to the first tier as far as it has room, the rest to the next.
func (p *problem) divideTiers(m mode, low, high func(*place) int, total int) {
	beyond := total - sum(p.places, low)
	for _, tier := range p.tiers {
		extra := min(beyond, sum(tier, high)-sum(tier, low))
		beyond -= extra
		if p.Kind == ByCost {
			p.takeCheapest(m, tier, low, high, extra)
		} else {
			p.divideByVotes(m, tier, low, high, extra)
		}
	}
}

// divideByVotes divides what a tier gets beyond the lows by Webster's method. What is added is
// divided by what is free, and what remains of a removal by what runs, whatever the seats before.
func (p *problem) divideByVotes(m mode, tier []*place, low, high func(*place) int, extra int) {
	parties := make([]*party, len(tier))
	for i, pl := range tier {
		switch at := (party{votes: p.votes(pl), seats: low(pl), most: high(pl), order: pl.order}); m {
		case added:
			at.votes, at.seats, at.most = int64(high(pl)-low(pl)), 0, high(pl)-low(pl)
			parties[i] = &at
		case removed:
			at.votes = int64(high(pl))
			parties[i] = &at
		default:
			parties[i] = &at
		}
	}
	takers := parties
	if p.Kind == FewestSites {
		takers = fewest(m, tier, parties, extra)
	}
	takeSeats(extra, takers)
	for i, pl := range tier {
		pl.n = parties[i].seats
		if m == added {
			pl.n += low(pl)
		}
	}
}

// fewest returns the first parties that have room for so many more seats, in the order of their
// votes; sites where the service runs come first, except when it shrinks.
func fewest(m mode, tier []*place, parties []*party, extra int) []*party {
	runs := func(k int) int {
		if m != removed && tier[k].Held > 0 {
			return 1
		}
		return 0
	}
	order := make([]int, len(parties))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(runs(b), runs(a)), cmp.Compare(parties[b].votes, parties[a].votes))
	})
	var takers []*party
	for _, k := range order {
		if extra <= 0 {
			break
		}
		takers = append(takers, parties[k])
		extra -= parties[k].most - parties[k].seats
	}
	return takers
}

// keepOneTier rules all tiers out but one: the first that has room for all, from the one in use
// on unless all is divided anew. If none has, it is the one in use, or that with the most room.
func (p *problem) keepOneTier() {
	tiers := p.tiers
	first, used := 0, -1
	if !p.Rebalance {
		if used = slices.IndexFunc(tiers, func(t []*place) bool { return sum(t, keptOf) > 0 }); used > 0 {
			first = used
		}
	}
	chosen := -1
	for i := first; i < len(tiers) && chosen < 0; i++ {
		if sum(tiers[i], mostOf) >= p.wanted() {
			chosen = i
		}
	}
	if chosen < 0 {
		p.reason, chosen = NoTierFitsAll, used
		for i := 0; i < len(tiers) && used < 0; i++ {
			if chosen < 0 || sum(tiers[i], mostOf) > sum(tiers[chosen], mostOf) {
				chosen = i
			}
		}
	}
	for i, tier := range tiers {
		for _, pl := range tier {
			if i != chosen {
				pl.most = 0
			}
		}
	}
}
