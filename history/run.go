package history

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// planRun records the run that an accepted award implies. The log of a coordinator lacks the
// messages between a site's agent and its runtime, so no launch will follow; a ledger that
// has shown any launch needs no plan.
func (b *History) planRun(from MessageRef, id protocol.JobID, epoch uint64, start protocol.Time) {
	e := b.jobs[id]
	if b.hasLaunches || e == nil || e.rec.Run != nil || e.rec.phase != phaseAwarded {
		return
	}
	if a := e.rec.CurrentAward(); a != nil && a.Site == from.From.SiteName() && a.Epoch == epoch {
		o := a.Option
		e.rec.Run = &Run{Planned: true, inferred: true, Site: a.Site, Epoch: epoch, Model: o.Model, Cap: o.Cap, Plan: o.Finish.Sub(o.Start), Started: max(start, from.At)}
	}
}

// foldLaunch begins a run. Each launch must follow an accepted award of the same site and
// epoch; a break of that is a problem, but the run is recorded, as the devices are in use.
func (b *History) foldLaunch(from MessageRef, m protocol.Launch) {
	b.hasLaunches = true
	e := b.jobs[m.Job.ID]
	site := from.From.SiteName()
	if e == nil {
		b.addProblem("launched-unknown-job", m.Job.ID, site, "a launch of a job that was not submitted")
		return
	}
	switch award := e.rec.CurrentAward(); {
	case e.isOrphaned(site, m.Epoch): // it does not know yet that it was declared gone
		b.ignored++
		return
	case e.rec.phase == phaseRefused:
		b.addProblem("refused-and-placed", m.Job.ID, site, "launched, and was refused")
	// A repeated launch under the same epoch is harmless; any other runs the job twice.
	case e.rec.Run != nil && !e.rec.Run.inferred:
		if e.rec.Run.Epoch != m.Epoch || e.rec.Run.Site != site {
			b.addProblem("launched-twice", m.Job.ID, site, "launched at %s before", e.rec.Run.Site)
		}
		return
	case award == nil || award.Site != site || award.Epoch != m.Epoch:
		b.addProblem("launched-without-award", m.Job.ID, site, "launched under epoch %d, which was not awarded here", m.Epoch)
	case award.Answer != "accept":
		b.addProblem("launched-without-accept", m.Job.ID, site, "launched before the award was accepted")
	}
	e.rec.phase = phaseRunning
	e.rec.Run = &Run{
		Launched: from, Site: site, Epoch: m.Epoch, Node: m.Node, Devices: m.Devices, Places: m.Places, Domain: m.Domain,
		Model: m.Model, Cap: m.Cap, Plan: m.Run, Started: from.At,
	}
}

// isOrphaned reports whether a job was taken from a site, with the award of an epoch, because the site
// was declared gone. What the site does with it until it hears of that changes nothing.
func (e *jobEntry) isOrphaned(site string, epoch uint64) bool {
	return slices.ContainsFunc(e.rec.Awards, func(a Decision) bool {
		return a.voided && a.Released != (MessageRef{}) && a.Site == site && a.Epoch == epoch
	})
}

// findRun returns the current run of a job at the sender's site under an epoch, or nil: of an
// orphaned run, or after recording a problem named by what. An inferred run has no launch on record, so it can only
// be reported started or done, by the agent.
func (b *History) findRun(from MessageRef, id protocol.JobID, epoch uint64, what string) (*jobEntry, *Run) {
	site := from.From.SiteName()
	e := b.jobs[id]
	if e != nil && e.isOrphaned(site, epoch) {
		b.ignored++
		return nil, nil
	}
	if e == nil || e.rec.Run == nil || e.rec.Run.Site != site || e.rec.Run.Epoch != epoch || e.rec.Run.inferred && what != "done" && from.From != protocol.AgentParty(site) {
		b.addProblem(what+"-without-launch", id, site, "%s under epoch %d, which was not launched here", what, epoch)
		return nil, nil
	}
	return e, e.rec.Run
}

