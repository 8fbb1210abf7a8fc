package market

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A lot that is called in vain, so that not even the rule's plan has a place for
// it, or the site that won it declines, rests before it is called again: at first
// for as long as the market gathers jobs, since sites offer other room when theirs
// was taken; then for twice as long each time, and for longest at most. So a cluster
// that is full, or a site that offers what it has not, costs few rounds.
const maxRequeueBackoff = 2 * time.Minute

// deferLot has a lot wait: for its place in the plan, or until it could start. If the
// rule knows no time for that but now, it is called when it has rested; and when
// something changes before its time has come: see stir.
func (k *Market) deferLot(now protocol.Time, l *lot, d auction.Decision) {
	l.state, l.due = waiting, max(d.Until, now.Add(k.cfg.Gather))
	l.requeueBackoff(now, k.cfg.Gather, d.Site)
	if d.Site == "" {
		k.listIdleLot(l)
		l.due = max(l.due, l.backoffUntil)
	}
	l.due = min(l.due.Ceil(k.cfg.Gather), max(k.replan, now.Add(k.cfg.Gather))) // with others
	k.timers.addToTimerQueue(l)
}

// requeueDeclined has a lot rest that its site declined after it had offered for it. One that
// the site let run out was counted then.
func (k *Market) requeueDeclined(now protocol.Time, l *lot) {
	if l.state == awarded || l.state == accepted {
		l.countRenege(l.site)
	}
	l.requeueBackoff(now, k.cfg.Gather, "")
	l.state, l.site, l.due = waiting, "", l.backoffUntil
	k.timers.addToTimerQueue(l)
	k.listIdleLot(l)
}

// requeueBackoff counts how often a lot was called in vain: planned at no site.
func (l *lot) requeueBackoff(now protocol.Time, rest time.Duration, planned string) {
	if planned != "" {
		l.failedCalls = 0
		return
	}
	l.backoffUntil = now.Add(min(rest<<min(l.failedCalls, 20), maxRequeueBackoff))
	l.failedCalls++
}

// listIdleLot notes a lot that is called earlier if something changes.
func (k *Market) listIdleLot(l *lot) {
	if !l.listed {
		l.listed = true
		k.idleLots = append(k.idleLots, l)
	}
}

// wakeWaiting has lots that were called in vain called as soon as they have rested,
// because something changed by which they may find a place: room came free, a
// site is back, an operator wants otherwise.
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
