package market

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// Jobs whose parts may go to different sites (protocol/parts.go; decision 0381). Each part is a lot, and
// the job itself, the whole, is one in the state divided, which no round calls. All parts are called and
// awarded together, with one epoch, and stand by a two-phase lease: the sites reserve and accept; once
// every Accept is on record before the cut-off, the market records that the parts are committed, and only
// then confirms. A Decline, or silence at the cut-off, voids them all; so does a failover before the
// commit (presumed abort). What is committed and does not run at the start deadline is stopped everywhere.
//
// Invariant: parts that are not over are all waiting, all called, all awarded or all accepted, but while
// they are being stopped: then those that are gone rest until the last one is.

// partLeases is how many leases of a job at one site those of parts last: the slowest site decides.
const partLeases = 3

// cutOff returns by when all parts of an award must be accepted: half a lease of a job at one site before
// their leases end, 5 s by default, which exceeds the delay of a Confirm and the clocks' difference.
func (k *Market) cutOff(lease protocol.Time) protocol.Time { return lease.Add(-k.cfg.Lease / 2) }

// queueLot has a new lot called when it is due: of a divided job, its parts.
func (k *Market) queueLot(l *lot) {
	if l.submitted.IsDivided() {
		k.createParts(l)
	} else {
		k.timers.addToTimerQueue(l)
	}
}

// createParts makes a lot of each part of a divided job.
func (k *Market) createParts(w *lot) {
	due := w.due
	w.state, w.due = divided, 0
	for _, j := range w.submitted.PartJobs() {
		k.forgetLot(j.ID)
		p := &lot{job: j, submitted: j, task: w.task, from: w.from, due: due, whole: w}
		w.parts = append(w.parts, p)
		k.lots[j.ID] = p
		k.timers.addToTimerQueue(p)
	}
}

// reasonAgainstParts returns why the market cannot take in the parts of a job, or "".
func (k *Market) reasonAgainstParts(from protocol.Party, j *protocol.Job) string {
	switch {
	case j.PartOf != "":
		return "part_of: only the market makes parts; submit the whole job"
	case j.IsDivided() && from.SiteName() != "":
		return "sites: a job of a site's own queue runs at one site"
	}
	for i := range j.Parts {
		if id := protocol.PartID(j.ID, j.Parts[i].Name); k.knownLot(id) != nil && k.knownLot(j.ID) == nil {
			return fmt.Sprintf("sites.parts: another job has the id of part %s, %s", j.Parts[i].Name, format.CleanText(string(id)))
		}
	}
	return ""
}

// wholeOrSelf returns the job of a part, else l.
func (l *lot) wholeOrSelf() *lot {
	if l.whole != nil {
		return l.whole
	}
	return l
}

// calledTogether returns the lots that are called with l: all parts of its job that wait.
func (l *lot) calledTogether() (all []*lot) {
	if l.whole == nil {
		return []*lot{l}
	}
	for _, p := range l.whole.parts {
		if p.state == waiting {
			all = append(all, p)
		}
	}
	return all
}

// decideTogether makes the decisions on the parts of each job one: all are awarded, at no more sites than
// the job allows and about the same time, or none is. It holds for every clearing rule.
func (k *Market) decideTogether(now protocol.Time) {
	rulings := make(map[*lot][]*auction.Decision)
	var wholes []*lot
	for i := range k.advisor.rulings {
		if r := &k.advisor.rulings[i]; r.lot.whole != nil {
			if rulings[r.lot.whole] == nil {
				wholes = append(wholes, r.lot.whole)
			}
			rulings[r.lot.whole] = append(rulings[r.lot.whole], &r.decision)
		}
	}
	for _, w := range wholes {
		d, apart := k.decisionOnParts(now, k.advisor.cleared, w, rulings[w])
		if !apart || d.Why.Code != protocol.PartsApart || !k.foundApart(now, w) {
			k.endJointWait(w)
		}
		if apart {
			for _, x := range rulings[w] {
				*x = d
			}
		} else if note := jointStartNote(rulings[w], now, k.cfg.Planning.MaxStartDelay); note != "" {
			for _, x := range rulings[w] {
				x.Why.Note = note
			}
		}
	}
}

// awardPart completes the award of a part: all parts have the whole's epoch and one lease, whose cut-off the
// whole is due at.
func (k *Market) awardPart(now protocol.Time, p *lot) {
	w := p.whole
	if p.epoch >= w.epoch { // the first part of this award: all parts had the epoch of the one before
		w.epoch = max(w.epoch, k.maxForgottenEpoch) + 1
		w.lease = now.Add(partLeases * k.cfg.Lease)
	}
	k.partAwarded(p, w.epoch, w.lease)
	p.asked = true
}

