package history

import (
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// foldCall opens a round for its jobs. A second call of the same round replaces the first: it
// asks for bids at newer prices. A job need not be known yet: its submission has another
// sender, and a ledger keeps the order of each sender only.
func (b *History) foldCall(from MessageRef, m protocol.CallForBids) {
	c := &clearingRound{
		round: m.Round, message: from, closes: m.Closes, weights: m.Weights, jobs: len(m.Jobs), maxStartDelay: m.Planning.OrDefault().MaxStartDelay,
		shadow: make(map[place]protocol.ShadowPrice, len(m.ShadowPrices)),
	}
	if len(m.Sites) > 0 && !b.cfg.NoBids && !b.cfg.Live {
		c.call = &m
	}
	// A site that has not bid since it was called before missed a round: applyBid starts the count anew.
	names := m.AskedSites()
	if names == nil {
		names = slices.Sorted(maps.Keys(b.sites))
	}
	for _, name := range names {
		s := b.sites[name]
		if s == nil {
			continue
		}
		if !s.decommissioned { // else it is not called
			c.sites = append(c.sites, name)
		}
		if !s.answered {
			if s.SilentRounds++; s.SilentRounds == 1 {
				s.standing.missedSince = s.lastCalled
			}
		}
		s.lastCalled = from.At
		b.noteCondition(s, from.At, false)
		s.answered = false
	}
	// Shadow prices turn options into costs; where no bids are kept, those of the newest round alone.
	for _, p := range b.takeShadowPrices(m) {
		c.shadow[place{p.Site, p.Model}] = p
	}
	if n := len(b.rounds); (b.cfg.Live || b.cfg.NoBids) && n > 0 {
		b.rounds[n-1].shadow = nil
	}
	// The round keeps its place in the order of calls when it is called a second time.
	if was := b.calls[m.Round]; was != nil {
		b.rounds[slices.Index(b.rounds, was)] = c
	} else {
		b.rounds = append(b.rounds, c)
	}
	b.calls[m.Round] = c
	b.forgetRounds()
	// A job of the call is on sale, so an award of it that got no answer has lapsed.
	for _, j := range m.Jobs {
		b.beginNextInstance(j.ID)
		e := b.jobs[j.ID]
		if e == nil {
			e = &jobEntry{rec: JobRecord{Job: j, phase: phaseWaiting}}
			b.beginJob(j.ID, e)
		}
		e.expireAward(from)
		e.rec.setPods(nil)
		if j.PriorityClass != "" { // which the market found for it
			e.rec.Job.PriorityClass, e.rec.Job.Priority = j.PriorityClass, j.Priority
		}
		if e.rec.Called == 0 || e.rec.lastCalled != m.Round {
			e.rec.Called, e.rec.lastCalled = e.rec.Called+1, m.Round
		}
		if b.cfg.Live { // until the decision
			e.last = &jobRound{round: c}
		} else {
			e.openRound(c, b.cfg.All)
		}
	}
}

// takeShadowPrices returns the prices of a call: its own, and those that sites were told before it.
func (b *History) takeShadowPrices(m protocol.CallForBids) []protocol.ShadowPrice {
	all := m.ShadowPrices
	for _, p := range b.sitePrices {
		if p.Round == m.Round {
			all = append(slices.Clip(all), p.ShadowPrices...)
		}
	}
	b.sitePrices = nil
	return all
}