// foldStarted replaces the planned start of a run by the measured one. An executor that is asked
// for a job that runs on past its plan repeats Started, and so does an agent that reports starts to
// its coordinator; only the first is the start.
func (b *History) foldStarted(from MessageRef, m protocol.Started) {
	if site := from.From.SiteName(); from.From == protocol.AgentParty(site) {
		b.planRun(from, m.Job, m.Epoch, from.At) // its accept may have been lost
		if e := b.jobs[m.Job]; e == nil || e.rec.Run == nil || e.rec.HasEnded() || e.rec.Run.Site != site || e.rec.Run.Epoch != m.Epoch {
			b.ignored++ // repeated, and too late
			return
		}
	}
	e, r := b.findRun(from, m.Job, m.Epoch, "started")
	if r == nil {
		return
	}
	if j := e.rec.Asked(); len(m.Places) > 0 && len(m.Places) < len(r.Places) && j.InvalidPlaces(m.Places) == "" { // it goes on with fewer pods
		r.Node, r.Devices, r.Places, r.Domain = m.Node, m.Devices, m.Places, cmp.Or(m.Domain, r.Domain)
		e.rec.setPods(m.Places)
	}
	a := e.rec.CurrentAward()
	if a != nil && len(a.Starts) > 0 {
		if last := a.Starts[len(a.Starts)-1]; !last.Planned && last.Known >= r.Launched.At {
			return
		}
	}
	if s := b.siteRecord(r.Site); s.startsReported == 0 {
		s.startsReported = from.At
	}
	if r.Started, r.Planned = from.At, false; r.inferred && m.Node != "" {
		r.Node, r.Devices, r.Places, r.Domain = m.Node, m.Devices, m.Places, m.Domain
	}
	e.rec.addEvent(JobEvent{Kind: EventStarted, At: from.At, Site: r.Site})
	if a != nil {
		a.Starts = append(a.Starts, KnownStart{from.At, from.At, false})
	}
}

// foldFinished records the exit of a run and what its devices drew. The energy counts for the
// site's hours even if the run is unknown: the meter measured it.
func (b *History) foldFinished(from MessageRef, m protocol.Finished) {
	site := b.siteRecord(from.From.SiteName())
	_, r := b.findRun(from, m.Job, m.Epoch, "exited")
	if r != nil && r.Exited != (MessageRef{}) {
		b.addProblem("exited-twice", m.Job, site.Site, "exited before, at %v", r.Exited.At)
		return
	}
	for _, s := range m.Draw {
		site.meteredHour(s.Hour).drawn += s.Energy
		if r != nil {
			r.Drawn += s.Energy
		}
	}
	if r != nil {
		r.Exited = from
	} else if e := b.jobs[m.Job]; e != nil && e.isOrphaned(site.Site, m.Epoch) {
		for i := range e.rec.Lost {
			if o := &e.rec.Lost[i]; o.Site == site.Site && o.Epoch == m.Epoch {
				o.Exited = from // it has run until now
			}
		}
	}
}

// foldInterrupted closes a run that its site could not continue, and puts the job back on
// sale. The energy of such a run is on the site's meter and on no job's bill.
func (b *History) foldInterrupted(from MessageRef, m protocol.Interrupted) {
	e, r := b.findRun(from, m.Job, m.Epoch, "lost")
	if r == nil {
		return
	}
	if r.Exited != (MessageRef{}) {
		b.addProblem("lost-after-exit", m.Job, r.Site, "lost, but it exited at %v", r.Exited.At)
		return
	}
	r.Exited = from
	if a := e.rec.CurrentAward(); a != nil {
		a.releaseAward(from)
	}
	e.rec.Lost = append(e.rec.Lost, *r)
	e.rec.addEvent(JobEvent{Kind: EventInterrupted, At: from.At, Site: r.Site, Why: m.Why})
	e.rec.Run, e.rec.phase = nil, phaseWaiting
}

