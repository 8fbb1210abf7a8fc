package auction

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A Leeway says among what options of a lot somebody else may choose. The zero
// Leeway leaves no choice.
type Leeway struct {
	Ease  protocol.Milli        // how much more than the best an option may cost, in thousandths of the best
	Spend protocol.Microdollars // what all choices of the round may cost more, together
	Most  int                   // lots
	Sites []string              // worth a choice, by name; a lot that is to wait at its site is always
}

// A Near is an option that may be awarded in place of the decision's own.
type Near struct {
	Site   string
	Option protocol.Option
	Cost   protocol.Microdollars // all terms, by trust in the site
	Extra  protocol.Microdollars // over the decision's own option; the more of with room paid for and without
}

// near gives lots of a cleared round their choices. Whatever is chosen, for
// one lot or for all, fits: the room of every option of an earlier choice is
// taken when the next is looked at, and so is its extra cost.
func (p *problem) near(l Leeway, choice []int, out []Decision) {
	left := p.rooms()
	for i, c := range choice {
		if c >= 0 {
			left.take(p.lots[i], c, 1)
		}
	}
	for i := range out {
		if l.Most <= 0 {
			return
		}
		if choice[i] < 0 || out[i].Verdict != Award {
			continue
		}
		if own := p.lots[i].at(choice[i]); own.site != out[i].Site || *own.Option != out[i].Option {
			continue // it is awarded what no sum holds; what it chose costs far more
		}
		band := p.band(i, choice[i], left, l)
		if len(band) < 2 || !out[i].Queue && !slices.ContainsFunc(band, func(k int) bool { return slices.Contains(l.Sites, p.lots[i].at(k).site) }) {
			continue
		}
		most := protocol.Microdollars(0)
		for _, c := range band {
			k := p.lots[i].at(c)
			extra := p.extra(i, c, choice[i])
			out[i].Near = append(out[i].Near, Near{Site: k.site, Option: *k.Option, Cost: k.cost, Extra: extra})
			if c != choice[i] {
				left.take(p.lots[i], c, 1)
			}
			most = max(most, extra)
		}
		l.Spend -= most
		l.Most--
	}
}

// band returns the options of a lot that could be awarded in place of own: the
// cheapest of each site that fits, beginning like own now or later, and costs at
// most the leeway more. Own is among them; if it costs more than that itself, there
// is no band.
func (p *problem) band(lot, own int, left *rooms, l Leeway) (band []int) {
	cands := p.lots[lot]
	mine := cands.at(own)
	left.take(cands, own, -1)
	defer left.take(cands, own, 1)
	room, free := left.bare, left.free
	if p.jobs[lot].Deferrable {
		room, free = left.planned, left.open
	}
	best := mine.cost
	sites := []string{mine.site}
	for c := range cands.len() {
		k := cands.at(c)
		if (k.Start <= p.now) != (mine.Start <= p.now) || !p.fits(cands, &cands.brief[c], room, free) {
			continue
		}
		best = min(best, k.cost)
		if !slices.Contains(sites, k.site) {
			sites = append(sites, k.site)
			band = append(band, c)
		}
	}
	most := min(abs(best)*protocol.Microdollars(l.Ease)/1000, l.Spend)
	if mine.cost > best+most { // own stands for the sake of other lots: that is not for somebody else to weigh
		return nil
	}
	band = slices.DeleteFunc(band, func(c int) bool {
		return cands.at(c).cost > best+most || p.extra(lot, c, own) > most
	})
	return append(band, own)
}

// extra returns what option c of a lot costs more than its own: the more of with
// room paid for, which others pay, and without. It is not negative.
func (p *problem) extra(lot, c, own int) protocol.Microdollars {
	r := p.lots[lot]
	more := r.at(c).cost - r.at(own).cost
	room := protocol.Microdollars(p.room(r, &r.brief[c]) - p.room(r, &r.brief[own]))
	return max(0, more, more+room)
}

func abs(m protocol.Microdollars) protocol.Microdollars { return max(m, -m) }
