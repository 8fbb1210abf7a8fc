package division

// rebalance divides a total anew. If that moves more replicas than one division may move, it goes
// as many moves from the steady division towards the new one: into the first tiers and out of the
// last ones first, and within a tier by the rule of the kind.
//
// Where steps fall, half of the moves may save nothing, though all of them would; such a tier stays
// as it is.
func (p *problem) rebalance(total int) {
	p.divideChange(total)
	for _, pl := range p.places {
		pl.steady = pl.n
	}
	p.divideTiers(anew, floorOf, mostOf, total)
	moves := 0
	for _, pl := range p.places {
		pl.fresh = pl.n
		moves += max(pl.fresh-pl.steady, 0)
	}
	if most := p.Move.Most; most > 0 && moves > most {
		p.divideTiers(added, steadyOf, func(pl *place) int { return max(pl.steady, pl.fresh) }, total+most)
		for _, pl := range p.places {
			pl.grown = pl.n - pl.steady
		}
		p.divideTiers(removed, func(pl *place) int { return min(pl.steady, pl.fresh) }, steadyOf, total-most)
		for _, pl := range p.places {
			pl.n += pl.grown
		}
	}
	p.undoWhatDoesNotPay()
}

// undoWhatDoesNotPay leaves a tier steady if it is to have as many replicas either way, and what
// is saved is no more than the starts count.
func (p *problem) undoWhatDoesNotPay() {
	if p.Kind != ByCost {
		return
	}
	for _, tier := range p.tiers {
		saved := int64(0)
		for _, pl := range tier {
			saved += p.worth(pl, pl.steady) - p.worth(pl, pl.n)
		}
		if sum(tier, gotOf) == sum(tier, steadyOf) && saved <= 0 {
			for _, pl := range tier {
				pl.n = pl.steady
			}
		}
	}
}

// worth returns what n replicas at a place count per hour: their cost, and the starts beyond those
// held with the room that they take.
func (p *problem) worth(pl *place, n int) int64 {
	return p.unpriced(pl, n) + int64(max(n-pl.Held, 0))*pl.price
}

// unpriced is worth without the room.
func (p *problem) unpriced(pl *place, n int) int64 {
	return int64(pl.costOf(n)) + int64(max(n-pl.Held, 0))*p.startRate(anew, int64(pl.Start))
}
