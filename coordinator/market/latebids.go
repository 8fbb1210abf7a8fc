package market

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// lateBids are bids that came after their round had closed. If the site does not answer the next
// round either, they count there: a site that is slow for a while is not left out.
type lateBids struct {
	call     callTime
	sent     protocol.Time // by the site's clock
	received protocol.Time
	bids     protocol.Bids
}

// keepLateBids keeps bids for the newest closed round until the next one closes. Of older ones, and
// of a second answer to the same call, nothing is kept.
func (k *Market) keepLateBids(now protocol.Time, m protocol.Message, o protocol.Bids) {
	k.counts["offer-too-late"]++
	s, c := k.sites[m.From.SiteName()], k.lastCall
	if k.round != nil && o.Round == k.rounds { // its window is over, and it closes with the next tick
		c = k.round.call
	}
	if c.round == 0 || o.Round != c.round || s.answeredRound >= o.Round {
		return
	}
	k.observeAnswer(s, c, now)
	k.congestion.answerCame()
	s.late = &lateBids{call: c, sent: m.At, received: now, bids: o}
	if s.silent {
		k.wakeWaiting(now)
	}
}

// addLateBids has sites that did not answer a round take part in it with their late bids for the
// round before. Bids older than the delay with which a site may start a job are dropped.
func (k *Market) addLateBids(r *round) {
	for _, name := range k.siteNames {
		s := k.sites[name]
		late := s.late
		if late == nil || late.call.round == r.call.round {
			continue
		}
		s.late = nil
		if _, answered := r.offers[name]; answered || r.call.opened > late.call.opened.Add(k.cfg.Planning.MaxStartDelay) {
			continue
		}
		r.offers[name] = k.validateBids(name, late.moveTo(r))
		k.counts["late-offer-used"]++
	}
}

// moveTo returns the bids for those jobs that a later round calls, too. Options whose start has
// passed start when that round was called, as a site may start any job a little later.
func (l *lateBids) moveTo(r *round) protocol.Bids {
	o := shiftToMarketClock(l.bids, l.sent, l.call.opened, l.received)
	o.Jobs = slices.DeleteFunc(slices.Clone(o.Jobs), func(m protocol.JobBids) bool {
		_, called := r.index[m.Job]
		return !called
	})
	for i := range o.Jobs {
		o.Jobs[i].Options = slices.Clone(o.Jobs[i].Options)
		for k := range o.Jobs[i].Options {
			x := &o.Jobs[i].Options[k]
			if by := r.call.opened - x.Start; by > 0 && x.Start >= l.call.opened {
				x.Start, x.Finish = x.Start+by, x.Finish+by
			}
		}
	}
	return o
}
