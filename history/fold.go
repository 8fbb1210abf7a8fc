package history

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// foldSubmit records a submission. A job may already be known from a call for bids that was
// read first; its entry is then completed. A submission of a known id is a repeat, and the
// next instance of the id if the job before is over: it begins with its first call
// (beginNextInstance), since until then the submission may be a mere repeat.
func (b *History) foldSubmit(from MessageRef, s protocol.Submit) {
	b.span.extendArrivals(s.Job.Arrival)
	if s.Job.IsDivided() && s.Job.InvalidReason() == "" {
		b.foldWhole(from, s)
		return
	}
	if b.cfg.Live {
		b.foldLiveSubmit(from, s)
		return
	}
	b.noteTenant(s.Job.Tenant)
	// A number belongs to an id, not to an instance: it is set once, by the first submission.
	if b.numbers[s.Job.ID] == 0 {
		b.numbers[s.Job.ID] = len(b.numbers) + 1
	}
	e := b.jobs[s.Job.ID]
	switch {
	case e == nil:
		b.beginJob(s.Job.ID, &jobEntry{rec: newJobRecord(from, s.Job)})
	// A call for bids named the job before its submission was read.
	case e.rec.Submitted == MessageRef{}:
		e.rec.Job, e.rec.Submitted = s.Job, from
		e.rec.Events = append([]JobEvent{{Kind: EventSubmitted, First: from.At, At: from.At, Times: 1}}, e.rec.Events...)
	default:
		b.repeats++
		if e.rec.IsOver() {
			next := newJobRecord(from, s.Job)
			e.next = &next
		}
	}
}

// newJobRecord begins the record of a job that was submitted.
func newJobRecord(from MessageRef, j protocol.Job) JobRecord {
	r := JobRecord{Job: j, Submitted: from, phase: phaseWaiting}
	r.addEvent(JobEvent{Kind: EventSubmitted, At: from.At})
	return r
}

// beginNextInstance replaces a job that is over by the one that was submitted under the same
// id since. It is called when the coordinator acts on the id: a submission alone may be a
// repeat of the job that is over. The new instance links to the one before.
func (b *History) beginNextInstance(id protocol.JobID) {
	if e := b.jobs[id]; e != nil && e.next != nil && e.rec.IsOver() {
		next := &jobEntry{rec: *e.next, before: e}
		next.rec.Before = e.rec.Before + 1
		b.beginJob(id, next)
	}
}

// beginJob makes e the current job of its id. A live view keeps no list of all jobs, as that
// would grow for as long as the coordinator runs.
func (b *History) beginJob(id protocol.JobID, e *jobEntry) {
	b.jobs[id] = e
	if !b.cfg.Live {
		b.inOrder = append(b.inOrder, e)
	}
}

// expireAward puts an awarded job back on sale if the site has not answered: the coordinator
// calls or awards it once more only after the lease of the award has run out.
func (e *jobEntry) expireAward(from MessageRef) {
	if a := e.rec.CurrentAward(); e.rec.phase == phaseAwarded && a != nil && a.Answer == "" {
		e.rec.phase, a.Expired, a.Released = phaseWaiting, true, from
		e.rec.addEvent(JobEvent{Kind: EventExpired, At: from.At, Site: a.Site})
		e.updateAward(*a)
	}
}

// markOlderRounds notes a decision of a round whose call is not in this record, before any
// round of the job that is: a ledger may begin in the middle of a run.
func (e *jobEntry) markOlderRounds() { e.rec.Older = e.rec.Older || e.first == nil }

// openRound starts the record of a round for a job. Of the rounds between the first and the
// newest only summaries stay, unless all is set (Config.All).
func (e *jobEntry) openRound(c *clearingRound, all bool) {
	again := e.last != nil && e.last.round.round == c.round
	if e.last != nil && !again {
		e.rec.Rounds = append(e.rec.Rounds, e.last.summary)
	}
	h := &jobRound{round: c, summary: RoundSummary{Round: c.round, At: c.message.At}}
	// A repeated call replaces the record of the same round, also where that is the first.
	if e.first == nil || again && e.first == e.last {
		e.first = h
	}
	if all {
		if again {
			e.all = e.all[:len(e.all)-1]
		}
		e.all = append(e.all, h)
	}
	e.last = h
}

