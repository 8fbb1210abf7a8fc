package market

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// An answerTime estimates how long a site takes to answer a call, as TCP estimates the round trip
// of a connection (RFC 6298): a smoothed mean, and a smoothed deviation from it. It is computed
// from the times at which the market took its steps, which the input log records: a ledger
// replays to the same estimates.
type answerTime struct {
	mean, deviation time.Duration
	measured        bool
}

// observe takes in one answer. The weights of 1/8 and 1/4 are TCP's.
func (a *answerTime) observe(took time.Duration) {
	if !a.measured {
		*a = answerTime{mean: took, deviation: took / 2, measured: true}
		return
	}
	a.deviation += ((took - a.mean).Abs() - a.deviation) / 4
	a.mean += (took - a.mean) / 8
}

// latest returns by when the site has answered, unless it is slower than it ever is.
func (a answerTime) latest() time.Duration { return a.mean + 4*a.deviation }

const (
	// minWindow is the least window: a pause of a garbage collector, or a lost packet that TCP
	// sends once more (after 200 ms at least), makes no site suspect.
	minWindow = 250 * time.Millisecond
	// slowFactor is how many times the window of a usual site a round waits for slower ones. Who
	// takes longer on the mean is asked, and not waited for.
	slowFactor = 4
	// hopelessMisses is how many windows in a row a site misses until its heartbeats alone do not
	// have it waited for: its agent lives, and answers no call.
	hopelessMisses = 3
)

// A callTime says when a round was called, and by how much its answers take longer than those to
// the smallest call.
type callTime struct {
	round     uint64
	opened    protocol.Time
	allowance time.Duration
}

// answerAllowance returns how much longer than the smallest call a call of so many jobs may take:
// an agent computes each job's bids, and the market reads and checks those of all sites. Both are
// about ten times what they take on one core (docs/federation.md).
func answerAllowance(jobs, sites int) time.Duration {
	return time.Duration(jobs) * (time.Millisecond + time.Duration(sites)*10*time.Microsecond)
}

// observeAnswer takes in how long a site took to answer a call.
func (k *Market) observeAnswer(s *site, c callTime, now protocol.Time) {
	// An answer that takes longer than two windows says no more than one that takes two, and a site
	// that is fast again is known to be so sooner.
	s.answers.observe(min(max(now.Sub(c.opened)-c.allowance, 0), 2*k.cfg.Window))
	s.answeredRound, s.missedWindows = c.round, 0
}

// planWindow returns how long the round that is called now waits for bids, and for which sites:
// not for those that missed a window and were not heard since, and not for those that are much
// slower than the usual one. If none is left, the round waits for all.
func (k *Market) planWindow(allowance time.Duration) (window time.Duration, awaited map[string]struct{}) {
	usual := k.usualWindow()
	awaited = make(map[string]struct{}, len(k.sites))
	for _, name := range k.siteNames {
		s := k.sites[name]
		if s.suspectSince != 0 || s.answers.measured && s.answers.mean > usual {
			continue
		}
		awaited[name] = struct{}{}
		window = max(window, min(k.windowOf(s), usual))
	}
	if len(awaited) == 0 {
		for _, name := range k.siteNames {
			awaited[name] = struct{}{}
		}
		window = k.cfg.Window
	}
	return min(window+allowance, k.cfg.Window), awaited
}

// windowOf returns how long a site is waited for, were it alone: a site that never answered has the
// whole configured window.
func (k *Market) windowOf(s *site) time.Duration {
	if !s.answers.measured {
		return k.cfg.Window
	}
	return min(max(s.answers.latest(), minWindow), k.cfg.Window)
}

// usualWindow returns slowFactor times the median window of the sites that are not suspect.
func (k *Market) usualWindow() time.Duration {
	all := make([]time.Duration, 0, len(k.sites))
	for _, name := range k.siteNames {
		if s := k.sites[name]; s.suspectSince == 0 {
			all = append(all, k.windowOf(s))
		}
	}
	if len(all) == 0 {
		return k.cfg.Window
	}
	slices.Sort(all)
	return min(slowFactor*all[len(all)/2], k.cfg.Window)
}

// hearSite notes that a message of a site's agent came: the next round waits for the site.
func (k *Market) hearSite(m protocol.Message) {
	if s := k.sites[m.From.SiteName()]; s != nil && m.From == protocol.AgentParty(m.From.SiteName()) {
		s.suspectSince = 0
	}
}

// suspectSite has rounds not wait for a site until it is heard.
func (s *site) suspectSite(now protocol.Time) {
	if s.suspectSince == 0 {
		s.suspectSince = now
	}
}

// heedCondition follows what the monitor says of a site (decision 0288).
func (s *site) heedCondition(now protocol.Time, state protocol.SiteState) {
	switch state {
	case protocol.SiteSilent, protocol.SiteRevoked:
		s.suspectSite(now)
	default:
		s.suspectSince = 0
	}
}

// Suspects returns the sites that rounds do not wait for, and since when, but for those that missed
// hopelessMisses windows. The monitor tells the market when it hears one of them.
func (k *Market) Suspects() map[string]protocol.Time {
	all := make(map[string]protocol.Time)
	for _, name := range k.siteNames {
		s := k.sites[name]
		if s.suspectSince != 0 && s.missedWindows < hopelessMisses {
			all[name] = s.suspectSince
		}
	}
	return all
}
