package market

import (
	"slices"

	"github.com/gridbid/gridbid/coordinator/auction"
)

// A renege counts how often a site won a lot and did not keep it. A site that bids below all
// others and never keeps its awards would win forever; instead the market skips it for a growing
// number of rounds, in which other sites can win (decision 0019).
type renege struct {
	site           string
	times          int // it declined the lot, gave it back, or let the lease of an award expire
	passOverRounds int // rounds in which its bids for the lot are still ignored
}

// forgivenReneges is how many reneges have no consequence. Capacity changes between bid and award
// at honest sites too: in one day of the default replay one site declined each of two jobs three
// times.
const forgivenReneges = 7

// countRenege counts that a site did not keep the lot. Beyond forgivenReneges it is skipped for 1,
// 2, 4 ... at most 64 rounds.
func (l *lot) countRenege(site string) {
	s := l.renegeAt(site)
	if s.times++; s.times > forgivenReneges {
		s.passOverRounds = 1 << min(s.times-forgivenReneges-1, 6)
	}
}

// renegeAt returns the count of a site.
func (l *lot) renegeAt(site string) *renege {
	i := slices.IndexFunc(l.reneges, func(s renege) bool { return s.site == site })
	if i < 0 {
		i, l.reneges = len(l.reneges), append(l.reneges, renege{site: site})
	}
	return &l.reneges[i]
}

// skipNextRound has a site skipped in the next round.
func (l *lot) skipNextRound(site string) {
	s := l.renegeAt(site)
	s.passOverRounds = max(s.passOverRounds, 1)
}

// leaseExpired counts a renege if the lot's award was never accepted.
func (l *lot) leaseExpired() {
	if l.state == awarded {
		l.countRenege(l.site)
	}
}

// acceptedBy ends the skipping of the site that accepts the lot. If its lease had expired, that
// counted as a renege, which this late Accept takes back.
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

// roundDecided counts a round that decided on the lot, also towards the rounds for which sites are
// skipped.
func (l *lot) roundDecided() {
	l.tries++
	for i := range l.reneges {
		l.reneges[i].passOverRounds = max(0, l.reneges[i].passOverRounds-1)
	}
}

// withoutReneging returns the bids for a lot without those of skipped sites; all bids if only
// skipped sites bid, since a doubtful site is better than none.
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