// partAwarded notes that a part is awarded; Restore does, too.
func (k *Market) partAwarded(p *lot, epoch uint64, lease protocol.Time) {
	p.epoch, p.lease, p.due, p.prepared, p.asked, p.started = epoch, lease, 0, false, false, 0
	w := p.whole
	w.epoch, w.lease, w.committed, w.roomFor = epoch, lease, false, ""
	if due := k.cutOff(lease); w.due != due {
		w.due = due
		k.timers.addToTimerQueue(w)
	}
}

// handlePartAccept records that a site has reserved room for a part. The last Accept that comes before the
// cut-off commits the parts; no Confirm leaves before that is on record.
func (k *Market) handlePartAccept(now protocol.Time, m protocol.Message, p *lot, a protocol.Accept) []protocol.Message {
	w := p.whole
	if now > w.due {
		k.counts["accept-after-cut-off"]++
		void := k.confirmPart(now, p, protocol.AwardVoid)
		return append(k.stopParts(now, w, protocol.Reason{Code: protocol.Unconfirmed, Note: lateAccepts}), void)
	}
	if p.prepared {
		k.counts["accept-of-nothing"]++
	} else {
		p.prepared, p.start = true, a.Start
		k.recordEvent(m)
	}
	for _, x := range w.parts {
		if x.state == awarded && !x.prepared {
			return nil
		}
	}
	return k.commitParts(now, w)
}

// lateAccepts says why parts do not stand.
const lateAccepts = "not all sites accepted in time"

// wakeAllowance is how much later than a site may start an award its nodes may be awake.
const wakeAllowance = 5 * time.Minute

// commitParts records that all parts stand, and confirms them. If a site promises to start its part much later
// than another, none stands: that one would run alone meanwhile.
func (k *Market) commitParts(now protocol.Time, w *lot) []protocol.Message {
	by, first, last := now, protocol.Time(math.MaxInt64), protocol.Time(0)
	for _, p := range w.parts {
		if p.state == awarded {
			first, last = min(first, max(p.start, now)), max(last, p.start, now)
			by = max(by, p.start, p.option.Start.Add(p.option.Wake))
		}
	}
	if last > first.Add(k.cfg.Planning.MaxStartDelay) {
		return k.stopParts(now, w, protocol.Reason{Code: protocol.PartsApart})
	}
	d := k.partsDecided(w)
	d.Committed, d.StartBy = true, by.Add(k.cfg.Planning.MaxStartDelay+wakeAllowance)
	msgs := []protocol.Message{k.sendAndRecord(now, w.from, d)}
	k.partsCommitted(w, d.StartBy)
	for _, p := range w.parts {
		if p.state == accepted {
			msgs = append(msgs, k.confirmPart(now, p, protocol.AcceptConfirmed))
		}
	}
	return append(msgs, k.tellWhole(now, w)...)
}

// partsCommitted notes that the parts stand; Restore does, too.
func (k *Market) partsCommitted(w *lot, startBy protocol.Time) {
	for _, p := range w.parts {
		if p.state == awarded {
			p.acceptedBy()
			p.state, p.failedCalls = accepted, 0
			k.recordStatus(p, p.placedStatus(p.start))
		}
	}
	w.committed, w.due, w.failedCalls = true, startBy, 0
	k.recordStatus(w, w.wholeStatus(protocol.AcceptConfirmed))
	k.timers.addToTimerQueue(w)
}

// partStarted notes that a part runs. Once all do, there is no deadline to watch.
func (l *lot) partStarted() {
	if w := l.whole; w != nil && w.committed {
		for _, p := range w.parts {
			if p.state != ended && p.started != p.epoch {
				return
			}
		}
		w.due = 0
	}
}

// partsDue stops the parts of a job at the cut-off or at the start deadline.
func (k *Market) partsDue(now protocol.Time, w *lot) []protocol.Message {
	why := protocol.Reason{Code: protocol.Unconfirmed, Note: lateAccepts}
	if w.committed {
		k.counts["parts-not-started"]++
		why = protocol.Reason{Code: protocol.NotStarted, Note: w.missedStarts()}
	}
	return k.stopParts(now, w, why)
}

// partsDecided returns the fact about the current awards of a job's parts.
func (k *Market) partsDecided(w *lot) protocol.PartsDecided {
	d := protocol.PartsDecided{Job: w.job.ID, Epoch: w.epoch}
	for _, p := range w.parts {
		if p.state == awarded || p.state == accepted {
			d.Parts = append(d.Parts, protocol.PartSite{Part: p.job.ID, Site: p.site})
		}
	}
	return d
}

