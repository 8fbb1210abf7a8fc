package division

// rebalance divides a total anew. If that moves more replicas than one division may move, it goes
// as many moves from the steady division towards the new one: into the first tiers and out of the
// last ones first, and within a tier by the rule of the kind.
func (p *problem) rebalance(total int) {
	p.divideChange(total)
	steady := p.counts()
	p.divideTiers(anew, floorOf, mostOf, total)
	fresh := p.counts()
	moves := 0
	for i := range fresh {
		moves += max(fresh[i]-steady[i], 0)
	}
	if p.Move.Most == 0 || moves <= p.Move.Most {
		return
	}
	at := make(map[*place]int, len(p.places))
	for i, pl := range p.places {
		at[pl] = i
	}
	now := func(pl *place) int { return steady[at[pl]] }
	least := func(pl *place) int { return min(steady[at[pl]], fresh[at[pl]]) }
	greatest := func(pl *place) int { return max(steady[at[pl]], fresh[at[pl]]) }
	p.divideTiers(added, now, greatest, total+p.Move.Most)
	grown := p.counts()
	p.divideTiers(removed, least, now, total-p.Move.Most)
	for i, pl := range p.places {
		pl.n += grown[i] - steady[i]
	}
}

// counts returns what each place gets.
func (p *problem) counts() []int {
	out := make([]int, len(p.places))
	for i, pl := range p.places {
		out[i] = pl.n
	}
	return out
}
