package market

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

var reasonCancelled = protocol.Reason{Code: protocol.Cancelled}

// handleCancel ends a job that no site has accepted. For an accepted one it asks the site to stop;
// the job ends when the site reports so. Only the submitter, its tenant and the operator API may
// cancel.
func (k *Market) handleCancel(now protocol.Time, m protocol.Message, c protocol.Cancel) []protocol.Message {
	l := k.lots[c.Job]
	if l != nil {
		l = l.wholeOrSelf()
	}
	if l == nil || l.state == ended || l.cancelRequested || !l.mayCancel(m.From) {
		k.counts["cancel-of-nothing"]++
		return k.answerCancel(now, m, c, l != nil && l.cancelRequested && l.state != ended && l.mayCancel(m.From))
	}
	k.recordEvent(m)
	if l.state == divided {
		return append(k.cancelParts(now, l), k.answerCancel(now, m, c, true)...)
	}
	if l.state != accepted {
		return append(k.rejectLot(now, l, reasonCancelled), k.answerCancel(now, m, c, true)...)
	}
	l.cancelRequested = true
	return append(k.answerCancel(now, m, c, true), k.requestStop(now, l))
}

// mayCancel reports whether a party may cancel a lot.
func (l *lot) mayCancel(who protocol.Party) bool {
	tenant := who.TenantName()
	return who == l.from || who == protocol.OperatorAPI || tenant != "" && tenant == l.job.Tenant
}

// answerCancel answers a tenant whether a job of its own is being cancelled. The job of another is
// answered as one that is not there.
func (k *Market) answerCancel(now protocol.Time, m protocol.Message, c protocol.Cancel, cancelled bool) []protocol.Message {
	if m.From.TenantName() == "" {
		return nil
	}
	answer := protocol.Confirm{Job: c.Job, Code: protocol.JobClosed}
	if cancelled {
		answer.Code = protocol.Acknowledged
	}
	return []protocol.Message{k.sendAndRecord(now, m.From, answer)}
}

// stopRetryInterval is how long the market waits for a site to stop a job before it repeats the
// Cancel, which may have been lost.
const stopRetryInterval = 30 * time.Second

// requestStop returns the Cancel for a lot's current award, and schedules its repetition.
func (k *Market) requestStop(now protocol.Time, l *lot) protocol.Message {
	l.due = now.Add(stopRetryInterval)
	k.timers.addToTimerQueue(l)
	return k.sendAndRecord(now, protocol.AgentParty(l.site), protocol.Cancel{Job: l.job.ID, Epoch: l.epoch})
}

// handleDrain excludes a site from awards, or ends that; its running jobs go on. Only the operator
// API may ask.
func (k *Market) handleDrain(now protocol.Time, m protocol.Message, d protocol.Drain) {
	s := k.sites[d.Site]
	if s == nil || m.From != protocol.OperatorAPI {
		k.counts["drain-of-nothing"]++
		return
	}
	k.recordEvent(m)
	s.drained = !d.Over
	k.wakeWaiting(now)
}

// handleCondition stores that a site has become silent, is back, or is revoked, for the next leader
// and the ledger, and no longer waits for a site that cannot answer.
func (k *Market) handleCondition(now protocol.Time, m protocol.Message, c protocol.SiteCondition) {
	s := k.sites[c.Site]
	if s == nil || !m.IsPlausible() {
		k.counts["condition-of-nothing"]++
		return
	}
	k.recordEvent(m)
	s.heedCondition(now, c.State)
}
