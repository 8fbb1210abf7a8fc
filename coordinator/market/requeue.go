package market

import (
	"cmp"
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
	l.state, l.due, l.heldBy, l.plannedAt = waiting, max(d.Until, now.Add(k.cfg.Gather)), d.HeldBy, d.Site
	l.noBids, l.byChoice = d.Why.Code == protocol.NoBids, d.Why.Code == protocol.CheaperLater
	l.requeueBackoff(now, k.cfg.Gather, d.Site)
	if d.HeldBy != (auction.Pool{}) {
		k.listIdleLot(l)
	}
	if d.Site == "" {
		k.listIdleLot(l)
		l.due = max(l.due, l.backoffUntil)
	}
	if l.whole != nil && l.whole.joint.apart > 0 {
		l.due = now.Add(k.cfg.Gather)
	}
	l.due = l.due.Ceil(k.cfg.Gather) // with the lots of the same gathering interval
	if k.plansFixed = k.plansFixed || d.Fixed; !d.Fixed {
		l.due = min(l.due, max(k.replan, now.Add(k.cfg.Gather)))
	}
	k.timers.addToTimerQueue(l)
}

// requeueDeclined requeues a lot with backoff after its site declined it. A site whose lease had
// expired already has its renege counted.
func (k *Market) requeueDeclined(now protocol.Time, l *lot) {
	if (l.state == awarded || l.state == accepted) && l.preempt == nil { // what it was asked for is no renege
		l.countRenege(l.site)
	}
	l.requeueBackoff(now, k.cfg.Gather, "")
	l.state, l.site, l.due = waiting, "", l.backoffUntil
	k.timers.addToTimerQueue(l)
	k.listIdleLot(l)
	k.preemptionOver(now, l)
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
// because something changed that may give them one: a site came back, an operator changed a drain
// or the policy. Lots that lack room anywhere are called too.
func (k *Market) wakeWaiting(now protocol.Time) {
	k.pruneIdleLots()
	for _, l := range k.idleLots {
		k.callSooner(now, l)
	}
}

// wakeForRoom is wakeWaiting for a run that ended: of the lots that would start where it ran, had
// they room, it calls as many as its GPUs are enough for, those of higher priority first, then
// those that arrived first. A lot of more GPUs is called no more often than its backoff allows.
func (k *Market) wakeForRoom(now protocol.Time, at auction.Pool, freed protocol.Milli) {
	k.pruneIdleLots()
	var held []*lot
	for _, l := range k.idleLots {
		switch {
		case l.failedCalls > 0:
			k.callSooner(now, l)
		case l.heldBy == at && l.state == waiting:
			held = append(held, l)
		}
	}
	slices.SortFunc(held, func(x, y *lot) int {
		return cmp.Or(cmp.Compare(y.job.Priority, x.job.Priority), cmp.Compare(x.job.Arrival, y.job.Arrival), cmp.Compare(x.job.ID, y.job.ID))
	})
	for _, l := range held {
		least := l.job.WithPodCount(l.job.LeastPods())
		size := least.TotalGPUMilli()
		switch {
		case size <= freed:
			freed -= size
			k.callSooner(now, l)
		case now >= l.backoffUntil && (l.job.GPUs > 1 || l.job.IsGang()): // the node may be free as a whole now
			l.backoffUntil = now.Add(maxRequeueBackoff)
			k.callSooner(now, l)
		}
	}
}

// pruneIdleLots drops lots from the list that a change cannot help.
func (k *Market) pruneIdleLots() {
	k.idleLots = slices.DeleteFunc(k.idleLots, func(l *lot) bool {
		l.listed = l.state == called || l.state == waiting && (l.failedCalls > 0 || l.heldBy != (auction.Pool{}))
		return !l.listed
	})
}

// callSooner makes a waiting lot due in the next gathering interval, after its backoff.
func (k *Market) callSooner(now protocol.Time, l *lot) {
	after := protocol.Time(0)
	if l.failedCalls > 0 {
		after = l.backoffUntil
	}
	if at := max(now.Add(k.cfg.Gather), after).Ceil(k.cfg.Gather); l.state == waiting && at < l.due {
		l.due = at
		k.timers.addToTimerQueue(l)
	}
}
