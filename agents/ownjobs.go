package agents

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A site that hears no coordinator starts jobs of its own queue by itself, and accounts for them when it
// hears one again (decision 0396). Invariant: it starts none that a coordinator has called, and bids for
// none that it has started, and the coordinator awards none before the site has bid for it.

const (
	// aloneAfterHeartbeats is for how many heartbeats an agent hears no coordinator before it starts its own
	// jobs: 30 s, by the usual interval of both.
	aloneAfterHeartbeats = 15
	// ownRetryDelay is how often an agent tries to start own jobs that found no room, and how often it
	// reports a start until it is answered.
	ownRetryDelay = 5 * time.Second
	// ownKept is how long after its arrival the agent knows a job of its queue: a coordinator refuses older ones.
	ownKept = protocol.MaxRun
)

// A hubState is what an agent knows of its coordinator.
type hubState struct {
	heard protocol.Time // when it was heard last; 0: this process has not looked yet
	tried protocol.Time // when own jobs were last tried or reported
}

// An ownJob is a job that the site's queue submitted, of one of the site's own tenants, and that no coordinator
// has called, so that the site may start it by itself; or that it has started so, and no coordinator has
// confirmed.
type ownJob struct {
	submit protocol.Submit
	start  *protocol.LocalStart  // the site started it by itself, and no coordinator has confirmed that; nil: no
	epoch  uint64                // of its last such start
	void   bool                  // the coordinator does not want the run
	report *protocol.UsageReport // of the run, held until the coordinator has confirmed the start; nil: it has not ended
}

// isUnsettled reports whether the site started the job and no coordinator has confirmed that.
func (o *ownJob) isUnsettled() bool { return o != nil && o.start != nil }

// givenUp forgets a start: the run could not be kept up.
func (o *ownJob) givenUp() {
	if o != nil {
		o.start, o.report, o.void = nil, nil, false
	}
}

// startsAlone reports whether the agent starts own jobs when it hears no coordinator: if it is live, and its
// terms name own tenants.
func (a *Agent) startsAlone() bool { return a.heartbeat.every > 0 && len(a.cfg.Terms.Own) > 0 }

// MayStartAlone reports whether the agent may start a job by itself: one of its queue and of its own tenants, and
// neither one in parts, which a coordinator takes from no queue, nor a part, which only a coordinator makes.
// It may be called while the agent runs.
func (a *Agent) MayStartAlone(j *protocol.Job) bool {
	return a.startsAlone() && a.isOwnJob(j) && !j.IsDivided() && j.PartOf == ""
}

// isAlone reports whether the agent has heard no coordinator for a while.
func (a *Agent) isAlone(now protocol.Time) bool {
	return a.startsAlone() && a.hub.heard != 0 && now >= a.hub.heard.Add(aloneAfterHeartbeats*a.heartbeat.every)
}

// handleOwnJob takes in what the site's queue sent to the coordinator, too: a job, or its cancellation.
func (a *Agent) handleOwnJob(now protocol.Time, m protocol.Message) []protocol.Message {
	switch b := m.Body.(type) {
	case protocol.Submit:
		if a.own[b.Job.ID] == nil && a.ownCalled[b.Job.ID] == 0 && a.MayStartAlone(&b.Job) && b.Job.InvalidReason() == "" && b.Job.Arrival > now.Add(-ownKept) {
			a.keepOwnJob(b)
			a.recordEvent(m)
		}
	case protocol.Cancel:
		switch o := a.own[b.Job]; {
		case o == nil || !a.isAlone(now): // the coordinator stops it
		case o.start != nil && o.report == nil:
			return a.stopJob(now, b.Job, o.epoch, protocol.Reason{Code: protocol.Cancelled}, false)
		case o.start == nil: // the market refuses it once it hears of both
			a.recordOwnCalled(now, o.submit.Job)
		}
	}
	return nil
}

// isOwnJob reports whether a job is of the site's own queue and one of its own tenants.
func (a *Agent) isOwnJob(j *protocol.Job) bool {
	prefix := a.cfg.Site + "/"
	return a.cfg.Terms.IsOwn(j.Tenant) && len(j.ID) > len(prefix) && string(j.ID[:len(prefix)]) == prefix
}

func (a *Agent) keepOwnJob(s protocol.Submit) {
	if a.ownCalled[s.Job.ID] == 0 {
		a.own[s.Job.ID] = &ownJob{submit: s}
	}
}