// jobRecord returns a job with its rounds. Summaries cover every round; full rounds are all
// of them, or the first and the newest (once if they are the same).
func (b *History) jobRecord(e *jobEntry) JobRecord {
	r := e.rec
	r.Number = b.numbers[r.Job.ID]
	if e.last == nil || b.cfg.Live {
		return r
	}
	r.Rounds = append(slices.Clone(r.Rounds), e.last.summary)
	if b.cfg.NoBids {
		return r
	}
	kept := e.all
	if kept == nil {
		kept = slices.Compact([]*jobRound{e.first, e.last})
	}
	for _, h := range kept {
		r.FullRounds = append(r.FullRounds, h.exportRound(r.Job))
	}
	return r
}

// foldBids adds the bids of a site to the rounds of its jobs, and keeps the state of the site
// that the message reports. Bids for a round other than the job's newest came too late to
// have any effect and are only counted.
func (b *History) foldBids(from MessageRef, m protocol.Bids) {
	site := from.From.SiteName()
	s := b.siteRecord(site)
	s.applyBid(m)
	b.noteCondition(s, from.At, false)
	if !b.cfg.Live {
		s.addForecast(Forecast{from.At, m.Grid})
		s.addIdle(IdleGPUs{from.At, m.Idle, m.FragmentedGPUs})
	}
	c := b.calls[m.Round]
	// A site offered in a round if its message came in time, whether or not it bid for every job.
	late := c != nil && b.isLateBid(c, from)
	if c != nil && !late && !slices.Contains(c.offered, site) {
		c.offered = append(c.offered, site)
	}
	if late {
		b.keepLateOffer(from, m, c)
	}
	for _, menu := range m.Jobs {
		e := b.jobs[menu.Job]
		if e == nil || e.last == nil || e.last.round.round != m.Round {
			b.ignored++
			continue
		}
		e.last.addBids(e.rec.Job, from, menu, m.Holes, late, b.cfg)
	}
}

// isLateBid reports whether a round had closed when a site answered. A replay has one clock,
// so the time of sending tells. In the log of a live coordinator the clock of a site may be
// wrong; there the order of receipt tells: late is what follows the first decision.
func (b *History) isLateBid(c *clearingRound, from MessageRef) bool {
	if b.span.Live || b.cfg.Live {
		return c.decided
	}
	return from.At > c.closes
}

// markDecided notes that a round is being decided: bids that follow had no effect on it. A round
// closes before its window ends if it does not wait for the sites that are missing.
func (b *History) markDecided(round uint64, at protocol.Time) {
	if c := b.calls[round]; c != nil && !c.decided {
		c.decided = true
		if len(c.offered) < len(c.sites) {
			c.closes = min(c.closes, at)
		}
		b.useLateOffers(c)
	}
}

// foldAward records an award, with the cost of its option in the round, and puts the job into
// state Awarded. An award of a job that is not on sale breaks an invariant of the market and
// is recorded as a problem.
func (b *History) foldAward(from MessageRef, site string, m protocol.Award) {
	b.beginNextInstance(m.Job) // for a record that lacks the calls
	e := b.jobs[m.Job]
	if e == nil {
		b.addProblem("awarded-unknown-job", m.Job, site, "an award of a job that was not submitted")
		return
	}
	// Without the call of its round in the record, the award itself shows that an earlier
	// award of the job has lapsed.
	if b.calls[m.Round] == nil {
		e.expireAward(from)
		e.markOlderRounds()
	}
	if !e.rec.phase.isOnSale() {
		b.addProblem("awarded-twice", m.Job, site, "awarded while %s", e.rec.phase)
	}
	if b.cfg.Live && e.rec.IsOver() {
		return // the market cancels the run of a site that accepts it all the same
	}
	b.markDecided(m.Round, from.At)
	e.rec.setPods(m.Places)
	d := Decision{
		Kind: "award", Message: from, Why: m.Why, Site: site, Start: m.Option.Start,
		Round: m.Round, Epoch: m.Epoch, Option: PricedOption{BidOption: m.Option}, PauseAt: m.Pause, Queue: m.MayQueue, Proof: m.Proof, Policy: b.policy,
		Starts: []KnownStart{{from.At, m.Option.Start, true}},
	}
	if c := b.calls[m.Round]; c != nil {
		d.Option = c.priceOption(e.rec.Job, site, m.Option)
		c.awards++
		c.proof = m.Proof
	}
	// A live view drops the oldest award: a job that sites keep declining has many.
	if b.cfg.Live && len(e.rec.Awards) >= keptAwards {
		e.rec.Awards = append(e.rec.Awards[:0], e.rec.Awards[1:]...)
	}
	e.rec.Awards = append(e.rec.Awards, d)
	e.rec.phase, e.rec.Hold, e.rec.Stopping = phaseAwarded, nil, MessageRef{}
	e.rec.addEvent(JobEvent{Kind: EventAwarded, At: from.At, Site: site, Start: m.Option.Start, Why: m.Why, Decision: max(from.Seq, 1)})
	b.siteRecord(site).Awards++
	e.decideRound(m.Round, d)
	b.closeLiveRound(e)
}

