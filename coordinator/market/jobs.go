package market

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

// handleSubmit takes in a job. The same job again is no news; another job with the
// same id is counted and not taken, and who submitted it is told.
func (k *Market) handleSubmit(now protocol.Time, m protocol.Message, s protocol.Submit) []protocol.Message {
	j := s.Job
	if isForeignSubmission(m.From, j) {
		k.counts["submit-of-stranger"]++
		return nil
	}
	k.forgetOldLots(now)
	if l, ok := k.lots[j.ID]; ok {
		return k.answerResubmission(now, m, l, s)
	}
	if site := m.From.SiteName(); site != "" && !k.takeWriteQuota(now, site, j.MaxWireSize()+len(s.Task)) {
		return nil
	}
	l := k.createLot(max(now, j.Arrival), m.From, s)
	k.recordEvent(m)
	why := protocol.Reason{Code: protocol.Malformed, Note: j.InvalidReason()}
	switch {
	case why.Note != "":
	case j.Arrival < now.Add(-k.cfg.Remember):
		why.Note = fmt.Sprintf("arrival: over %v ago, so that nobody remembers whether it was run; submit it as arriving now", k.cfg.Remember)
	case j.Arrival > now.Add(protocol.MaxRun):
		why.Note = "arrival: over 720h from now"
	default:
		k.timers.addToTimerQueue(l)
		return []protocol.Message{k.sendAndRecord(now, m.From, protocol.Confirm{Job: j.ID, Code: protocol.Acknowledged})}
	}
	return k.rejectLot(now, l, why)
}

// answerResubmission answers who submits an id that is known. A queue asks by that how its job
// stands, which it is told even if the job has been changed since.
func (k *Market) answerResubmission(now protocol.Time, m protocol.Message, l *lot, s protocol.Submit) (said []protocol.Message) {
	if l.isSameSubmission(s) {
		k.counts["submitted-twice"]++
	} else {
		k.counts["duplicate-id"]++
		why := protocol.Reason{Code: protocol.Duplicate, Note: "another job of this id was submitted before; give this one an id of its own"}
		said = append(said, k.sendAndRecord(now, m.From, protocol.Reject{Job: l.job.ID, Why: why}))
		if m.From.SiteName() == "" {
			return said
		}
	}
	answer := protocol.Confirm{Job: l.job.ID, Code: protocol.Acknowledged}
	if l.state == ended {
		answer.Code = protocol.JobClosed
	}
	if l.isFromQueue() && l.lastStatus.Job != "" { // first: that it is closed says not how it ended
		said = append(said, k.sendAndRecord(now, m.From, l.lastStatus))
	}
	return append(said, k.sendAndRecord(now, m.From, answer))
}

// createLot puts a job on the books. It is not called before it arrives, should its
// submitter's clock be fast.
func (k *Market) createLot(at protocol.Time, from protocol.Party, s protocol.Submit) *lot {
	due := at
	if !k.cfg.atOnce {
		due = at.Floor(k.cfg.Gather).Add(k.cfg.Gather)
	}
	l := &lot{job: s.Job, submitted: s.Job, task: s.Task, from: from, due: due}
	k.lots[s.Job.ID] = l
	return l
}

func (k *Market) rejectLot(now protocol.Time, l *lot, why protocol.Reason) []protocol.Message {
	k.endLot(now, l)
	k.recordStatus(l, protocol.JobStatus{State: protocol.JobClosed, Why: why})
	return []protocol.Message{k.sendAndRecord(now, l.from, protocol.Reject{Job: l.job.ID, Why: why})}
}

// isSameSubmission reports whether s submits the lot again.
func (l *lot) isSameSubmission(s protocol.Submit) bool {
	if l.submissionDigest != 0 {
		return l.submissionDigest == s.Digest()
	}
	return reflect.DeepEqual(l.submitted, s.Job) && l.task == s.Task
}

// MaxWholeEndedJobs is how many ended jobs are kept whole; of older ones only the id is.
const MaxWholeEndedJobs = 10_000

// endLot closes a lot, and forgets those that ended long ago.
func (k *Market) endLot(now protocol.Time, l *lot) {
	l.state = ended
	k.endedLots = append(k.endedLots, endedLot{now, l.job.ID})
	if i := len(k.endedLots) - 1 - MaxWholeEndedJobs; i >= 0 {
		if l := k.lots[k.endedLots[i].id]; l.submissionDigest == 0 {
			*l = lot{job: protocol.Job{ID: l.job.ID}, state: ended, epoch: l.epoch, submissionDigest: protocol.Submit{Job: l.submitted, Task: l.task}.Digest()}
		}
	}
	k.forgetOldLots(now)
}

