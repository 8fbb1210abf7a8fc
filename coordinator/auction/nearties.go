package auction

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A TieTolerance says among what options of a lot somebody else may choose. The zero
// Leeway leaves no choice.
type TieTolerance struct {
	MaxExtraThousandths protocol.Milli        // how much more than the best an option may cost, in thousandths of the best
	MaxExtraTotal       protocol.Microdollars // what all choices of the round may cost more, together
	MaxLots             int                   // lots
	Sites               []string              // worth a choice, by name; a lot that is to wait at its site is always
}

// A NearTie is an option that may be awarded in place of the decision's own.
type NearTie struct {
	Site   string
	Option protocol.BidOption
	Cost   protocol.Microdollars // all terms, by trust in the site
	Extra  protocol.Microdollars // over the decision's own option; the more of with room paid for and without
}

// markNearTies gives lots of a cleared round their choices. Whatever is chosen, for
// one lot or for all, fits: the room of every option of an earlier choice is
// taken when the next is looked at, and so is its extra cost.
func (p *problem) markNearTies(l TieTolerance, choice []int, out []Decision) {
	left := p.newRemainingCapacity()
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
		if own := p.lots[i].candidateAt(choice[i]); own.site != out[i].Site || *own.BidOption != out[i].Option {
			continue // it is awarded what no sum holds; what it chose costs far more
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

// nearTieBand returns the options of a lot that could be awarded in place of own: the
// cheapest of each site that fits, beginning like own now or later, and costs at
// most the leeway more. Own is among them; if it costs more than that itself, there
// is no band.
func (p *problem) nearTieBand(lot, own int, left *remainingCapacity, l TieTolerance) (band []int) {
	cands := p.lots[lot]
	mine := cands.candidateAt(own)
	left.takeOption(cands, own, -1)
	defer left.takeOption(cands, own, 1)
	room, free := left.bare, left.free
	if p.jobs[lot].Deferrable {
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
	if mine.cost > best+most { // own stands for the sake of other lots: that is not for somebody else to weigh
		return nil
	}
	band = slices.DeleteFunc(band, func(c int) bool {
		return cands.candidateAt(c).cost > best+most || p.extraCost(lot, c, own) > most
	})
	return append(band, own)
}

// extraCost returns what option c of a lot costs more than its own: the more of with
// room paid for, which others pay, and without. It is not negative.
func (p *problem) extraCost(lot, c, own int) protocol.Microdollars {
	r := p.lots[lot]
	more := r.candidateAt(c).cost - r.candidateAt(own).cost
	room := protocol.Microdollars(p.capacityCost(r, &r.scored[c]) - p.capacityCost(r, &r.scored[own]))
	return max(0, more, more+room)
}

func absoluteCost(m protocol.Microdollars) protocol.Microdollars { return max(m, -m) }