// noteOwnCalled records which own jobs a coordinator calls: from now on only an award may start them. It also
// forgets those that no coordinator would take any more.
func (a *Agent) noteOwnCalled(now protocol.Time, jobs []protocol.Job) {
	if !a.startsAlone() {
		return
	}
	for _, j := range jobs {
		if a.isOwnJob(&j) && !a.own[j.ID].isUnsettled() && a.ownCalled[j.ID] == 0 {
			a.recordOwnCalled(now, j)
		}
	}
	maps.DeleteFunc(a.ownCalled, func(_ protocol.JobID, arrived protocol.Time) bool { return arrived < now.Add(-2*ownKept) })
}

// recordOwnCalled records that only an award may start a job.
func (a *Agent) recordOwnCalled(now protocol.Time, j protocol.Job) {
	quiet := a.sender // a copy: the event takes no sequence number
	a.recordEvent(quiet.NewMessage(now, a.sender.Party, protocol.CallForBids{Jobs: []protocol.Job{j}, Planning: a.planning}))
	a.restoreOwnCalled(j)
}

// restoreOwnCalled is what is left of recordOwnCalled after a restart. Whether the agent is live is not known
// yet then.
func (a *Agent) restoreOwnCalled(j protocol.Job) {
	if a.isOwnJob(&j) {
		delete(a.own, j.ID)
		a.ownCalled[j.ID] = max(j.Arrival, 1)
	}
}

// ownJobsDue returns when own jobs are to be tried or reported next; 0: there are none.
func (a *Agent) ownJobsDue() protocol.Time {
	if !a.startsAlone() {
		return 0
	}
	var started, waits bool
	for _, o := range a.ownInOrder() {
		started = started || o.start != nil
		waits = waits || o.start == nil
	}
	next, alone := max(a.hub.tried.Add(ownRetryDelay), 1), a.hub.heard.Add(aloneAfterHeartbeats*a.heartbeat.every)
	switch {
	case started && alone > next: // to be reported; once alone, that waits until a coordinator is heard
		return next
	case waits:
		return max(next, alone)
	}
	return 0
}

// tendOwnJobs starts own jobs if no coordinator is heard; else it reports those that were started.
func (a *Agent) tendOwnJobs(now protocol.Time) (msgs []protocol.Message) {
	if a.hub.heard == 0 || a.hub.heard > now { // this process begins to listen now, or the clock was set back
		a.hub.heard = now
	}
	if !a.startsAlone() || a.lacksNodes() || a.hub.tried <= now && now < a.hub.tried.Add(ownRetryDelay) {
		return nil
	}
	a.hub.tried = now
	alone := a.isAlone(now)
	for _, o := range a.ownInOrder() {
		switch {
		case o.start != nil && !alone && !o.void && a.pendingAcceptOf(o.submit.Job.ID) == nil:
			msgs = append(msgs, a.messageTo(now, protocol.Coordinator, *o.start)...)
		case o.start == nil && alone:
			msgs = append(msgs, a.startOwnJob(now, o)...)
		}
	}
	return msgs
}

// ownInOrder returns the own jobs by priority, then by arrival.
func (a *Agent) ownInOrder() []*ownJob {
	return slices.SortedFunc(maps.Values(a.own), func(x, y *ownJob) int {
		i, j := &x.submit.Job, &y.submit.Job
		return cmp.Or(cmp.Compare(j.Priority, i.Priority), cmp.Compare(i.Arrival, j.Arrival), cmp.Compare(i.ID, j.ID))
	})
}

// pendingAcceptOf returns the Accept of a job that waits for an answer; nil: none does.
func (a *Agent) pendingAcceptOf(id protocol.JobID) *pendingAck {
	if o := a.pendingAckOf(id); o != nil {
		if _, ok := o.body.(protocol.Accept); ok {
			return o
		}
	}
	return nil
}

// startOwnJob starts an own job where there is room now: as the soonest of the options that it would bid.
func (a *Agent) startOwnJob(now protocol.Time, o *ownJob) []protocol.Message {
	j := o.submit.Job
	a.refreshForecast(now)
	expect := a.fillExpectedRun(&j)
	call, _ := a.lastCall.Body.(protocol.CallForBids)
	p := bidPricing{agent: a, now: now, weights: call.Weights.ForRanking(), planning: a.planning, shadow: newShadowPrices(nil, a.cfg.Site), estimated: len(expect) > 0}
	m := p.bidsForJob(j)
	if len(m.Options) == 0 || m.Options[0].Start > now.Add(earlyStartTolerance) {
		return a.recallFor(now, j, m)
	}
	w := protocol.Award{Job: j.ID, Epoch: o.epoch + 1, Option: m.Options[0], Task: o.submit.Task}
	if !a.placeJob(now, reservation{job: j, award: w, confirmed: true}) {
		return nil
	}
	l := a.running[j.ID]
	w.Option.Start, w.Option.Finish = now, max(now.Add(w.Option.Finish.Sub(w.Option.Start)), now.Add(time.Second))
	o.start, o.epoch = &protocol.LocalStart{Job: j.ID, Epoch: w.Epoch, Option: w.Option}, w.Epoch
	quiet := a.sender // a copy: the event takes no sequence number
	a.recordEvent(quiet.NewMessage(now, protocol.Coordinator, *o.start))
	a.recordLaunch(now, j.ID)
	return []protocol.Message{a.sendLaunch(now, j.ID, l)}
}

