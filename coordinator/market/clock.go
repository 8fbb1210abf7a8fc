package market

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// clockResetThreshold is by how much a clock goes back for what is due to be put anew.
const clockResetThreshold = time.Minute

// observeClock takes in the time. Where it goes back, as of a machine that began with a wrong
// clock, or of another coordinator, what was due soon would be due in hours.
func (k *Market) observeClock(now protocol.Time) {
	if now < k.last.Add(-clockResetThreshold) {
		k.counts["clock-set-back"]++
		k.resetTimers(now)
	}
	k.last = now
}

// resetTimers has all that waits called in a full round at once. A round that is open is given
// up: when it would close, and when its options start, was said by the other clock. Jobs
// have ended by now.
func (k *Market) resetTimers(now protocol.Time) {
	k.round, k.replan = nil, 0
	a := &k.advisor
	a.rulings, a.openQuestions, a.closed = nil, 0, min(a.closed, now.Add(breakerPause))
	for _, name := range slices.Sorted(maps.Keys(k.sites)) {
		k.sites[name].lastStopSent = min(k.sites[name].lastStopSent, now)
	}
	for i := range k.endedLots {
		k.endedLots[i].at = min(k.endedLots[i].at, now)
	}
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		l, soon := k.lots[id], now.Add(k.cfg.Gather)
		switch {
		case l.state == called, l.state == waiting && (l.tries > 0 || l.due <= k.last.Add(k.cfg.Gather)): // else it has not arrived
			l.state = waiting
		case l.state == awarded:
			soon = now.Add(k.cfg.Lease)
		case l.state != accepted || !l.cancelRequested:
			continue
		}
		l.due, l.backoffUntil, l.lease = min(l.due, soon), min(l.backoffUntil, soon), min(l.lease, soon)
		k.timers.addToTimerQueue(l)
	}
}