// stopParts records that the parts of a job do not stand, voids what is not confirmed of them, and has what is
// confirmed stopped.
func (k *Market) stopParts(now protocol.Time, w *lot, why protocol.Reason) []protocol.Message {
	silent := w.silentParts()
	if len(silent) > 0 && why.Code == protocol.Unconfirmed {
		why.Note = silenceNote(silent)
	}
	d := k.partsDecided(w)
	d.Why = why
	msgs := []protocol.Message{k.sendAndRecord(now, w.from, d)}
	for _, p := range w.parts {
		if p.state == awarded && p.prepared {
			msgs = append(msgs, k.confirmPart(now, p, protocol.AwardVoid))
		}
	}
	if why.Code == protocol.Unconfirmed {
		for _, p := range silent {
			msgs = append(msgs, k.countMissedStart(k.sender.NewMessage(now, protocol.AgentParty(p.site), protocol.Preempt{
				Job: p.job.ID, Epoch: p.epoch, Why: protocol.Reason{Code: protocol.NotStarted, Note: why.Note},
			})))
		}
	}
	stopped := make(map[*lot]bool) // before
	for _, p := range w.parts {
		stopped[p] = p.preempt != nil
	}
	k.partsStopped(now, w, why)
	for _, p := range w.parts {
		if p.state == accepted && p.preempt != nil {
			m := k.requestPreempt(now, p)
			if !stopped[p] && p.preempt.Why.Code == protocol.NotStarted {
				k.countMissedStart(m)
			}
			msgs = append(msgs, m)
		}
	}
	return append(msgs, k.tellWhole(now, w)...)
}

// countMissedStart records the stop of a part that its site was to run and did not answer for, or did not start,
// while others held room: it counts against the site's trust.
func (k *Market) countMissedStart(stop protocol.Message) protocol.Message {
	k.recordEvent(stop)
	k.trust.ObserveMissedStart(stop.To.SiteName())
	return stop
}

// confirmPart returns a Confirm for the current award of a part.
func (k *Market) confirmPart(now protocol.Time, p *lot, code protocol.Code) protocol.Message {
	return k.sendAndRecord(now, protocol.AgentParty(p.site), protocol.Confirm{Job: p.job.ID, Epoch: p.epoch, Code: code})
}

// partsStopped notes that the parts of a job do not stand; Restore does, too. A site that did not answer, or
// did not start what it accepted, has not kept its award; the latter is passed over at once.
func (k *Market) partsStopped(now protocol.Time, w *lot, why protocol.Reason) {
	for _, p := range w.parts {
		switch {
		case p.state == awarded:
			if !p.prepared && why.Code == protocol.Unconfirmed {
				p.countRenege(p.site)
			}
			k.restPart(p)
		case p.state == accepted && p.preempt == nil:
			code := protocol.PartLost
			if why.Code == protocol.NotStarted && p.started != p.epoch {
				code = protocol.NotStarted // it counts against trust
				for range forgivenReneges + 1 {
					p.countRenege(p.site)
				}
			}
			p.preempt = &protocol.Preempt{Job: p.job.ID, Epoch: p.epoch, Why: protocol.Reason{Code: code, Note: why.Note}}
			p.due = now.Add(stopRetryInterval)
			k.timers.addToTimerQueue(p)
		}
	}
	w.due, w.committed = 0, false
	k.recordStatus(w, protocol.JobStatus{State: protocol.Waiting, Why: why})
	k.callRestingParts(now, w)
}

// restPart makes a part wait for the others of its job, which are being stopped.
func (k *Market) restPart(p *lot) {
	p.state, p.site, p.due, p.prepared, p.preempt = waiting, "", 0, false, nil
}

// callRestingParts has the parts of a job called again, once none of them is at a site, and ends the job once
// all parts are over.
func (k *Market) callRestingParts(now protocol.Time, w *lot) {
	if w.state != divided {
		return
	}
	open := false
	for _, p := range w.parts {
		if p.state == awarded || p.state == accepted {
			return
		}
		open = open || p.state != ended
	}
	if !open {
		if !w.cancelRequested { // else it is rejected
			k.recordStatus(w, w.wholeStatus(protocol.JobClosed))
			k.endLot(now, w)
		}
		return
	}
	w.due, w.committed = 0, false
	w.requeueBackoff(now, k.cfg.Gather, "")
	for _, p := range w.parts {
		if p.state == waiting && p.due == 0 {
			p.due = w.backoffUntil
			k.timers.addToTimerQueue(p)
			k.listIdleLot(p)
		}
	}
}