// foldPreempted closes a run that its site stopped to make room for another job. The job is
// on sale and stays Preempted until it is awarded. A run with a usage report is a part of the
// job, whose bill stands; one without is lost. A message about an award that is not the
// newest, or that ended otherwise, is ignored. A Preempt is not folded: it asks, and this says
// what came of it.
func (b *History) foldPreempted(from MessageRef, m protocol.Preempted) {
	e := b.jobs[m.Job]
	if e == nil || e.rec.IsOver() || len(e.rec.Awards) == 0 {
		b.ignored++
		return
	}
	a := &e.rec.Awards[len(e.rec.Awards)-1]
	if a.Site != from.From.SiteName() || a.Epoch != m.Epoch || a.Answer == "decline" || a.Preempted != nil || e.rec.phase == phaseEnded {
		b.ignored++
		return
	}
	report, billed := m.Report()
	if billed {
		b.planRun(from, m.Job, m.Epoch, m.Started) // its accept may have been lost
	}
	a.Preempted, a.Answer, a.Answered, a.Declined = &m, "preempted", from, m.Why
	a.releaseAward(from)
	e.updateAward(*a)
	e.rec.addEvent(JobEvent{Kind: EventPreempted, At: from.At, Site: a.Site, Why: m.Why})
	if r := e.rec.Run; r != nil {
		if r.Exited == (MessageRef{}) {
			r.Exited = from
		}
		if billed {
			b.billRun(from, r, report)
			b.addCost(from.At, r.Cost, 1, false)
			r.Preempted, r.Transfer = true, a.Option.Transfer
			e.rec.Parts = append(e.rec.Parts, *r)
		} else {
			e.rec.Lost = append(e.rec.Lost, *r)
		}
	}
	e.rec.Run, e.rec.phase = nil, phasePreempted
}

// billRun adds a usage report to its run and to the sums of its site.
func (b *History) billRun(from MessageRef, r *Run, m protocol.UsageReport) {
	r.Done, r.Started, r.Ended = from, m.Started, m.Ended
	if r.inferred {
		r.Planned, r.Node, r.Devices, r.Places = false, m.Node, m.Devices, m.Places
	}
	r.Cost = protocol.Usage{IT: m.IT, Energy: m.Energy, Carbon: m.Carbon, Money: m.Money, Finish: m.Ended}
	r.Estimated, r.Failed = m.Estimated, m.Failed
	s := b.siteRecord(r.Site)
	s.Jobs = s.Jobs.Plus(r.Cost)
}

// foldUsageReport records the measured end and bill of a run. Work left over (Left) makes the
// run a paused part: its bill stands, and the job is on sale for the rest.
func (b *History) foldUsageReport(from MessageRef, m protocol.UsageReport) {
	b.planRun(from, m.Job, m.Epoch, m.Started) // its accept may have been lost
	e, r := b.findRun(from, m.Job, m.Epoch, "done")
	if r == nil {
		return
	}
	if r.Done != (MessageRef{}) {
		b.addProblem("done-twice", m.Job, r.Site, "reported done before, at %v", r.Done.At)
		return
	}
	b.billRun(from, r, m)
	s := b.siteRecord(r.Site)
	b.addCost(from.At, r.Cost, 1, m.Left == 0 && m.Ended > e.rec.Job.Deadline)
	if a := e.rec.CurrentAward(); a != nil {
		a.Starts = append(a.Starts, KnownStart{from.At, m.Started, false})
	}
	if r.Paused = m.Left > 0; r.Paused {
		if a := e.rec.CurrentAward(); a != nil {
			r.Transfer = a.Option.Transfer
		}
		e.rec.Parts = append(e.rec.Parts, *r)
		e.rec.addEvent(JobEvent{Kind: EventPaused, At: m.Ended, Site: r.Site})
		e.rec.Run, e.rec.phase = nil, phaseWaiting
		return
	}
	e.rec.phase = phaseEnded
	kind := EventEnded
	if m.Failed != "" {
		kind = EventFailed
	}
	e.rec.addEvent(JobEvent{Kind: kind, At: m.Ended, Site: r.Site, Why: protocol.Reason{Note: m.Failed}})
	s.Ran++
	if e.rec.EndedLate() {
		s.Late++
	}
}

