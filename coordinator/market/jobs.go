package market

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// handleSubmit takes in a job. An identical resubmission only gets the answer; another job with a
// known id is counted and rejected. A job that is malformed, too old or too far ahead becomes an
// ended lot, so that its rejection is durable and its id stays taken.
func (k *Market) handleSubmit(now protocol.Time, m protocol.Message, s protocol.Submit) []protocol.Message {
	j := s.Job
	if m.From.WhyForeign(j) != "" {
		k.counts["submit-of-stranger"]++
		return nil
	}
	k.forgetOldLots(now)
	if l := k.knownLot(j.ID); l != nil {
		return k.answerResubmission(now, m, l, s)
	}
	if isToldStatus(m.From) && !k.takeWriteQuota(now, cmp.Or(m.From.SiteName(), string(m.From)), j.MaxWireSize()+len(s.Task)) {
		return nil
	}
	why := protocol.Reason{Code: protocol.Malformed, Note: j.InvalidReason()}
	if why.Note == "" {
		s.Job, why.Note = k.withClass(j)
	}
	if why.Note == "" {
		why.Note = k.reasonAgainstParts(m.From, &s.Job)
	}
	l := k.createLot(max(now, j.Arrival), m.From, s)
	m.Body, m.Signature = s, nil // with the class that the market found, it is not what was signed
	k.recordEvent(m)
	switch {
	case why.Note != "":
	case j.Arrival < now.Add(-k.cfg.Remember):
		why.Note = fmt.Sprintf("arrival: over %v ago, so that nobody remembers whether it was run; submit it as arriving now", k.cfg.Remember)
	case j.Arrival > now.Add(protocol.MaxRun):
		why.Note = "arrival: over 720h from now"
	default:
		k.queueLot(l)
		return []protocol.Message{k.sendAndRecord(now, m.From, protocol.Confirm{Job: j.ID, Code: protocol.Acknowledged})}
	}
	return k.rejectLot(now, l, why)
}

// answerResubmission answers the submission of a known id. A site's queue and a tenant resubmit to
// learn the job's status, so they get it even if the job was changed since.
func (k *Market) answerResubmission(now protocol.Time, m protocol.Message, l *lot, s protocol.Submit) (msgs []protocol.Message) {
	if l.isSameSubmission(s) || m.From.TenantName() != "" && l.isSameSubmission(l.asIfThen(s)) {
		k.counts["submitted-twice"]++
	} else {
		k.counts["duplicate-id"]++
		why := protocol.Reason{Code: protocol.Duplicate, Note: "another job of this id was submitted before; give this one an id of its own"}
		msgs = append(msgs, k.sendAndRecord(now, m.From, protocol.Reject{Job: l.job.ID, Why: why}))
		if !isToldStatus(m.From) {
			return msgs
		}
	}
	answer := protocol.Confirm{Job: l.job.ID, Code: protocol.Acknowledged}
	if l.state == ended {
		answer.Code = protocol.JobClosed
	}
	if l.isToldStatus() && l.lastStatus.Job != "" { // before the Confirm, which does not say how the job ended
		msgs = append(msgs, k.sendAndRecord(now, m.From, l.lastStatus))
	}
	return append(msgs, k.sendAndRecord(now, m.From, answer))
}

// createLot adds a job to the market and returns its lot, which is due at the end of the gathering
// interval. It is not called before it arrives, even if its submitter's clock is fast.
func (k *Market) createLot(at protocol.Time, from protocol.Party, s protocol.Submit) *lot {
	due := at
	if !k.cfg.atOnce {
		due = at.Floor(k.cfg.Gather).Add(k.cfg.Gather)
	}
	l := &lot{job: s.Job, submitted: s.Job, task: s.Task, from: from, due: due, alone: s.Alone && from.SiteName() != ""}
	k.lots[s.Job.ID] = l
	return l
}

