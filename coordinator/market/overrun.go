package market

import (
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

// Runs that outlast their plan, and budgets: docs/quotas.md, decision 0421; dearer.go has those that become dear. Such a run reserves an hour more at a
// time, at the rate of its bid. If a budget has no room for that, a run that can be paused is, and what is left of
// it waits; any other runs out.

// overrunGrace is how long after its planned end a run is looked at: its report may be on its way.
const overrunGrace = time.Minute

// plannedEnd returns when the run of an accepted lot ends, if it takes as long as its bid says.
func (l *lot) plannedEnd() protocol.Time {
	return max(l.option.Start, l.start) + l.option.Finish - l.option.Start
}

// reservedAs returns the option by which a run counts in budgets, and by how much more it may cost: as it was awarded,
// or, once it outlasts its plan, with all that it takes until an hour from now. One that is being paused takes no
// further hour.
func (l *lot) reservedAs(now protocol.Time) (protocol.BidOption, accounts.Amounts) {
	o, off, span := l.option, l.off, l.option.Finish-l.option.Start
	if l.state != accepted || span <= 0 || now < l.plannedEnd() {
		if l.state == accepted && l.isDearer() {
			o.Money, o.Carbon, off = max(o.Money, l.reckoned.toTake.Money), max(o.Carbon, l.reckoned.toTake.Carbon), accounts.Amounts{}
		}
		return o, off
	}
	o.Start = max(o.Start, l.start)
	if o.Finish = now.Add(time.Hour); l.preempt != nil {
		o.Finish = now
	}
	by := float64(o.Finish-o.Start) / float64(span)
	o.Energy, o.Carbon, o.Money = protocol.Millijoules(float64(o.Energy)*by), protocol.Milligrams(float64(o.Carbon)*by), protocol.Microdollars(float64(o.Money)*by)
	off.Money, off.Carbon = protocol.Microdollars(float64(off.Money)*by), protocol.Milligrams(float64(off.Carbon)*by)
	return o, off
}

// watchOverrun has the run of an accepted lot looked at by the hour and once it outlasts its plan, if budgets count it
// and it can be paused.
func (k *Market) watchOverrun(l *lot) {
	l.watched = l.whole == nil && l.job.Pause > 0 && len(k.quotaTree().BudgetedPathOf(l.submitted.Tenant)) > 0
	if l.watched {
		l.reckoned = reckoning{}
		k.lookAtNextHour(max(l.option.Start, l.start), l)
	}
}

// lookAtNextHour has a run looked at when the next hour has begun, at the latest when it outlasts its plan.
func (k *Market) lookAtNextHour(now protocol.Time, l *lot) {
	l.due = min(now.Floor(time.Hour).Add(time.Hour), l.plannedEnd()).Add(overrunGrace)
	k.timers.addToTimerQueue(l)
}

// pauseBeyondBudget asks the site of a run that outlasts its plan, or is dearer than its bid, to pause it, if a budget has
// no room for its next hour. Else the run is looked at again.
func (k *Market) pauseBeyondBudget(now protocol.Time, l *lot) (msgs []protocol.Message) {
	if now < l.plannedEnd().Add(overrunGrace) {
		k.lookAtNextHour(now, l)
		if k.reckon(now, l); !l.isDearer() {
			return nil
		}
	} else {
		l.due = now.Add(k.cfg.Replan)
		k.timers.addToTimerQueue(l)
	}
	claim := k.plannedUse(now, &round{}, nil).openClaim(k, &l.submitted)
	if claim == nil || len(claim.own) == 0 { // the policy has no quotas any more
		return nil
	}
	x := claim.quotas.budgets.exceededBy(claim.own[0].costs)
	if x == nil {
		return nil
	}
	l.preempt = &protocol.Preempt{Job: l.job.ID, Epoch: l.epoch, Why: x.reason("the run"), Until: now}
	m := k.requestPreempt(now, l)
	k.recordEvent(m)
	return append(msgs, m)
}