// foldSettlement records what a site was paid: for the newest part if the message says Part,
// else for the run of an ended job. A job is over once its run is settled.
func (b *History) foldSettlement(from MessageRef, m protocol.Settlement) {
	e := b.jobs[m.Job]
	var r *Run
	switch {
	case e == nil:
	case m.Part && len(e.rec.Parts) > 0:
		r = &e.rec.Parts[len(e.rec.Parts)-1]
	case !m.Part && e.rec.phase == phaseEnded:
		r = e.rec.Run
	}
	switch {
	case r == nil:
		b.addProblem("settled-before-end", m.Job, m.Site, "settled, but it has not been reported done")
	case r.Settlement != (MessageRef{}):
		b.addProblem("settled-twice", m.Job, m.Site, "settled before, at %v", r.Settlement.At)
	default:
		r.Settlement, r.Settled = from, m
		e.rec.addEvent(JobEvent{Kind: EventSettled, At: from.At, Site: m.Site, Paid: m.Paid})
		s := b.siteRecord(m.Site)
		s.Paid += m.Paid
		if !m.Part {
			s.Settled++
			b.forgetJobs(m.Job)
		}
	}
}

// foldCancel notes that a site was asked to stop a job. It counts only for the award in force:
// a site that returns after it was declared gone is asked to stop runs of older epochs.
func (b *History) foldCancel(from MessageRef, to protocol.Party, m protocol.Cancel) {
	e := b.jobs[m.Job]
	if w := b.wholes[m.Job]; w != nil && e == nil {
		for _, p := range b.partsOf(w) {
			b.foldCancel(from, to, protocol.Cancel{Job: p.rec.Job.ID})
		}
	}
	if e == nil || e.rec.IsOver() {
		return
	}
	a := e.rec.CurrentAward()
	if a == nil || a.Answer != "accept" || a.Released != (MessageRef{}) {
		return
	}
	if from.From == protocol.OperatorAPI || from.From == protocol.Coordinator && to == protocol.AgentParty(a.Site) && m.Epoch == a.Epoch {
		if e.rec.Stopping == (MessageRef{}) { // the coordinator repeats it
			e.rec.addEvent(JobEvent{Kind: EventCancelRequested, At: from.At, Site: a.Site})
		}
		e.rec.Stopping = from
	}
}

// takeBack detaches a rejected job from the site that it was awarded to, and reports whether
// that is right. It is in two cases: the award was not answered before the job was cancelled
// or its time was over, or the run was rejected because its report is impossible. The bill
// of such a run is subtracted from the site's sums. A settled run stays.
func (b *History) takeBack(e *jobEntry, why protocol.Code) bool {
	a, r := e.rec.CurrentAward(), e.rec.Run
	switch {
	case e.rec.phase == phaseRefused:
		return false
	case r == nil && a != nil && a.Answer == "":
		return true
	case why != protocol.Cancelled && why != protocol.ImpossibleBid, r != nil && r.Settlement != (MessageRef{}):
		return false
	case r != nil && r.Done != (MessageRef{}):
		s := b.siteRecord(r.Site)
		s.Jobs = s.Jobs.Minus(r.Cost)
		b.addCost(b.span.Last, r.Cost, -1, e.rec.EndedLate())
		s.Ran--
		if e.rec.EndedLate() {
			s.Late--
		}
	}
	e.rec.Run = nil
	return true
}

// takeBackSegment removes the last paused part of a job whose report is impossible, and its
// bill from the sums. It does nothing if the job has a newer run or the part is settled.
func (b *History) takeBackSegment(e *jobEntry) {
	n := len(e.rec.Parts) - 1
	if n < 0 || e.rec.Run != nil || e.rec.Parts[n].Settlement != (MessageRef{}) {
		return
	}
	s := b.siteRecord(e.rec.Parts[n].Site)
	s.Jobs = s.Jobs.Minus(e.rec.Parts[n].Cost)
	b.addCost(b.span.Last, e.rec.Parts[n].Cost, -1, false)
	e.rec.Parts = e.rec.Parts[:n]
}