// rejectLot ends a lot without an award, and returns the Reject for its submitter.
func (k *Market) rejectLot(now protocol.Time, l *lot, why protocol.Reason) []protocol.Message {
	k.endParts(now, l)
	k.endLot(now, l)
	k.recordStatus(l, protocol.JobStatus{State: protocol.JobClosed, Why: why})
	return []protocol.Message{k.sendAndRecord(now, l.from, protocol.Reject{Job: l.job.ID, Why: why})}
}

// isSameSubmission reports whether s is the submission that created the lot. Of old lots only the
// digest is kept.
func (l *lot) isSameSubmission(s protocol.Submit) bool {
	if l.submissionDigest != 0 {
		return l.submissionDigest == s.Digest()
	}
	if c := s.Job.PriorityClass; c != "" && c != l.submitted.PriorityClass {
		return false
	}
	// A job that names no class may have got the default one.
	return reflect.DeepEqual(l.submitted.WithoutClass(), s.Job.WithoutClass()) && l.task == s.Task
}

// handleRegistration records a site's GPU pools. A site registers at every start; a registration
// with other pools replaces the former one. The answer repeats the Cancels of its orphaned runs.
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
	k.sites[h.Site].registeredAfter = k.rounds
	k.wakeWaiting(now)
	return append([]protocol.Message{k.sendAndRecord(now, m.From, protocol.Confirm{Code: protocol.Acknowledged})}, k.cancelOrphanedRuns(now, h.Site)...)
}

// recordSite stores a registration; what else the market knows about the site stays.
func (k *Market) recordSite(h protocol.RegisterSite) {
	s := k.sites[h.Site]
	if s == nil {
		s = &site{}
		k.sites[h.Site] = s
		at, _ := slices.BinarySearch(k.siteNames, h.Site)
		k.siteNames = slices.Insert(slices.Clone(k.siteNames), at, h.Site)
	}
	s.registration = h
}

// handleAccept records that a site keeps a job. An Accept counts after the lease too, as long as
// the job has no newer award. The site starts the job only after the Confirm (decision 0020): a site
// that gets no Confirm has started nothing.
func (k *Market) handleAccept(now protocol.Time, m protocol.Message, a protocol.Accept) []protocol.Message {
	answer := protocol.Confirm{Job: a.Job, Epoch: a.Epoch, Code: protocol.AwardVoid}
	var status []protocol.Message
	switch l := k.lotAwardedTo(m.From, a.Job, a.Epoch); {
	case l == nil || l.state == ended:
		k.counts["accept-of-nothing"]++
	case l.state == accepted:
		k.counts["accept-of-nothing"]++
		if l.whole == nil || l.preempt == nil { // a part that is being stopped need not begin
			answer.Code = protocol.AcceptConfirmed
		}
	case l.whole != nil:
		return k.handlePartAccept(now, m, l, a)
	default:
		l.acceptedBy()
		l.state, l.failedCalls, l.start = accepted, 0, a.Start
		k.watchOverrun(l)
		k.recordEvent(m)
		answer.Code = protocol.AcceptConfirmed
		status = k.reportStatus(now, l, l.placedStatus(a.Start))
	}
	return append([]protocol.Message{k.sendAndRecord(now, m.From, answer)}, status...)
}

// handleStarted records that a job runs, for those who ask: the market decides nothing by it. A site
// repeats the report.
func (k *Market) handleStarted(now protocol.Time, m protocol.Message, s protocol.Started) {
	if l := k.lotAwardedTo(m.From, s.Job, s.Epoch); l != nil && l.state == accepted && l.started != s.Epoch {
		l.started, l.start = s.Epoch, min(m.At, now)
		l.partStarted()
		k.recordEvent(m)
	}
}

