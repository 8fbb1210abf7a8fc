package market

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// clockResetThreshold is how far the clock must go back before the market recomputes its timers.
// Smaller steps are ordinary clock corrections, and delay timers by less than a minute.
const clockResetThreshold = time.Minute

// observeClock records the time of the current step. The clock goes back when a machine started
// with a wrong clock, or when another coordinator takes over: without a reset, timers that were
// due in seconds would be due in hours.
func (k *Market) observeClock(now protocol.Time) {
	if now < k.last.Add(-clockResetThreshold) {
		k.counts["clock-set-back"]++
		k.resetTimers(now)
	}
	k.last = now
}

// resetTimers makes everything that waits due in a full round at once. An open round is abandoned,
// because its closing time and the starts of its options follow the former clock. What happened to
// ended jobs is dated now at the latest, so that they are forgotten on time.
func (k *Market) resetTimers(now protocol.Time) {
	k.round, k.lastCall, k.congestion, k.replan = nil, callTime{}, congestion{}, 0
	k.services.ClockSetBack(now)
	a := &k.advisor
	a.rulings, a.openQuestions, a.closed = nil, 0, min(a.closed, now.Add(breakerPause))
	for _, name := range k.siteNames {
		s := k.sites[name]
		s.lastStopSent, s.suspectSince, s.late = min(s.lastStopSent, now), min(s.suspectSince, now), nil
	}
	for i := range k.endedLots {
		k.endedLots[i].at = min(k.endedLots[i].at, now)
	}
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		l, soon := k.lots[id], now.Add(k.cfg.Gather)
		switch {
		case l.state == called, l.state == waiting && (l.tries > 0 || l.due <= k.last.Add(k.cfg.Gather)): // otherwise the job has not arrived yet and keeps its time
			l.state = waiting
		case l.state == awarded:
			soon = now.Add(k.cfg.Lease)
		case l.state == divided:
			k.resetPartTimers(now, l)
			continue
		case l.state != accepted || !l.cancelRequested:
			continue
		}
		l.due, l.backoffUntil, l.lease = min(l.due, soon), min(l.backoffUntil, soon), min(l.lease, soon)
		k.timers.addToTimerQueue(l)
	}
}
