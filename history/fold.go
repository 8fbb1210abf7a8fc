package history

import (
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

func (b *History) foldSubmit(from MessageRef, s protocol.Submit) {
	b.span.extendArrivals(s.Job.Arrival)
	if b.cfg.Live {
		b.foldLiveSubmit(from, s)
		return
	}
	b.noteTenant(s.Job.Tenant)
	if b.numbers[s.Job.ID] == 0 {
		b.numbers[s.Job.ID] = len(b.numbers) + 1
	}
	e := b.jobs[s.Job.ID]
	switch {
	case e == nil:
		b.beginJob(s.Job.ID, &jobEntry{rec: JobRecord{Job: s.Job, Submitted: from, State: Waiting}})
	case e.rec.Submitted == MessageRef{}:
		e.rec.Job, e.rec.Submitted = s.Job, from
	default:
		b.repeats++
		if e.isOver() {
			e.next = &JobRecord{Job: s.Job, Submitted: from, State: Waiting}
		}
	}
}

// beginNextInstance begins the job that was submitted under the id of one that is over, and is
// heard of: what only repeats that one is not.
func (b *History) beginNextInstance(id protocol.JobID) {
	if e := b.jobs[id]; e != nil && e.next != nil && e.isOver() {
		next := &jobEntry{rec: *e.next, before: e}
		next.rec.Before = e.rec.Before + 1
		b.beginJob(id, next)
	}
}

// beginJob puts a job under its id.
func (b *History) beginJob(id protocol.JobID, e *jobEntry) {
	b.jobs[id] = e
	if !b.cfg.Live {
		b.inOrder = append(b.inOrder, e)
	}
}

// foldCall opens a round for its jobs. The same round called again asks again, at
// newer prices, and takes the place of the first asking. Of a job that is not known
// the submission may come later: what is said by two is written in any order.
func (b *History) foldCall(from MessageRef, m protocol.CallForBids) {
	c := &clearingRound{
		round: m.Round, message: from, closes: m.Closes, weights: m.Weights, jobs: len(m.Jobs),
		shadow: make(map[place]protocol.ShadowPrice, len(m.ShadowPrices)),
	}
	for _, name := range slices.Sorted(maps.Keys(b.sites)) {
		s := b.sites[name]
		if !s.decommissioned { // else nobody asks it
			c.sites = append(c.sites, name)
		}
		if !s.answered {
			s.SilentRounds++
		}
		s.answered = false
	}
	for _, p := range m.ShadowPrices {
		if !b.cfg.Live { // which prices no option
			c.shadow[place{p.Site, p.Model}] = p
		}
	}
	if was := b.calls[m.Round]; was != nil {
		b.rounds[slices.Index(b.rounds, was)] = c
	} else {
		b.rounds = append(b.rounds, c)
	}
	b.calls[m.Round] = c
	b.forgetRounds()
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

// expireAward notes that a job is on sale again: nobody answered its award in time.
func (e *jobEntry) expireAward(from MessageRef) {
	if a := e.rec.CurrentAward(); e.rec.State == Awarded && a != nil && a.Answer == "" {
		e.rec.State, a.Expired, a.Released = Waiting, true, from
		e.updateAward(*a)
	}
}

// markOlderRounds notes a decision of a round that is not on record, before any that is.
func (e *jobEntry) markOlderRounds() { e.rec.Older = e.rec.Older || e.first == nil }

// openRound makes room for a round's hearing, and forgets the menus of the one
// before unless it was the first.
func (e *jobEntry) openRound(c *clearingRound, all bool) {
	again := e.last != nil && e.last.round.round == c.round
	if e.last != nil && !again {
		e.rec.Rounds = append(e.rec.Rounds, e.last.summary)
	}
	h := &jobRound{round: c, summary: RoundSummary{Round: c.round, At: c.message.At}}
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

// foldBids adds a site's menus. One that names another round than its job's last
// is too late to matter and is only counted.
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

// isLateBid reports whether a round had closed when a site answered. The clock of a site may
// be wrong, so on the ledger of a coordinator that runs the order tells.
func (b *History) isLateBid(c *clearingRound, from MessageRef) bool {
	if b.span.Live || b.cfg.Live {
		return c.decided
	}
	return from.At > c.closes
}

// markDecided notes that what comes now was not read in a round.
func (b *History) markDecided(round uint64) {
	if c := b.calls[round]; c != nil {
		c.decided = true
	}
}

func (b *History) foldAward(from MessageRef, site string, m protocol.Award) {
	b.beginNextInstance(m.Job) // off the books, where no calls are
	e := b.jobs[m.Job]
	if e == nil {
		b.addProblem("awarded-unknown-job", m.Job, site, "an award of a job that nobody submitted")
		return
	}
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
	if b.cfg.Live && len(e.rec.Awards) >= keptAwards {
		e.rec.Awards = append(e.rec.Awards[:0], e.rec.Awards[1:]...)
	}
	e.rec.Awards = append(e.rec.Awards, d)
	e.rec.State, e.rec.Hold, e.rec.Stopping = Awarded, nil, MessageRef{}
	b.siteRecord(site).Awards++
	e.decideRound(m.Round, d)
}

func (b *History) foldDefer(from MessageRef, m protocol.Defer) {
	b.holds++
	b.beginNextInstance(m.Job)
	e := b.jobs[m.Job]
	if e == nil {
		b.addProblem("held-unknown-job", m.Job, "", "a hold of a job that nobody submitted")
		return
	}
	e.expireAward(from) // off the books, where no calls are
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

// foldReject ends a job. A duplicate is refused under the id of the job that it
// repeats, which goes on.
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
	if e.last != nil && e.last.decision.Kind == "" { // else no round refused it: it was cancelled, or its time was over
		e.last.setDecision(d)
	}
}

// takeBack takes a job that is refused from the site that it was awarded to: nobody
// accepted that before it was cancelled or its time was over, or what its site reports
// of the run cannot be, and does not count. It reports false where the site keeps it.
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

// takeBackSegment takes a part of a run back that cannot be as its site reports it.
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

func (e *jobEntry) decideRound(round uint64, d Decision) {
	if e.last != nil && e.last.round.round == round {
		e.last.setDecision(d)
	}
}

// updateAward has the round of an award know what came of it.
func (e *jobEntry) updateAward(a Decision) {
	for _, h := range append([]*jobRound{e.first, e.last}, e.all...) {
		if h != nil && h.decision.Kind == "award" && h.decision.Epoch == a.Epoch {
			h.decision = a
		}
	}
}

// foldAwardAnswer notes that a site took an award or gave it back; what it took first it
// may give back later.
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
		switch newest := i == len(e.rec.Awards)-1; {
		case word == "decline": // a site says it again until it is answered
			b.declines++
			a.releaseAward(from)
		case e.rec.State == Waiting && newest && a.Expired && !a.voided:
			e.rec.State, e.rec.Hold, a.Expired, a.Released = Awarded, nil, false, MessageRef{} // heard late, and not sold again
		}
		if word == "accept" && a.Released == (MessageRef{}) {
			a.Starts = append(a.Starts, KnownStart{from.At, start, true})
		}
		e.updateAward(*a)
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

// releaseAward notes that an award holds no longer.
func (d *Decision) releaseAward(from MessageRef) {
	if d.Released == (MessageRef{}) {
		d.Released = from
	}
}

// runEndingReasons are reasons for which a site gives up what may have run there.
var runEndingReasons = []protocol.Code{protocol.Evicted, protocol.NodeLost, protocol.TakenOver, protocol.Cancelled, protocol.SiteDecommissioned}

// leaveSite takes a job from its site. A run that was planned, and was to have begun by
// then, is taken to have gone on until then: nothing better is known of it.
func (e *jobEntry) leaveSite(from MessageRef, why protocol.Code) {
	if r := e.rec.Run; r != nil && r.Planned && r.Started < from.At && slices.Contains(runEndingReasons, why) {
		r.Exited = from
		e.rec.Lost = append(e.rec.Lost, *r)
	}
	e.rec.Run = nil
}

// foldDecommission notes that a site's jobs were taken from it, as if it had given them back.
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
