package auction

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A TieTolerance limits the options among which a judge may choose. The zero value leaves no
// choice.
type TieTolerance struct {
	MaxExtraThousandths protocol.Milli        // how much more than the cheapest an option may cost, in thousandths of the cheapest
	MaxExtraTotal       protocol.Microdollars // how much more all choices of the round may cost together
	MaxLots             int                   // lots with a choice, at most
	Sites               []string              // sites with an operator's note; a lot needs one of them among its options, unless it queues at its site
}

// A NearTie is an option that may be awarded in place of the decision's own.
type NearTie struct {
	Site   string
	Option protocol.BidOption
	Cost   protocol.Microdollars // all terms of the objective, multiplied by trust
	Extra  protocol.Microdollars // above the decision's own option, with or without capacity, whichever is more
}

// markNearTies lists the near ties of a cleared round's awards. Invariant: any combination of
// choices fits and stays within the budget, because the capacity and the extra cost of every
// option listed so far are taken before the next lot is looked at.
func (p *problem) markNearTies(l TieTolerance, choice []int, out []Decision) {
	if l.MaxLots <= 0 {
		return
	}
	left := p.newRemainingCapacity()
	defer p.releaseCapacity(left)
	for i, c := range choice {
		if c >= 0 {
			left.takeOption(p.lots[i], c, 1)
		}
	}
	for i := range out {
		if l.MaxLots <= 0 {
			return
		}
		if choice[i] < 0 || out[i].Verdict != Award {
			continue
		}
		if p.wasOnOffer(i, choice[i], out[i]) {
			continue // awarded by isOnOffer: its capacity is in no profile, so alternatives cannot be compared
		}
		band := p.nearTieBand(i, choice[i], left, l)
		if len(band) < 2 || !out[i].MayQueue && !slices.ContainsFunc(band, func(k int) bool { return slices.Contains(l.Sites, p.lots[i].candidateAt(k).site) }) {
			continue
		}
		most := protocol.Microdollars(0)
		for _, c := range band {
			k := p.lots[i].candidateAt(c)
			extra := p.extraCost(i, c, choice[i])
			out[i].NearTies = append(out[i].NearTies, NearTie{Site: k.site, Option: *k.BidOption, Cost: k.cost, Extra: extra})
			if c != choice[i] {
				left.takeOption(p.lots[i], c, 1)
			}
			most = max(most, extra)
		}
		l.MaxExtraTotal -= most
		l.MaxLots--
	}
}

// nearTieBand returns the options of a lot that may replace own: the cheapest that fits at each
// other site, starting now or later as own does, at an extra cost within the tolerance. Own is the
// last. If own itself costs more than the tolerance allows, the result is nil.
func (p *problem) nearTieBand(lot, own int, left *remainingCapacity, l TieTolerance) (band []int) {
	cands := p.lots[lot]
	mine := cands.candidateAt(own)
	left.takeOption(cands, own, -1)
	defer left.takeOption(cands, own, 1)
	room, free := left.bare, left.free
	if p.jobs[lot].MayWait() {
		room, free = left.planned, left.open
	}
	best := mine.cost
	sites := []string{mine.site}
	for c := range cands.candidateCount() {
		k := cands.candidateAt(c)
		if (k.Start <= p.now) != (mine.Start <= p.now) || !p.fitsCapacity(cands, &cands.scored[c], room, free) {
			continue
		}
		best = min(best, k.cost)
		if !slices.Contains(sites, k.site) {
			sites = append(sites, k.site)
			band = append(band, c)
		}
	}
	most := min(absoluteCost(best)*protocol.Microdollars(l.MaxExtraThousandths)/1000, l.MaxExtraTotal)
	if mine.cost > best+most { // own makes room for other lots: the judge sees one lot only, and cannot weigh that
		return nil
	}
	band = slices.DeleteFunc(band, func(c int) bool {
		return cands.candidateAt(c).cost > best+most || p.extraCost(lot, c, own) > most
	})
	return append(band, own)
}

// extraCost returns how much more option c of a lot costs than own, with or without the price of
// capacity (which other lots would pay), whichever is more; at least 0.
func (p *problem) extraCost(lot, c, own int) protocol.Microdollars {
	r := p.lots[lot]
	more := r.candidateAt(c).cost - r.candidateAt(own).cost
	room := protocol.Microdollars(p.capacityCost(r, &r.scored[c]) - p.capacityCost(r, &r.scored[own]))
	return max(0, more, more+room)
}

// absoluteCost returns |m|; costs may be negative when prices are.
func absoluteCost(m protocol.Microdollars) protocol.Microdollars { return max(m, -m) }