// partDeclined notes that a site gave a part back; Restore does, too. A site that was to take other parts, too,
// bid for each as if it came alone: it is passed over for this one in the next round.
func (k *Market) partDeclined(now protocol.Time, p *lot) {
	if p.preempt == nil { // what it was asked for is no renege
		p.countRenege(p.site)
		if slices.ContainsFunc(p.whole.parts, func(x *lot) bool { return x != p && x.state == awarded && x.site == p.site }) {
			p.skipNextRound(p.site)
		}
	}
	k.takePartBack(now, p)
}

// partLost has the other parts of a job stopped after one was lost: declined, given back or taken from its site.
func (k *Market) partLost(now protocol.Time, p *lot, why protocol.Reason) []protocol.Message {
	w := p.whole
	if w.cancelRequested {
		k.endLot(now, p)
		return k.partEnded(now, w)
	}
	for _, x := range w.parts {
		if x.state == awarded || x.state == accepted && x.preempt == nil {
			note := fmt.Sprintf("part %s: %s", format.CleanText(string(p.job.ID)), why.Code)
			if w.roomFor != "" {
				note = fmt.Sprintf("part %s made room for job %s", format.CleanText(string(p.job.ID)), format.CleanText(string(w.roomFor)))
			}
			return k.stopParts(now, w, protocol.Reason{Code: protocol.PartLost, Note: note})
		}
	}
	k.callRestingParts(now, w)
	return nil
}

// restorePartsDecided restores what was decided about the parts of a job.
func (k *Market) restorePartsDecided(at protocol.Time, b protocol.PartsDecided) {
	w := k.lots[b.Job]
	switch {
	case w == nil || w.state != divided || w.epoch != b.Epoch:
	case b.Committed:
		k.partsCommitted(w, b.StartBy)
	default:
		k.partsStopped(at, w, b.Why)
	}
}

// restoreLost is partLost in Restore: what the market decided about the other parts follows.
func (k *Market) restoreLost(at protocol.Time, p *lot) {
	if p.whole.cancelRequested {
		k.endLot(at, p)
	}
	k.callRestingParts(at, p.whole)
}

// partEnded follows the end of a part: the last one ends its job. W is nil of a job without parts.
func (k *Market) partEnded(now protocol.Time, w *lot) []protocol.Message {
	if w == nil {
		return nil
	}
	k.callRestingParts(now, w)
	if w.state == divided && w.cancelRequested && !slices.ContainsFunc(w.parts, func(p *lot) bool { return p.state != ended }) {
		return k.rejectLot(now, w, reasonCancelled)
	}
	if w.state == ended {
		return k.tellWhole(now, w)
	}
	return nil
}

// endParts ends all parts of a job that is rejected.
func (k *Market) endParts(now protocol.Time, w *lot) {
	for _, p := range w.parts {
		if p.state != ended {
			k.endLot(now, p)
		}
	}
}

// cancelParts cancels a job in parts: what waits ends, what is awarded is void, and what runs is stopped.
func (k *Market) cancelParts(now protocol.Time, w *lot) (msgs []protocol.Message) {
	for _, p := range w.parts {
		if p.state == awarded && p.prepared {
			msgs = append(msgs, k.confirmPart(now, p, protocol.AwardVoid))
		}
	}
	running := k.partsCancelled(now, w)
	for _, p := range running {
		msgs = append(msgs, k.requestStop(now, p))
	}
	if len(running) == 0 {
		msgs = append(msgs, k.rejectLot(now, w, reasonCancelled)...)
	}
	return msgs
}

// partsCancelled notes that a job in parts is cancelled, and returns the parts that their sites must stop;
// Restore does, too.
func (k *Market) partsCancelled(now protocol.Time, w *lot) (running []*lot) {
	w.cancelRequested, w.due = true, 0
	for _, p := range w.parts {
		switch p.state {
		case accepted:
			p.cancelRequested, p.preempt = true, nil
			p.due = now.Add(stopRetryInterval)
			k.timers.addToTimerQueue(p)
			running = append(running, p)
		case ended:
		default:
			p.site = ""
			k.endLot(now, p)
		}
	}
	return running
}

// resetPartTimers brings forward what a whole is due at after its clock was set back.
func (k *Market) resetPartTimers(now protocol.Time, w *lot) {
	most := partLeases * k.cfg.Lease
	if w.committed {
		most = max(most, k.cfg.Planning.Horizon+time.Hour)
	}
	if w.due != 0 {
		w.due = min(w.due, now.Add(most))
		k.timers.addToTimerQueue(w)
	}
}
