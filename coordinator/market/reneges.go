package market

import (
	"slices"

	"github.com/gridbid/gridbid/coordinator/auction"
)

// A renege is what a lot has had of a site that won it and did not keep it. Such a
// site, which may bid below all others, would win it for ever: so others have their
// turn, for ever more rounds.
type renege struct {
	site           string
	times          int // that it declined the lot, gave it back, or let an award of it run out
	passOverRounds int // rounds for which it is passed over
}

// forgivenReneges is how many times that leaves a site its bids: rooms change between an offer
// and an award, also where everybody is honest. On the day of a default replay two jobs
// were declined three times by one site.
const forgivenReneges = 7

// countRenege notes that a site did not keep a lot.
func (l *lot) countRenege(site string) {
	i := slices.IndexFunc(l.reneges, func(s renege) bool { return s.site == site })
	if i < 0 {
		i, l.reneges = len(l.reneges), append(l.reneges, renege{site: site})
	}
	s := &l.reneges[i]
	if s.times++; s.times > forgivenReneges {
		s.passOverRounds = 1 << min(s.times-forgivenReneges-1, 6)
	}
}

// leaseExpired notes that nobody accepted an award of a lot before its lease ended, if so.
func (l *lot) leaseExpired() {
	if l.state == awarded {
		l.countRenege(l.site)
	}
}

// acceptedBy notes that the site of a lot accepts it. If its lease had ended that was counted.
func (l *lot) acceptedBy() {
	for i := range l.reneges {
		s := &l.reneges[i]
		if s.site != l.site {
			continue
		}
		if s.passOverRounds = 0; l.state != awarded {
			s.times--
		}
	}
}

// roundDecided notes that a round has decided on a lot.
func (l *lot) roundDecided() {
	l.tries++
	for i := range l.reneges {
		l.reneges[i].passOverRounds = max(0, l.reneges[i].passOverRounds-1)
	}
}

// withoutReneging returns the menus of a lot without those of sites that are passed over, if
// others offer for it.
func (l *lot) withoutReneging(all []auction.SiteBids) []auction.SiteBids {
	if len(l.reneges) == 0 {
		return all
	}
	over := func(m auction.SiteBids) bool {
		return slices.ContainsFunc(l.reneges, func(s renege) bool { return s.site == m.Site && s.passOverRounds > 0 })
	}
	if rest := slices.DeleteFunc(slices.Clone(all), over); len(rest) > 0 {
		return rest
	}
	return all
}