// forgetOldLots forgets the lots that ended long ago: a job that old is not taken again, so
// nothing runs twice for that. Its id may be: sites remember the epochs of it, so those
// of the next job of that name are higher.
func (k *Market) forgetOldLots(now protocol.Time) {
	if len(k.endedLots) > 0 && k.endedLots[0].at > now { // by the clock of a coordinator that was ahead: see anew
		for i := range k.endedLots {
			k.endedLots[i].at = min(k.endedLots[i].at, now)
		}
	}
	for len(k.endedLots) > 0 && k.endedLots[0].at < now.Add(-k.cfg.Remember) {
		k.maxForgottenEpoch = max(k.maxForgottenEpoch, k.lots[k.endedLots[0].id].epoch)
		delete(k.lots, k.endedLots[0].id)
		k.endedLots = k.endedLots[1:]
	}
}

// handleRegistration takes in what a site is. A site that says it again, after a restart,
// replaces what it said before.
func (k *Market) handleRegistration(now protocol.Time, m protocol.Message, h protocol.RegisterSite) []protocol.Message {
	if h.Site == "" || m.From != protocol.AgentParty(h.Site) {
		k.counts["hello-of-stranger"]++
		return nil
	}
	if s := k.sites[h.Site]; s == nil || !slices.Equal(s.registration.Pools, h.Pools) {
		if !k.takeWriteQuota(now, h.Site, registrationBytes(h)) {
			return nil
		}
		k.recordEvent(m)
		k.recordSite(h)
	}
	k.wakeWaiting(now)
	return append([]protocol.Message{k.sendAndRecord(now, m.From, protocol.Confirm{Code: protocol.Acknowledged})}, k.cancelOrphanedRuns(now, h.Site)...)
}

func (k *Market) recordSite(h protocol.RegisterSite) {
	s := k.sites[h.Site]
	if s == nil {
		s = &site{}
		k.sites[h.Site] = s
	}
	s.registration = h
}

// handleAccept takes in that a site keeps a job. It stands after the lease too, as
// long as the job has not been sold again; the site waits to be told so before it
// starts it. So a site that is told nothing has started nothing.
func (k *Market) handleAccept(now protocol.Time, m protocol.Message, a protocol.Accept) []protocol.Message {
	answer := protocol.Confirm{Job: a.Job, Epoch: a.Epoch, Code: protocol.AwardVoid}
	var told []protocol.Message
	switch l := k.lotAwardedTo(m.From, a.Job, a.Epoch); {
	case l == nil || l.state == ended:
		k.counts["accept-of-nothing"]++
	case l.state == accepted:
		k.counts["accept-of-nothing"]++
		answer.Code = protocol.AcceptConfirmed
	default:
		l.acceptedBy()
		l.state, l.failedCalls = accepted, 0
		k.recordEvent(m)
		answer.Code = protocol.AcceptConfirmed
		told = k.reportStatus(now, l, l.placedStatus(a.Start))
	}
	return append([]protocol.Message{k.sendAndRecord(now, m.From, answer)}, told...)
}

// handleDecline puts the job into the next round: a bid is a price, not a place.
func (k *Market) handleDecline(now protocol.Time, m protocol.Message, d protocol.Decline) []protocol.Message {
	said := []protocol.Message{k.sendAndRecord(now, m.From, protocol.Confirm{Job: d.Job, Epoch: d.Epoch, Code: protocol.AwardVoid})}
	l := k.lotAwardedTo(m.From, d.Job, d.Epoch)
	switch {
	case k.clearOrphanedRun(m.From, d.Job, d.Epoch):
		k.recordEvent(m)
		return said
	case l == nil || l.state == ended:
		k.counts["decline-of-nothing"]++
		return said
	case l.state == called: // its lease had ended, and it is on sale already
		k.recordEvent(m)
		l.site = ""
		return said
	}
	k.recordEvent(m)
	k.wakeWaiting(now)
	k.counts["declined"]++
	if l.cancelRequested {
		return append(said, k.rejectLot(now, l, reasonCancelled)...)
	}
	k.requeueDeclined(now, l)
	return append(said, k.reportStatus(now, l, protocol.JobStatus{State: protocol.Waiting, Site: m.From.SiteName(), Why: d.Why})...)
}

func (k *Market) requeueLot(now protocol.Time, l *lot) {
	l.state, l.site, l.due = waiting, "", now.Add(k.cfg.Gather)
	k.timers.addToTimerQueue(l)
}