// foldDefer records a hold. It changes what the job waits for only while the job is on sale;
// the round keeps the decision in any case.
func (b *History) foldDefer(from MessageRef, m protocol.Defer) {
	b.holds++
	b.beginNextInstance(m.Job)
	e := b.jobs[m.Job]
	if e == nil {
		b.addProblem("held-unknown-job", m.Job, "", "a hold of a job that was not submitted")
		return
	}
	e.expireAward(from) // for a record that lacks the calls
	if c := b.calls[m.Round]; c != nil {
		c.holds++
		b.markDecided(m.Round, from.At)
	} else {
		e.markOlderRounds()
	}
	d := Decision{
		Kind: "hold", Message: from, Why: m.Why, Round: m.Round,
		Site: m.Site, Start: m.Start, Until: m.Until, Policy: b.policy,
	}
	if e.rec.phase.isOnSale() {
		e.rec.Hold = &d
		e.rec.addEvent(JobEvent{Kind: EventHeld, At: from.At, Site: m.Site, Start: m.Start, Until: m.Until, Why: m.Why, Decision: max(from.Seq, 1)})
	}
	if b.cfg.Live && e.last != nil && e.last.round.round == m.Round { // the bids are dropped with the round
		d.Saving, _ = savingOfPlan(e.last.exportRound(e.rec.Job), d)
	}
	e.decideRound(m.Round, d)
	b.closeLiveRound(e)
}

// closeLiveRound drops the bids for a job once its round is decided: a live view keeps none.
func (b *History) closeLiveRound(e *jobEntry) {
	if b.cfg.Live {
		e.last = nil
	}
}

// foldReject ends a job. A submission that repeats a known job is rejected as a duplicate
// under the same id; that job goes on, so the message is only counted.
func (b *History) foldReject(from MessageRef, m protocol.Reject) {
	if m.Why.Code == protocol.Duplicate {
		b.duplicates++
		return
	}
	b.beginNextInstance(m.Job)
	e := b.jobs[m.Job]
	if w := b.wholes[m.Job]; w != nil && e == nil {
		b.refuseWhole(from, w, m)
		return
	}
	if e == nil {
		b.addProblem("refused-unknown-job", m.Job, "", "a refusal of a job that was not submitted")
		return
	}
	// What the site reported of a part of the run cannot be true, so its bill does not count.
	if m.Why.Code == protocol.ImpossibleBid {
		b.takeBackSegment(e)
	}
	if !e.rec.phase.isOnSale() && !b.takeBack(e, m.Why.Code) {
		b.addProblem("refused-and-placed", m.Job, "", "refused while %s", e.rec.phase)
		return
	}
	d := Decision{Kind: "refuse", Message: from, Why: m.Why}
	e.rec.phase, e.rec.Refusal = phaseRefused, &d
	e.rec.addRefusal(from, m.Why)
	if n := len(b.rounds); n > 0 {
		b.rounds[n-1].refused++
	}
	b.forgetJobs(m.Job)
	// The newest round gets the refusal as its decision only if it has none yet.
	if e.last != nil && e.last.decision.Kind == "" { // else no round refused it: it was cancelled, or its time was over
		e.last.setDecision(d)
	}
	b.closeLiveRound(e)
}

// decideRound records a decision in the newest round of a job; one of an older round has
// only its summary left.
func (e *jobEntry) decideRound(round uint64, d Decision) {
	if e.last != nil && e.last.round.round == round {
		e.last.setDecision(d)
	}
}

// updateAward copies an award into every kept round that made it: rounds hold copies of
// decisions, and the answer of the site comes after the round.
func (e *jobEntry) updateAward(a Decision) {
	for _, h := range append([]*jobRound{e.first, e.last}, e.all...) {
		if h != nil && h.decision.Kind == "award" && h.decision.Epoch == a.Epoch {
			h.decision = a
		}
	}
}

