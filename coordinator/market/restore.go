package market

import (
	"slices"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

// Events returns what changed the books in the last Step or Tick: what was heard
// and what was said, in order. The caller must not change it, and must write it
// down before it sends what that step said.
func (k *Market) Events() []protocol.Message { return k.events }

func (k *Market) recordEvent(m protocol.Message) { k.events = append(k.events, m) }

// BeginIncarnation begins a life of a market, the life-th of its books: see protocol.Sender.
func (k *Market) BeginIncarnation(life uint32) { k.sender.Incarnation = life }

// Restore puts a fact back on the books of a market that has not lived yet. With
// all facts of the last life, in order, the market stands where that one stood:
// it decides nothing again. A job that was called and not decided waits, and is
// called again; the rule makes its plans anew in a full round.
func (k *Market) Restore(m protocol.Message) {
	switch m.From {
	case protocol.Coordinator:
		k.last = max(k.last, m.At)
	case protocol.SnapshotSource:
	default:
		k.dedup.AdmitOnce(m) // what was heard before is not to be heard again
	}
	switch b := m.Body.(type) {
	case protocol.Submit:
		if l := k.lots[b.Job.ID]; l != nil && l.state == ended { // it was forgotten, or this were no fact
			k.forgetLot(b.Job.ID)
		}
		if k.lots[b.Job.ID] == nil {
			k.timers.addToTimerQueue(k.createLot(b.Job.Arrival, m.From, b))
		}
	case protocol.RegisterSite:
		k.recordSite(b)
	case protocol.Drain:
		if s := k.sites[b.Site]; s != nil {
			s.drained = !b.Over
		}
	case protocol.Policy:
		k.policy = b
	case protocol.Snapshot:
		k.restoreSnapshot(b)
	case protocol.DecommissionSite:
		for _, l := range k.takeJobsFromSite(m.At, b.Site) {
			k.recordStatus(l, decommissionedStatus(b))
		}
	case protocol.Settlement:
		k.ledger.Transfer(accounts.TenantAccount(b.Payer), accounts.SiteAccount(b.Site), b.Paid)
		k.trust.ObserveJob(b.Site, b.BidFor, b.Counted)
		if l := k.lots[b.Job]; l != nil && l.state != ended && !b.Part {
			k.endLot(m.At, l)
		}
	case protocol.Reject:
		if l := k.lots[b.Job]; l != nil && l.state != ended && b.Why.Code != protocol.Duplicate {
			k.endLot(m.At, l)
			k.recordStatus(l, protocol.JobStatus{State: protocol.JobClosed, Why: b.Why})
		}
	case protocol.Award:
		k.restoreRoundCount(b.Round)
		if l := k.lots[b.Job]; l != nil {
			l.leaseExpired()
			l.roundDecided()
			l.state, l.site, l.option, l.epoch, l.due = awarded, m.To.SiteName(), b.Option, b.Epoch, b.Lease
			l.why, l.lease, l.pause = b.Why, b.Lease, b.Pause
			k.timers.addToTimerQueue(l)
		}
	case protocol.Defer:
		k.restoreRoundCount(b.Round)
		if l := k.lots[b.Job]; l != nil {
			l.leaseExpired()
			l.roundDecided()
			l.state, l.due = waiting, b.Until
			if l.requeueBackoff(m.At, k.cfg.Gather, b.Site); l.failedCalls > 0 {
				k.listIdleLot(l)
			}
			k.timers.addToTimerQueue(l)
		}
	default:
		k.restoreAnswer(m)
	}
}

// restoreAnswer puts back what was heard of a job that was awarded. It bears the
// time of whose clock it was said by, which may be ahead: so nothing is due later
// than by times of our own.
func (k *Market) restoreAnswer(m protocol.Message) {
	switch b := m.Body.(type) {
	case protocol.UsageReport:
		k.clearOrphanedRun(m.From, b.Job, b.Epoch)
	case protocol.Decline:
		k.clearOrphanedRun(m.From, b.Job, b.Epoch)
	}
	switch b := m.Body.(type) {
	case protocol.Accept:
		if l := k.lotAwardedTo(m.From, b.Job, b.Epoch); l != nil {
			l.acceptedBy()
			l.state, l.failedCalls = accepted, 0
			k.recordStatus(l, l.placedStatus(b.Start))
		}
	case protocol.UsageReport:
		if l := k.lotAwardedTo(m.From, b.Job, b.Epoch); l != nil && b.Left > 0 && l.pause != 0 {
			k.requeueRemainder(b.Ended, l, b.Left)
		} else if l != nil {
			k.recordStatus(l, l.closedStatus(b))
		}
	case protocol.Decline:
		if l := k.lotAwardedTo(m.From, b.Job, b.Epoch); l != nil {
			k.requeueDeclined(min(m.At, l.due), l)
			k.recordStatus(l, protocol.JobStatus{State: protocol.Waiting, Site: m.From.SiteName(), Why: b.Why})
		}
	case protocol.Cancel:
		if l := k.lots[b.Job]; l != nil && l.state == accepted {
			l.cancelRequested, l.due = true, min(m.At, l.due)
			k.timers.addToTimerQueue(l)
		}
	}
}

// forgetLot takes an ended job off the books, under whose id there was another later.
func (k *Market) forgetLot(id protocol.JobID) {
	k.endedLots = slices.DeleteFunc(k.endedLots, func(g endedLot) bool { return g.id == id })
	delete(k.lots, id)
}

// restoreRoundCount puts back how many rounds there were. Which epochs were forgotten is not on
// the books; none was above that.
func (k *Market) restoreRoundCount(rounds uint64) {
	k.rounds = max(k.rounds, rounds)
	k.maxForgottenEpoch = k.rounds
}

// restoreSnapshot puts back what remains of facts that were left out.
func (k *Market) restoreSnapshot(b protocol.Snapshot) {
	k.restoreRoundCount(b.Rounds)
	for _, a := range b.Accounts {
		k.ledger.RestoreBalance(accounts.Account(a.Account), a.Amount)
	}
	for _, h := range b.Received {
		k.dedup.AdmitOnce(protocol.Message{From: h.From, Seq: h.Seq})
	}
	k.orphanedRuns = append(k.orphanedRuns, b.Strays...)
	for _, p := range b.Ended {
		if k.lots[p.Job] != nil { // likewise
			k.forgetLot(p.Job)
		}
		k.lots[p.Job] = &lot{job: protocol.Job{ID: p.Job}, state: ended, submissionDigest: p.Digest}
		k.endedLots = append(k.endedLots, endedLot{p.At, p.Job})
	}
}