func (k *Market) lotAwardedTo(from protocol.Party, id protocol.JobID, epoch uint64) *lot {
	l := k.lots[id]
	if l == nil || l.site == "" || from != protocol.AgentParty(l.site) || epoch != l.epoch {
		return nil
	}
	return l
}

// maxReportAhead is how far ahead a clock may be for its word to be waited for.
const maxReportAhead = 24 * time.Hour

// closeUnpaid ends a job whose report cannot be true. It has run, so it is not sold
// again; the report is answered, or it would be said for ever; nothing is paid.
func (k *Market) closeUnpaid(now protocol.Time, m protocol.Message, l *lot, closed protocol.Confirm) []protocol.Message {
	k.counts[string(protocol.ImpossibleBid)]++
	k.recordEvent(m)
	k.wakeWaiting(now)
	why := protocol.Reason{Code: protocol.ImpossibleBid, Note: fmt.Sprintf("what %s reports of its run cannot be; nothing is paid", l.site)}
	return append(k.rejectLot(now, l, why), k.sendAndRecord(now, m.From, closed))
}

// handleUsageReport settles a job: what was measured is held against what was bid.
//
// A report of a job that is not the site's, or no longer, is answered too: the
// site would say it again for ever. One that is the site's by an award whose
// Accept was not heard counts as that as well.
func (k *Market) handleUsageReport(now protocol.Time, m protocol.Message, d protocol.UsageReport) []protocol.Message {
	closed := protocol.Confirm{Job: d.Job, Epoch: d.Epoch, Code: protocol.JobClosed}
	l := k.lotAwardedTo(m.From, d.Job, d.Epoch)
	if l == nil || l.state != accepted {
		if k.clearOrphanedRun(m.From, d.Job, d.Epoch) {
			k.recordEvent(m)
		}
		k.counts["done-of-nothing"]++
		return []protocol.Message{k.sendAndRecord(now, m.From, closed)}
	}
	if d.Ended > now && d.Ended < now.Add(maxReportAhead) { // its clock is ahead: it says so again when that has come
		k.counts[string(protocol.ImpossibleBid)]++
		return nil
	}
	if !m.IsPlausible() || d.Ended > now || d.Left < 0 || d.Left > l.job.Run || d.Left > 0 && l.pause == 0 {
		return k.closeUnpaid(now, m, l, closed)
	}
	k.recordEvent(m)
	k.wakeWaiting(now)
	bid := l.bidForPart(d.Left)
	measured := protocol.Usage{IT: d.IT, Energy: d.Energy, Carbon: d.Carbon, Money: d.Money, Finish: d.Ended}
	paid := accounts.SettlementAmount(bid, measured, k.cfg.Pay)
	if !k.ledger.Transfer(accounts.TenantAccount(l.job.Tenant), accounts.SiteAccount(l.site), paid) {
		k.counts["over-account-limit"]++
		paid = 0
	}
	k.trust.ObserveJob(l.site, bid, measured)
	said := []protocol.Message{k.sendAndRecord(now, "", protocol.Settlement{
		Job: d.Job, Site: l.site, Payer: l.job.Tenant, Paid: paid,
		BidFor: bid, Counted: measured, Late: d.Left == 0 && d.Ended > l.job.Deadline, Estimated: d.Estimated, Part: d.Left > 0,
	})}
	if d.Left == 0 {
		k.endLot(now, l)
		return append(said, k.reportStatus(now, l, l.closedStatus(d))...)
	}
	site := l.site
	if k.requeueRemainder(now, l, d.Left); l.cancelRequested {
		return append(said, k.rejectLot(now, l, reasonCancelled)...)
	}
	return append(said, k.reportStatus(now, l, protocol.JobStatus{State: protocol.Waiting, Site: site})...)
}

// bidForPart returns what was bid for the part of a run that leaves so much of it.
func (l *lot) bidForPart(left time.Duration) protocol.Usage {
	part := 1.0
	if left > 0 { // a job that does not say how long it runs is not paused
		part -= float64(left) / float64(l.job.Run)
	}
	return protocol.Usage{
		Energy: protocol.Millijoules(float64(l.option.Energy) * part), Carbon: protocol.Milligrams(float64(l.option.Carbon) * part),
		Money: protocol.Microdollars(float64(l.option.Money) * part), Finish: l.option.Finish,
	}
}

// requeueRemainder puts what is left of a paused job on sale. Its checkpoint lies at the site
// that ran it, which need not move it.
func (k *Market) requeueRemainder(now protocol.Time, l *lot, left time.Duration) {
	l.job, l.reneges = l.submitted.RemainderAfterPause(l.site, left), nil
	k.requeueLot(now, l)
}