// handleDecline requeues a job that its site cannot keep: the cluster may have filled since the
// bid, which promised a price and reserved nothing.
func (k *Market) handleDecline(now protocol.Time, m protocol.Message, d protocol.Decline) []protocol.Message {
	msgs := []protocol.Message{k.sendAndRecord(now, m.From, protocol.Confirm{Job: d.Job, Epoch: d.Epoch, Code: protocol.AwardVoid})}
	l := k.lotAwardedTo(m.From, d.Job, d.Epoch)
	switch {
	case k.clearOrphanedRun(m.From, d.Job, d.Epoch):
		k.recordEvent(m)
		return msgs
	case l == nil || l.state == ended:
		k.counts["decline-of-nothing"]++
		return msgs
	case l.state == called: // the lease had expired, and the job is in a round already
		k.recordEvent(m)
		l.site = ""
		return msgs
	}
	k.recordEvent(m)
	k.wakeWaiting(now)
	k.counts["declined"]++
	if l.whole != nil {
		k.partDeclined(now, l)
		return append(msgs, k.partLost(now, l, d.Why)...)
	}
	if l.cancelRequested {
		k.preemptionOver(now, l)
		return append(msgs, k.rejectLot(now, l, reasonCancelled)...)
	}
	k.requeueDeclined(now, l)
	return append(msgs, k.reportStatus(now, l, protocol.JobStatus{State: protocol.Waiting, Site: m.From.SiteName(), Why: d.Why})...)
}

// requeueLot makes a lot wait for the next gathering interval, without backoff.
func (k *Market) requeueLot(now protocol.Time, l *lot) {
	l.state, l.site, l.due = waiting, "", now.Add(k.cfg.Gather)
	k.timers.addToTimerQueue(l)
}

// lotAwardedTo returns the lot whose current award (epoch) went to that site, or nil. Every
// message of a site about a job passes here, so a former award's messages cannot change a newer
// one.
func (k *Market) lotAwardedTo(from protocol.Party, id protocol.JobID, epoch uint64) *lot {
	l := k.lots[id]
	if l == nil || l.site == "" || from != protocol.AgentParty(l.site) || epoch != l.epoch {
		return nil
	}
	return l
}

// maxReportAhead is how far ahead of ours a site's clock may be for the market to wait until the
// site repeats its report. A report from further ahead is implausible, and ends the job unpaid.
const maxReportAhead = 24 * time.Hour

// closeUnpaid ends a job whose usage report is implausible. The job has run, so it is not
// requeued; the report gets its Confirm, because the site would retransmit it forever otherwise;
// the site is paid nothing.
func (k *Market) closeUnpaid(now protocol.Time, m protocol.Message, l *lot, closed protocol.Confirm) []protocol.Message {
	k.counts[string(protocol.ImpossibleBid)]++
	k.recordEvent(m)
	k.preemptionOver(now, l)
	k.wakeForRoom(now, auction.Pool{Site: l.site, Model: l.option.Model}, l.awardedJob().TotalGPUMilli())
	why := protocol.Reason{Code: protocol.ImpossibleBid, Note: fmt.Sprintf("what %s reports of its run cannot be; nothing is paid", l.site)}
	msgs := append(k.rejectLot(now, l, why), k.sendAndRecord(now, m.From, closed))
	return append(msgs, k.partEnded(now, l.whole)...)
}

