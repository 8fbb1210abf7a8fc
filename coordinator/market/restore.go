package market

import (
	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

// Events returns the events of the last Step or Tick in order: the received and sent messages that
// the market's state depends on. The caller must not change them, and must persist them before it
// sends any message of that step.
func (k *Market) Events() []protocol.Message { return k.events }

// recordEvent adds an event to those of the current step.
func (k *Market) recordEvent(m protocol.Message) { k.events = append(k.events, m) }

// BeginIncarnation sets the number that tells this process's messages from those of earlier ones:
// see protocol.Sender.
func (k *Market) BeginIncarnation(incarnation uint32) { k.sender.Incarnation = incarnation }

// Restore applies one event to a market that has not taken a step yet. After all events in order
// the market has the state of the one that recorded them; it decides nothing anew. A job that was
// called but not decided waits and is called in the next round; the rule plans anew in a full
// round.
func (k *Market) Restore(m protocol.Message) {
	switch m.From {
	case protocol.Coordinator:
		k.last = max(k.last, m.At)
	case protocol.SnapshotSource:
	default:
		k.dedup.AdmitOnce(m) // a retransmission of it is a duplicate
	}
	k.services.Restore(m)
	switch b := m.Body.(type) {
	case protocol.Submit:
		if l := k.knownLot(b.Job.ID); l != nil && l.state == ended { // the former lot was forgotten, or this Submit were no event
			k.forgetLot(b.Job.ID)
		}
		if b.Job.Priority == 0 && b.Job.PriorityClass != "" { // as sent, and not as stored: an input log names messages
			b.Job, _ = k.withClass(b.Job)
		}
		if k.lots[b.Job.ID] == nil {
			against := b.Job.InvalidReason() != "" || k.reasonAgainstParts(m.From, &b.Job) != ""
			if l := k.createLot(b.Job.Arrival, m.From, b); against {
				k.timers.addToTimerQueue(l) // its rejection follows
			} else {
				k.queueLot(l)
			}
		}
	case protocol.RegisterSite:
		k.recordSite(b)
	case protocol.Drain:
		if s := k.sites[b.Site]; s != nil {
			s.drained = !b.Over
		}
	case protocol.SiteCondition:
		if s := k.sites[b.Site]; s != nil {
			s.heedCondition(m.At, b.State)
		}
	case protocol.Policy:
		k.replacePolicy(b)
		k.budgets.SetLimits(m.At, b)
	case protocol.Snapshot:
		k.restoreSnapshot(b)
	case protocol.DecommissionSite:
		for _, l := range k.takeJobsFromSite(m.At, b.Site) {
			k.recordStatus(l, decommissionedStatus(b))
		}
	case protocol.Settlement:
		k.ledger.Transfer(accounts.TenantAccount(b.Payer), accounts.SiteAccount(b.Site), b.Paid)
		k.trust.ObserveJob(b.Site, b.BidFor, b.Counted)
		for _, c := range b.Charges {
			k.budgets.Charge(c)
		}
		if l := k.lots[b.Job]; l != nil && l.state != ended && !b.Part {
			k.endLot(m.At, l)
			if l.whole != nil {
				k.callRestingParts(m.At, l.whole)
			}
		}
	case protocol.ServiceSettlement:
		k.applyServiceSettlement(b)
	case protocol.PartsDecided:
		k.restorePartsDecided(m.At, b)
	case protocol.Reject:
		if l := k.lots[b.Job]; l != nil && l.state != ended && b.Why.Code != protocol.Duplicate {
			k.endParts(m.At, l)
			k.endLot(m.At, l)
			k.recordStatus(l, protocol.JobStatus{State: protocol.JobClosed, Why: b.Why})
			if l.whole != nil {
				k.callRestingParts(m.At, l.whole)
			}
		}
	case protocol.Award:
		k.restoreAward(m.To.SiteName(), b)
	case protocol.Preempt:
		if b.Why.Code == protocol.NotStarted {
			k.trust.ObserveMissedStart(m.To.SiteName())
		}
		if l := k.lots[b.Job]; l != nil && l.state == accepted && l.epoch == b.Epoch {
			l.preempt, l.due = &b, m.At
			k.timers.addToTimerQueue(l)
		}
		if l := k.lots[b.For]; l != nil {
			l.preemptAfter = max(l.preemptAfter, b.Until)
			if v := k.lots[b.Job]; v != nil && v.option.Model != "" {
				l.roomOn = v.option.Model
			}
		}
	case protocol.Defer:
		k.restoreRoundCount(b.Round)
		if l := k.lots[b.Job]; l != nil {
			l.leaseExpired()
			l.roundDecided()
			l.state, l.due, l.noBids, l.byChoice = waiting, b.Until, b.Why.Code == protocol.NoBids, b.Why.Code == protocol.CheaperLater
			if l.requeueBackoff(m.At, k.cfg.Gather, b.Site); l.failedCalls > 0 {
				k.listIdleLot(l)
			}
			k.timers.addToTimerQueue(l)
		}
	default:
		k.restoreAnswer(m)
	}
}

// restoreAward restores an award to a site.
func (k *Market) restoreAward(site string, b protocol.Award) {
	k.restoreRoundCount(b.Round)
	if l := k.lots[b.Job]; l != nil {
		l.leaseExpired()
		l.roundDecided()
		l.state, l.site, l.option, l.epoch, l.due = awarded, site, b.Option, b.Epoch, b.Lease
		l.why, l.lease, l.pause, l.places = b.Why, b.Lease, b.Pause, l.placesToKeep(b.Places)
		l.off = accounts.Amounts{Money: b.PaidOff, Carbon: b.CarbonOff}
		if l.whole != nil {
			k.partAwarded(l, b.Epoch, b.Lease)
		} else {
			k.timers.addToTimerQueue(l)
		}
	}
}

// restoreAnswer restores what a site reported about an awarded job. A site's message carries the
// time of the site's clock, which may be ahead of ours. So a due time never moves past the one
// that follows from the coordinator's own messages.
func (k *Market) restoreAnswer(m protocol.Message) {
	switch b := m.Body.(type) {
	case protocol.UsageReport:
		k.clearOrphanedRun(m.From, b.Job, b.Epoch)
	case protocol.Preempted:
		k.clearOrphanedRun(m.From, b.Job, b.Epoch)
	case protocol.Decline:
		k.clearOrphanedRun(m.From, b.Job, b.Epoch)
	}
	switch b := m.Body.(type) {
	case protocol.Accept:
		if l := k.lotAwardedTo(m.From, b.Job, b.Epoch); l != nil && l.whole != nil {
			l.prepared, l.start = true, b.Start
		} else if l != nil {
			l.acceptedBy()
			l.state, l.failedCalls, l.start = accepted, 0, b.Start
			k.watchOverrun(l)
			k.recordStatus(l, l.placedStatus(b.Start))
		}
	case protocol.Started:
		if l := k.lotAwardedTo(m.From, b.Job, b.Epoch); l != nil {
			l.started, l.start = b.Epoch, min(m.At, max(k.last, l.start))
			l.partStarted()
		}
	case protocol.UsageReport:
		if l := k.lotAwardedTo(m.From, b.Job, b.Epoch); l != nil {
			if k.preemptionOver(b.Ended, l); b.Left > 0 && l.pause != 0 {
				k.requeueRemainder(b.Ended, l, b.Left)
			} else {
				k.recordStatus(l, l.closedStatus(b))
			}
		}
	case protocol.Preempted:
		if l := k.lotAwardedTo(m.From, b.Job, b.Epoch); l != nil && l.state == accepted {
			at := min(m.At, k.last)
			if k.requeuePreempted(at, l, b); l.whole != nil {
				k.restoreLost(at, l)
			}
			k.recordStatus(l, protocol.JobStatus{State: protocol.Waiting, Site: m.From.SiteName(), Why: b.Why})
		}
	case protocol.Decline:
		if l := k.lotAwardedTo(m.From, b.Job, b.Epoch); l != nil && l.whole != nil {
			k.partDeclined(min(m.At, k.last), l)
			k.restoreLost(min(m.At, k.last), l)
		} else if l != nil {
			k.requeueDeclined(min(m.At, l.due), l)
			k.recordStatus(l, protocol.JobStatus{State: protocol.Waiting, Site: m.From.SiteName(), Why: b.Why})
		}
	case protocol.Cancel:
		if l := k.lots[b.Job]; l != nil && l.wholeOrSelf().state == divided && m.From != protocol.Coordinator {
			k.partsCancelled(min(m.At, k.last), l.wholeOrSelf())
		} else if l != nil && l.state == accepted {
			l.cancelRequested, l.due = true, min(m.At, l.due)
			k.timers.addToTimerQueue(l)
		}
	}
}

// restoreRoundCount restores the number of rounds. The events do not tell which epochs were
// forgotten, but none was above the number of rounds, so that is the bound.
func (k *Market) restoreRoundCount(rounds uint64) {
	k.rounds = max(k.rounds, rounds)
	k.maxForgottenEpoch = k.rounds
}

// restoreSnapshot restores the state that a snapshot holds instead of compacted events.
func (k *Market) restoreSnapshot(b protocol.Snapshot) {
	k.restoreRoundCount(b.Rounds)
	for _, a := range b.Accounts {
		k.ledger.RestoreBalance(accounts.Account(a.Account), a.Amount)
	}
	for _, h := range b.Received {
		k.dedup.AdmitOnce(protocol.Message{From: h.From, Seq: h.Seq})
	}
	for _, c := range b.Charges {
		k.budgets.Charge(c)
	}
	k.orphanedRuns = append(k.orphanedRuns, b.Strays...)
	for _, p := range b.Ended {
		if k.knownLot(p.Job) != nil { // the id was reused, as above
			k.forgetLot(p.Job)
		}
		k.endedJobs[p.Job] = endedJob{digest: p.Digest}
		k.endedLots = append(k.endedLots, endedLot{p.At, p.Job})
	}
}