// restoreLocalStart restores an own start as a job that waits; the Launch that follows moves it to running.
func (a *Agent) restoreLocalStart(m protocol.Message, b protocol.LocalStart) {
	o := a.own[b.Job]
	if o == nil {
		return
	}
	j := o.submit.Job
	a.fillExpectedRun(&j)
	o.start, o.epoch = &b, b.Epoch
	w := protocol.Award{Job: b.Job, Epoch: b.Epoch, Option: b.Option, Task: o.submit.Task}
	a.queue = append(a.queue, reservation{job: j, award: w, confirmed: true})
}

// adoptOwnRun accepts the award of a job that the site has started by itself.
func (a *Agent) adoptOwnRun(now protocol.Time, m protocol.Message, w protocol.Award) []protocol.Message {
	o := a.own[w.Job]
	if w.Why.Code != protocol.StartedAlone || w.Epoch <= o.epoch {
		return a.messageTo(now, protocol.Coordinator, protocol.Decline{Job: w.Job, Epoch: w.Epoch, Why: protocol.Reason{Code: protocol.StartedAlone}})
	}
	a.adoptNewerAward(w)
	return a.acceptAward(now, m, w, o.start.Option.Start)
}

// ownRunConfirmed takes in that the coordinator counts a run as this site's. If it has ended meanwhile, its
// report follows.
func (a *Agent) ownRunConfirmed(now protocol.Time, m protocol.Message, c protocol.Confirm) []protocol.Message {
	if p := a.pendingAcceptOf(c.Job); p == nil || p.epoch != c.Epoch {
		return nil
	}
	a.recordEvent(m)
	report := a.own[c.Job].report
	a.recordOwnCalled(now, a.own[c.Job].submit.Job)
	switch l := a.running[c.Job]; {
	case report != nil:
		report.Epoch = c.Epoch
		delete(a.epochs, c.Job)
		done := a.sendReliably(now, pendingAck{job: c.Job, epoch: c.Epoch, to: protocol.Coordinator, body: *report})
		a.recordEvent(done)
		return []protocol.Message{done}
	case l != nil:
		a.scheduleResend(now, a.launchRequest(c.Job, l)) // the answer says that it runs, or how it ended
	default:
		a.dropPendingAck(c.Job)
	}
	return nil
}

// restoreOwnConfirmed restores the coordinator's answer about an own run.
func (a *Agent) restoreOwnConfirmed(m protocol.Message, c protocol.Confirm) {
	if c.Code != protocol.AcceptConfirmed {
		return
	}
	report := a.own[c.Job].report
	a.restoreOwnCalled(a.own[c.Job].submit.Job)
	a.dropPendingAck(c.Job)
	if l := a.running[c.Job]; l != nil {
		a.scheduleResend(m.At, a.launchRequest(c.Job, l))
	} else if report != nil {
		report.Epoch = c.Epoch
		a.scheduleResend(m.At, pendingAck{job: c.Job, epoch: c.Epoch, to: protocol.Coordinator, body: *report})
	}
}

// holdOwnReport keeps the report of an own run until the coordinator has confirmed the start. Of one that it
// does not want, the site bears the energy.
func (a *Agent) holdOwnReport(now protocol.Time, done protocol.UsageReport, x protocol.Finished) []protocol.Message {
	o := a.own[x.Job]
	if o.void {
		a.recordOwnCalled(now, o.submit.Job)
		a.dropPendingAck(x.Job)
		return a.reportWastedEnergy(now, x.Draw, x.Estimated)
	}
	o.report = &done
	if a.pendingAcceptOf(x.Job) == nil {
		a.dropPendingAck(x.Job)
	} else {
		a.epochs[x.Job] = a.pendingAcceptOf(x.Job).epoch
	}
	quiet := a.sender // a copy: the event takes no sequence number
	a.recordEvent(quiet.NewMessage(now, protocol.Coordinator, done))
	return nil
}

// voidOwnRun takes in that the coordinator does not want an own run: the job is over, or another site's.
func (a *Agent) voidOwnRun(now protocol.Time, c protocol.Cancel) {
	o := a.own[c.Job]
	if !o.isUnsettled() || c.Epoch < o.epoch {
		return
	}
	if o.void = true; a.running[c.Job] == nil {
		a.recordOwnCalled(now, o.submit.Job)
	}
}
