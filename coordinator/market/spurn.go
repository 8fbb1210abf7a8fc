package market

import (
	"slices"

	"github.com/gridbid/gridbid/coordinator/auction"
)

// A spurn is what a lot has had of a site that won it and did not keep it. Such a
// site, which may bid below all others, would win it for ever: so others have their
// turn, for ever more rounds.
type spurn struct {
	site  string
	times int // that it declined the lot, gave it back, or let an award of it run out
	over  int // rounds for which it is passed over
}

// forgiven is how many times that leaves a site its bids: rooms change between an offer
// and an award, also where everybody is honest. On the day of a default replay two jobs
// were declined three times by one site.
const forgiven = 7

// spurned notes that a site did not keep a lot.
func (l *lot) spurned(site string) {
	i := slices.IndexFunc(l.spurns, func(s spurn) bool { return s.site == site })
	if i < 0 {
		i, l.spurns = len(l.spurns), append(l.spurns, spurn{site: site})
	}
	s := &l.spurns[i]
	if s.times++; s.times > forgiven {
		s.over = 1 << min(s.times-forgiven-1, 6)
	}
}

// lapsed notes that nobody accepted an award of a lot before its lease ended, if so.
func (l *lot) lapsed() {
	if l.state == awarded {
		l.spurned(l.site)
	}
}

// kept notes that the site of a lot accepts it. If its lease had ended that was counted.
func (l *lot) kept() {
	for i := range l.spurns {
		s := &l.spurns[i]
		if s.site != l.site {
			continue
		}
		if s.over = 0; l.state != awarded {
			s.times--
		}
	}
}

// ruled notes that a round has decided on a lot.
func (l *lot) ruled() {
	l.tries++
	for i := range l.spurns {
		l.spurns[i].over = max(0, l.spurns[i].over-1)
	}
}

// heeded returns the menus of a lot without those of sites that are passed over, if
// others offer for it.
func (l *lot) heeded(all []auction.Menu) []auction.Menu {
	if len(l.spurns) == 0 {
		return all
	}
	over := func(m auction.Menu) bool {
		return slices.ContainsFunc(l.spurns, func(s spurn) bool { return s.site == m.Site && s.over > 0 })
	}
	if rest := slices.DeleteFunc(slices.Clone(all), over); len(rest) > 0 {
		return rest
	}
	return all
}