// handleUsageReport settles a job: it compares the measured usage with the bid and pays the site.
//
// The market confirms reports about jobs that are not, or no longer, the site's too, because the
// site would retransmit them forever otherwise.
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
	if d.Ended > now && d.Ended < now.Add(maxReportAhead) { // the site's clock is ahead: it repeats the report, until its end lies in the past
		k.counts[string(protocol.ImpossibleBid)]++
		return nil
	}
	if !m.IsPlausible() || d.Ended > now || d.Left < 0 || d.Left > l.awardedJob().Run || d.Left > 0 && l.pause == 0 && !l.mayMove() {
		return k.closeUnpaid(now, m, l, closed)
	}
	k.recordEvent(m)
	k.wakeForRoom(now, auction.Pool{Site: l.site, Model: l.option.Model}, l.awardedJob().TotalGPUMilli())
	msgs := []protocol.Message{k.settleRun(now, l, d, protocol.Settlement{
		Payer: l.job.Tenant, BidFor: l.bidForPart(d.Left), Late: d.Left == 0 && d.Ended > l.job.Deadline, Part: d.Left > 0,
	})}
	k.preemptionOver(now, l)
	if d.Left == 0 {
		k.endLot(now, l)
		msgs = append(msgs, k.reportStatus(now, l, l.closedStatus(d))...)
		return append(msgs, k.partEnded(now, l.whole)...)
	}
	site, idle := l.site, l.pause == 0 && l.awardedJob().Run-d.Left < l.job.Pause
	k.requeueRemainder(now, l, d.Left)
	if idle { // paused unasked, and before it did as much as that costs
		l.countRenege(site)
	}
	if l.cancelRequested {
		return append(msgs, k.rejectLot(now, l, reasonCancelled)...)
	}
	return append(msgs, k.reportStatus(now, l, protocol.JobStatus{State: protocol.Waiting, Site: site})...)
}

// tariffCost returns what the site's tariff comes to for the run that it reports. The run counts
// from its awarded start at the earliest, whatever the site reports.
func (l *lot) tariffCost(d protocol.UsageReport) protocol.Microdollars {
	from := max(d.Started, l.option.Start)
	return l.awardedJob().TariffCost(max(d.Ended.Sub(from), 0), l.option.Tariff)
}

// settleRun pays the site of a lot for what it reports of a run, and returns the Settlement, s completed.
func (k *Market) settleRun(now protocol.Time, l *lot, d protocol.UsageReport, s protocol.Settlement) protocol.Message {
	s.Job, s.Site, s.Estimated = d.Job, l.site, d.Estimated
	s.Counted = protocol.Usage{IT: d.IT, Energy: d.Energy, Carbon: d.Carbon, Money: d.Money, Finish: d.Ended}
	s.Tariff = l.tariffCost(d)
	s.Paid = accounts.SettlementAmount(s.BidFor.Money, s.Counted.Money, s.Tariff, k.cfg.Pay)
	if !k.ledger.Transfer(accounts.TenantAccount(s.Payer), accounts.SiteAccount(l.site), s.Paid) {
		k.counts["over-account-limit"]++
		s.Paid, s.Tariff = 0, 0
	}
	k.trust.ObserveJob(l.site, s.BidFor, s.Counted)
	s.Charges = k.chargesOf(now, l, d, &s)
	for _, c := range s.Charges {
		k.budgets.Charge(c)
	}
	return k.sendAndRecord(now, "", s)
}

// bidForPart returns the share of the bid that applies to a run after which left remains.
func (l *lot) bidForPart(left time.Duration) protocol.Usage {
	part := 1.0
	if left > 0 { // a job of unknown length is never paused, so Run is not 0 here
		part -= float64(left) / float64(l.awardedJob().Run)
	}
	return l.scaledBid(part)
}

// scaledBid returns a part of the bid.
func (l *lot) scaledBid(part float64) protocol.Usage {
	return protocol.Usage{
		Energy: protocol.Millijoules(float64(l.option.Energy) * part), Carbon: protocol.Milligrams(float64(l.option.Carbon) * part),
		Money: protocol.Microdollars(float64(l.option.Money) * part), Finish: l.option.Finish,
	}
}

// requeueRemainder requeues what is left of a paused job. Its checkpoint lies at the site that ran
// it, so that site bids without transfer costs.
func (k *Market) requeueRemainder(now protocol.Time, l *lot, left time.Duration) {
	ran := l.awardedJob()
	l.job, l.reneges = l.submitted.RemainderAfterPause(l.site, ran.RunLeftOn(l.submitted.PodCount(), left)), nil
	k.requeueLot(now, l)
}