// foldAwardAnswer records the answer of a site to an award: word is "accept" or "decline".
// A site may decline what it accepted before; a decline is final. Epoch and site identify
// the award, so an answer to an earlier award of the job does not touch a newer one. start
// is when the site means to start the job; it counts for an accept only.
func (b *History) foldAwardAnswer(from MessageRef, id protocol.JobID, epoch uint64, word string, start protocol.Time, why protocol.Reason) {
	e := b.jobs[id]
	if e == nil {
		b.ignored++
		return
	}
	for i := range e.rec.Awards {
		a := &e.rec.Awards[i]
		if a.Epoch != epoch || a.Site != from.From.SiteName() || a.Answer == word || a.Answer == "decline" {
			continue
		}
		if word == "decline" && e.rec.phase == phaseEnded && i == len(e.rec.Awards)-1 {
			break // it ran to its end, and cannot be given back
		}
		a.Answer, a.Answered, a.Declined = word, from, why
		// The site may answer after its award has lapsed. The market takes a late accept if the
		// job was not awarded elsewhere since and the site was not declared gone.
		switch newest := i == len(e.rec.Awards)-1; {
		case word == "decline": // a site repeats it until it is answered
			b.declines++
			a.releaseAward(from)
		case e.rec.phase == phaseWaiting && newest && a.Expired && !a.voided:
			e.rec.phase, e.rec.Hold, a.Expired, a.Released = phaseAwarded, nil, false, MessageRef{} // answered late, and not awarded since
		}
		if word == "accept" && a.Released == (MessageRef{}) {
			a.Starts = append(a.Starts, KnownStart{from.At, start, true})
			e.rec.addEvent(JobEvent{Kind: EventAccepted, At: from.At, Site: a.Site, Start: start})
		} else if word == "decline" {
			e.rec.addEvent(JobEvent{Kind: EventDeclined, At: from.At, Site: a.Site, Why: why})
		}
		e.updateAward(*a)
		// Declining the newest award puts the job back on sale.
		if word == "decline" && e.rec.phase == phaseAwarded && i == len(e.rec.Awards)-1 {
			e.rec.phase = phaseWaiting
			if r := e.rec.Run; r != nil && r.inferred {
				e.leaveSite(from, why.Code)
			}
		}
		return
	}
	b.ignored++
}

// releaseAward notes when an award ceased to hold: the first message that ends it counts.
func (d *Decision) releaseAward(from MessageRef) {
	if d.Released == (MessageRef{}) {
		d.Released = from
	}
}

// runEndingReasons are reasons for which a site gives up what may have run there.
var runEndingReasons = []protocol.Code{protocol.Evicted, protocol.NodeLost, protocol.TakenOver, protocol.Cancelled, protocol.SiteDecommissioned}

// leaveSite detaches a job from its site. If the run was planned to have begun by then, and
// the reason is one for which a run ends, the run is taken to have lasted until the message:
// the log of a coordinator has no better figure. With launches on the ledger an executor reports
// each end, but that of an orphaned run only if its site comes back.
func (e *jobEntry) leaveSite(from MessageRef, why protocol.Code) {
	if r := e.rec.Run; r != nil && r.Started < from.At && (why == protocol.SiteDecommissioned || r.inferred && slices.Contains(runEndingReasons, why)) {
		r.Exited = from
		e.rec.Lost = append(e.rec.Lost, *r)
	}
	e.rec.Run = nil
}

// foldDecommission takes all jobs from a site that an operator declared gone, as if the site
// had declined them, and voids its bids in rounds that are not decided yet.
func (b *History) foldDecommission(from MessageRef, g protocol.DecommissionSite) {
	if s := b.sites[g.Site]; s != nil {
		c := SiteCondition{State: protocol.SiteRemoved, Since: from.At, Why: protocol.Reason{Code: protocol.SiteDecommissioned, Note: g.Why}, By: g.By}
		s.decommission(c, b.cfg.Live)
		b.noteCondition(s, from.At, true)
		b.addEvent(SiteEvent{At: from.At, Kind: EventRemove, Site: g.Site, SiteCondition: c})
	}
	why := protocol.Reason{Code: protocol.SiteDecommissioned, Note: g.By}
	for _, id := range b.JobIDs() {
		e := b.jobs[id]
		if e.last != nil {
			e.last.voidBids(e.rec.Job, g.Site, why)
		}
		n := len(e.rec.Awards)
		if n == 0 || e.rec.Awards[n-1].Site != g.Site {
			continue
		}
		a := &e.rec.Awards[n-1]
		a.voided = true // the market takes no late accept of it either
		if e.rec.phase != phaseAwarded && e.rec.phase != phaseRunning {
			continue
		}
		a.releaseAward(from)
		a.Answer, a.Answered, a.Declined = "decline", from, why
		e.updateAward(*a)
		e.leaveSite(from, protocol.SiteDecommissioned)
		e.rec.phase = phaseWaiting
		e.rec.addEvent(JobEvent{Kind: EventDecommissioned, At: from.At, Site: g.Site, Why: protocol.Reason{Code: why.Code, Note: g.Why}})
	}
}
