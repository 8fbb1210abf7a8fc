package history

import (
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// foldSubmit records a submission. A job may already be known from a call for bids that was
// read first; its entry is then completed. A submission of a known id is a repeat, and the
// next instance of the id if the job before is over: it begins with its first call
// (beginNextInstance), since until then the submission may be a mere repeat.
func (b *History) foldSubmit(from MessageRef, s protocol.Submit) {
	b.span.extendArrivals(s.Job.Arrival)
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
		b.beginJob(s.Job.ID, &jobEntry{rec: JobRecord{Job: s.Job, Submitted: from, State: Waiting}})
	// A call for bids named the job before its submission was read.
	case e.rec.Submitted == MessageRef{}:
		e.rec.Job, e.rec.Submitted = s.Job, from
	default:
		b.repeats++
		if e.isOver() {
			e.next = &JobRecord{Job: s.Job, Submitted: from, State: Waiting}
		}
	}
}

// beginNextInstance replaces a job that is over by the one that was submitted under the same
// id since. It is called when the coordinator acts on the id: a submission alone may be a
// repeat of the job that is over. The new instance links to the one before.
func (b *History) beginNextInstance(id protocol.JobID) {
	if e := b.jobs[id]; e != nil && e.next != nil && e.isOver() {
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

// foldCall opens a round for its jobs. A second call of the same round replaces the first: it
// asks for bids at newer prices. A job need not be known yet: its submission has another
// sender, and a ledger keeps the order of each sender only.
func (b *History) foldCall(from MessageRef, m protocol.CallForBids) {
	c := &clearingRound{
		round: m.Round, message: from, closes: m.Closes, weights: m.Weights, jobs: len(m.Jobs),
		shadow: make(map[place]protocol.ShadowPrice, len(m.ShadowPrices)),
	}
	// A site that has not bid since the call before missed a round: applyBid starts the count anew.
	for _, name := range slices.Sorted(maps.Keys(b.sites)) {
		s := b.sites[name]
		if !s.decommissioned { // else it is not called
			c.sites = append(c.sites, name)
		}
		if !s.answered {
			s.SilentRounds++
		}
		s.answered = false
	}
	// Shadow prices turn options into costs; a live view keeps no options.
	for _, p := range m.ShadowPrices {
		if !b.cfg.Live { // which prices no option
			c.shadow[place{p.Site, p.Model}] = p
		}
	}
	// The round keeps its place in the order of calls when it is called a second time.
	if was := b.calls[m.Round]; was != nil {
		b.rounds[slices.Index(b.rounds, was)] = c
	} else {
		b.rounds = append(b.rounds, c)
	}
	b.calls[m.Round] = c
	b.forgetRounds()
	// A job of the call is on sale, so an award of it that got no answer has lapsed.
	for _, j := range m.Jobs {
		b.beginNextInstance(j.ID)
		e := b.jobs[j.ID]
		if e == nil {
			e = &jobEntry{rec: JobRecord{Job: j, State: Waiting}}
			b.beginJob(j.ID, e)
		}
		e.expireAward(from)
		if e.rec.Called == 0 || e.rec.lastCalled != m.Round {
			e.rec.Called, e.rec.lastCalled = e.rec.Called+1, m.Round
		}
		if !b.cfg.Live {
			e.openRound(c, b.cfg.All)
		}
	}
}

// expireAward puts an awarded job back on sale if the site has not answered: the coordinator
// calls or awards it once more only after the lease of the award has run out.
func (e *jobEntry) expireAward(from MessageRef) {
	if a := e.rec.CurrentAward(); e.rec.State == Awarded && a != nil && a.Answer == "" {
		e.rec.State, a.Expired, a.Released = Waiting, true, from
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
	if e.last == nil {
		return r
	}
	r.Rounds = append(slices.Clone(r.Rounds), e.last.summary)
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
	b.siteRecord(site)
	s := b.sites[site]
	s.applyBid(from.At, m)
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
	for _, menu := range m.Jobs {
		e := b.jobs[menu.Job]
		if e == nil || e.last == nil || e.last.round.round != m.Round {
			b.ignored++
			continue
		}
		e.last.addBids(e.rec.Job, from, menu, late)
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

// markDecided notes that a round is being decided: bids that follow had no effect on it.
func (b *History) markDecided(round uint64) {
	if c := b.calls[round]; c != nil {
		c.decided = true
	}
}

// foldAward records an award, with the cost of its option in the round, and puts the job into
// state Awarded. An award of a job that is not on sale breaks an invariant of the market and
// is recorded as a problem.
func (b *History) foldAward(from MessageRef, site string, m protocol.Award) {
	b.beginNextInstance(m.Job) // for a record that lacks the calls
	e := b.jobs[m.Job]
	if e == nil {
		b.addProblem("awarded-unknown-job", m.Job, site, "an award of a job that nobody submitted")
		return
	}
	// Without the call of its round in the record, the award itself shows that an earlier
	// award of the job has lapsed.
	if b.calls[m.Round] == nil {
		e.expireAward(from)
		e.markOlderRounds()
	}
	if !e.rec.State.OnSale() {
		b.addProblem("awarded-twice", m.Job, site, "awarded while %s", e.rec.State)
	}
	if b.cfg.Live && e.isOver() {
		return // the market cancels the run of a site that accepts it all the same
	}
	b.markDecided(m.Round)
	d := Decision{
		Kind: "award", Message: from, Why: m.Why, Site: site, Start: m.Option.Start,
		Round: m.Round, Epoch: m.Epoch, Option: PricedOption{BidOption: m.Option}, Queue: m.MayQueue, Proof: m.Proof, Policy: b.policy,
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
	e.rec.State, e.rec.Hold, e.rec.Stopping = Awarded, nil, MessageRef{}
	b.siteRecord(site).Awards++
	e.decideRound(m.Round, d)
}

// foldDefer records a hold. It changes what the job waits for only while the job is on sale;
// the round keeps the decision in any case.
func (b *History) foldDefer(from MessageRef, m protocol.Defer) {
	b.holds++
	b.beginNextInstance(m.Job)
	e := b.jobs[m.Job]
	if e == nil {
		b.addProblem("held-unknown-job", m.Job, "", "a hold of a job that nobody submitted")
		return
	}
	e.expireAward(from) // for a record that lacks the calls
	if c := b.calls[m.Round]; c != nil {
		c.holds++
		c.decided = true
	} else {
		e.markOlderRounds()
	}
	d := Decision{
		Kind: "hold", Message: from, Why: m.Why, Round: m.Round,
		Site: m.Site, Start: m.Start, Until: m.Until, Policy: b.policy,
	}
	if e.rec.State.OnSale() {
		e.rec.Hold = &d
	}
	e.decideRound(m.Round, d)
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
	if e == nil {
		b.addProblem("refused-unknown-job", m.Job, "", "a refusal of a job that nobody submitted")
		return
	}
	// What the site reported of a part of the run cannot be true, so its bill does not count.
	if m.Why.Code == protocol.ImpossibleBid {
		b.takeBackSegment(e)
	}
	if !e.rec.State.OnSale() && !b.takeBack(e, m.Why.Code) {
		b.addProblem("refused-and-placed", m.Job, "", "refused while %s", e.rec.State)
		return
	}
	d := Decision{Kind: "refuse", Message: from, Why: m.Why}
	e.rec.State, e.rec.Refusal = Refused, &d
	if n := len(b.rounds); n > 0 {
		b.rounds[n-1].refused++
	}
	b.forgetJobs(m.Job)
	// The newest round gets the refusal as its decision only if it has none yet.
	if e.last != nil && e.last.decision.Kind == "" { // else no round refused it: it was cancelled, or its time was over
		e.last.setDecision(d)
	}
}

// takeBack detaches a rejected job from the site that it was awarded to, and reports whether
// that is right. It is in two cases: the award was not answered before the job was cancelled
// or its time was over, or the run was rejected because its report is impossible. The bill
// of such a run is subtracted from the site's sums. A settled run stays.
func (b *History) takeBack(e *jobEntry, why protocol.Code) bool {
	a, r := e.rec.CurrentAward(), e.rec.Run
	switch {
	case e.rec.State == Refused:
		return false
	case r == nil && a != nil && a.Answer == "":
		return true
	case why != protocol.Cancelled && why != protocol.ImpossibleBid, r != nil && r.Settlement != (MessageRef{}):
		return false
	case r != nil && r.Done != (MessageRef{}):
		s := b.siteRecord(r.Site)
		s.Jobs = subtractUsage(s.Jobs, r.Cost)
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
	s.Jobs = subtractUsage(s.Jobs, e.rec.Parts[n].Cost)
	b.addCost(b.span.Last, e.rec.Parts[n].Cost, -1, false)
	e.rec.Parts = e.rec.Parts[:n]
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
		if word == "decline" && e.rec.State == Ended && i == len(e.rec.Awards)-1 {
			break // it ran to its end, and cannot be given back
		}
		a.Answer, a.Answered, a.Declined = word, from, why
		// The site may answer after its award has lapsed. The market takes a late accept if the
		// job was not awarded elsewhere since and the site was not declared gone.
		switch newest := i == len(e.rec.Awards)-1; {
		case word == "decline": // a site repeats it until it is answered
			b.declines++
			a.releaseAward(from)
		case e.rec.State == Waiting && newest && a.Expired && !a.voided:
			e.rec.State, e.rec.Hold, a.Expired, a.Released = Awarded, nil, false, MessageRef{} // answered late, and not awarded since
		}
		if word == "accept" && a.Released == (MessageRef{}) {
			a.Starts = append(a.Starts, KnownStart{from.At, start, true})
		}
		e.updateAward(*a)
		// Declining the newest award puts the job back on sale.
		if word == "decline" && e.rec.State == Awarded && i == len(e.rec.Awards)-1 {
			e.rec.State = Waiting
			if r := e.rec.Run; r != nil && r.Planned {
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
// the log of a coordinator has no better figure.
func (e *jobEntry) leaveSite(from MessageRef, why protocol.Code) {
	if r := e.rec.Run; r != nil && r.Planned && r.Started < from.At && slices.Contains(runEndingReasons, why) {
		r.Exited = from
		e.rec.Lost = append(e.rec.Lost, *r)
	}
	e.rec.Run = nil
}

// foldDecommission takes all jobs from a site that an operator declared gone, as if the site
// had declined them, and voids its bids in rounds that are not decided yet.
func (b *History) foldDecommission(from MessageRef, g protocol.DecommissionSite) {
	if s := b.sites[g.Site]; s != nil {
		s.decommission(from.At, b.cfg.Live)
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
		if e.rec.State != Awarded && e.rec.State != Running {
			continue
		}
		a.releaseAward(from)
		a.Answer, a.Answered, a.Declined = "decline", from, why
		e.updateAward(*a)
		e.leaveSite(from, protocol.SiteDecommissioned)
		e.rec.State = Waiting
	}
}
