package history

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A lateOffer is an offer that came after its round was decided. If its site does not answer the
// next round, the market lets it count there (decision 0288), so the record does, too.
type lateOffer struct {
	from   MessageRef
	bids   protocol.Bids
	called protocol.Time // its round
	most   time.Duration // after that the next round, else the offer is too old
}

// keepLateOffer keeps an offer for the round after its own.
func (b *History) keepLateOffer(from MessageRef, m protocol.Bids, c *clearingRound) {
	if b.lateOffers == nil {
		b.lateOffers = make(map[string]lateOffer)
	}
	b.lateOffers[from.From.SiteName()] = lateOffer{from, m, c.message.At, c.maxStartDelay}
}

// useLateOffers has late offers for the round before count in a round that is being decided, for
// sites that did not answer it.
func (b *History) useLateOffers(c *clearingRound) {
	for _, site := range slices.Sorted(maps.Keys(b.lateOffers)) {
		o := b.lateOffers[site]
		if o.bids.Round >= c.round {
			continue
		}
		delete(b.lateOffers, site)
		if o.bids.Round+1 != c.round || slices.Contains(c.offered, site) || !slices.Contains(c.sites, site) || c.message.At > o.called.Add(o.most) {
			continue
		}
		c.offered = append(c.offered, site)
		for _, menu := range o.bids.Jobs {
			if e := b.jobs[menu.Job]; e != nil && e.last != nil && e.last.round == c {
				e.last.addBids(e.rec.Job, o.from, o.moveTo(menu, c.message.At), o.bids.Holes, false, b.cfg)
			}
		}
	}
}

// moveTo returns bids whose options start when a round was called, if their start had passed then.
func (o *lateOffer) moveTo(menu protocol.JobBids, at protocol.Time) protocol.JobBids {
	menu.Options = slices.Clone(menu.Options)
	for i := range menu.Options {
		x := &menu.Options[i]
		if by := at - x.Start; by > 0 && x.Start >= o.called {
			x.Start, x.Finish = x.Start+by, x.Finish+by
		}
	}
	return menu
}
