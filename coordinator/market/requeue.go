package market

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// maxRequeueBackoff bounds the exponential backoff of a lot that found no place, not even a
// planned one, or whose winner declined. The first backoff is Config.Gather, because sites bid
// other capacity once theirs was taken; each further one is twice as long. So a full cluster, or a
// site that bids capacity which it does not have, costs few rounds (decision 0023).
const maxRequeueBackoff = 2 * time.Minute

// deferLot makes a lot wait until its planned start can be decided. A lot for which the rule knows
// no better time than now waits for its backoff, and earlier if something changes: see
// wakeWaiting.
func (k *Market) deferLot(now protocol.Time, l *lot, d auction.Decision) {
	l.state, l.due = waiting, max(d.Until, now.Add(k.cfg.Gather))
	l.requeueBackoff(now, k.cfg.Gather, d.Site)
	if d.Site == "" {
		k.listIdleLot(l)
		l.due = max(l.due, l.backoffUntil)
	}
	l.due = min(l.due.Ceil(k.cfg.Gather), max(k.replan, now.Add(k.cfg.Gather))) // with the lots of the same gathering interval, and at the latest in the next full round
	k.timers.addToTimerQueue(l)
}

// requeueDeclined requeues a lot with backoff after its site declined it. A site whose lease had
// expired already has its renege counted.
func (k *Market) requeueDeclined(now protocol.Time, l *lot) {
	if l.state == awarded || l.state == accepted {
		l.countRenege(l.site)
	}
	l.requeueBackoff(now, k.cfg.Gather, "")
	l.state, l.site, l.due = waiting, "", l.backoffUntil
	k.timers.addToTimerQueue(l)
	k.listIdleLot(l)
}

// requeueBackoff doubles the lot's backoff, or resets it if the rule planned the lot at a site.
func (l *lot) requeueBackoff(now protocol.Time, rest time.Duration, planned string) {
	if planned != "" {
		l.failedCalls = 0
		return
	}
	l.backoffUntil = now.Add(min(rest<<min(l.failedCalls, 20), maxRequeueBackoff))
	l.failedCalls++
}

// listIdleLot lists a lot that wakeWaiting may call earlier.
func (k *Market) listIdleLot(l *lot) {
	if !l.listed {
		l.listed = true
		k.idleLots = append(k.idleLots, l)
	}
}

// wakeWaiting schedules lots that found no place for the end of their backoff at the latest,
// because something changed that may give them one: capacity became free, a site came back, an
// operator changed a drain or the policy.
func (k *Market) wakeWaiting(now protocol.Time) {
	k.idleLots = slices.DeleteFunc(k.idleLots, func(l *lot) bool {
		l.listed = l.state == called || l.state == waiting && l.failedCalls > 0
		return !l.listed
	})
	for _, l := range k.idleLots {
		if at := max(now.Add(k.cfg.Gather), l.backoffUntil).Ceil(k.cfg.Gather); l.state == waiting && at < l.due {
			l.due = at
			k.timers.addToTimerQueue(l)
		}
	}
}
