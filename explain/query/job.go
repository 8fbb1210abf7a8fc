package query

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// resultAndCase returns what a query is about, and a result that cites its decision.
func (l *Dataset) resultAndCase(q ask.Query) (r Result, m jobCase) {
	m = l.caseOf(q)
	r.citeDecision(m.decision)
	return r, m
}

func (m jobCase) jobName() Part          { return namePart(m.job.Job.ID) }
func (m jobCase) statePart() Part        { return recordedText(m.state) }
func (m jobCase) arrivalFigure() Figure  { return jobValue(m, "arrival", m.job.Job.Arrival) }
func (m jobCase) deadlineFigure() Figure { return jobValue(m, "deadline", m.job.Job.Deadline) }

// answerFacts says whose a job is, what it asks for and got, and its times.
func (l *Dataset) answerFacts(q ask.Query) Result {
	r, m := l.answerTimes(q), l.caseOf(q)
	j, got := m.job.Job, Part(plainText(""))
	if model := modelOf(m.job); model != "" {
		got = newSentence(", and got %s", namePart(model))
	}
	first := newSentence("Job %s of %s asks for %s%s; its home is %s, its urgency %s.", m.jobName(), namePart(cmp.Or(j.Tenant, "no tenant")), m.sizePart(), got, namePart(cmp.Or(j.Home, "no site")), plainText(j.Urgency.String()))
	r.Sentences = append([]Sentence{first}, r.Sentences...)
	return r
}

// describeAccepted says that a site accepted a job of which no start is known.
func (r *Result) describeAccepted(m jobCase) {
	run := m.job.Run
	r.addSentence("%s accepted job %s, to start at %s; when it did is known when it is over.", namePart(run.Site), m.jobName(), jobValue(m, "planned", run.Started))
}

// refusalPart says when and why a job was refused.
func (m jobCase) refusalPart() Part {
	x := m.job.Refusal
	return newSentence("was %s at %s%s", plainText(narrate.RefusalWord(x.Why.Code)), jobValue(m, "refused", x.Message.At), recordedText(narrate.RefusalCause(x.Why)))
}

// describeRefused says why a job was refused.
func (r *Result) describeRefused(m jobCase) {
	r.addSentence("Job %s %s.", m.jobName(), m.refusalPart())
}

// answerHeld says why a job waited, or still waits.
func (l *Dataset) answerHeld(q ask.Query) (r Result) {
	rec := l.caseOf(q).job
	m := l.caseOfDecision(rec, l.currentDecision(rec))
	r.describeWait(m)
	held := r.describeHolds(l, m)
	back := r.describeLapses(m)
	if d := rec.CurrentAward(); d != nil {
		r.citeDecision(d.Message.Seq)
		r.addSentence("It was awarded to %s at %s, to start %s, because %s.", namePart(d.Site), jobValue(m, "awarded", d.Message.At), jobValue(m, "start", d.Option.Start), reasonText(d.Why))
	} else {
		r.describeDecision(l, m)
	}
	if !held && !back && rec.Refusal == nil {
		r.addSentence("It was never held.")
	}
	r.describeGangRoom(m)
	if rec.EndedLate() {
		r.addSentence("It missed its deadline %s by %s.", m.deadlineFigure(), jobValue(m, "late-by", rec.Run.Ended.Sub(rec.Job.Deadline)))
	}
	return r
}

// describeWait says how long a job waited from its arrival to its first start, or how it stands without
// one.
func (r *Result) describeWait(m jobCase) {
	wait, started := m.job.WaitTime()
	switch {
	case started:
		first, _ := firstSegment(m.job)
		r.addSentence("Job %s waited %s: it arrived %s and started %s at %s.", m.jobName(), jobValue(m, "wait", wait), m.arrivalFigure(), jobValue(m, "first-started", first.Run.Started), namePart(first.Run.Site))
	case m.job.Run != nil:
		r.describeAccepted(m)
	case mayHaveRun(m.job):
		r.addSentence("The state of job %s at the end of the record is %s, and it was not told whether it had started before.", m.jobName(), m.statePart())
	default:
		r.addSentence("Job %s has not started; its state at the end of the record is %s.", m.jobName(), m.statePart())
	}
}

// holdsOf returns the decisions that held a job.
func (l *Dataset) holdsOf(r history.JobRecord) (all []history.DecisionRef) {
	for _, id := range r.Decisions {
		if d := l.decisionOf(id); d.Kind == "hold" {
			all = append(all, d)
		}
	}
	return all
}

// answerWhere says where a job runs or ran, or what its state is if it has no site.
func (l *Dataset) answerWhere(q ask.Query) Result {
	r, m := l.resultAndCase(q)
	r.describePaused(m)
	rec, run := m.job, m.job.Run
	switch {
	case rec.HasEnded():
		r.addSentence("Job %s ran at %s, on %s.", m.jobName(), namePart(run.Site), namePart(narrate.NodesText(run)))
		r.addSentence("It ended at %s.", jobValue(m, "ended", run.Ended))
	case run != nil && run.Planned:
		r.addSentence("Job %s is at %s, which accepted it to start at %s, and has not said that it is over.", m.jobName(), namePart(run.Site), jobValue(m, "planned", run.Started))
	case run != nil:
		r.addSentence("Job %s runs at %s, on %s, since %s.", m.jobName(), namePart(run.Site), namePart(narrate.NodesText(run)), jobValue(m, "started", run.Started))
	case waitsForRest(rec):
		r.addSentence("The rest of job %s waits to be sold.", m.jobName())
	case rec.CurrentAward() != nil:
		r.addSentence("Job %s was awarded to %s and has not been launched.", m.jobName(), namePart(rec.CurrentAward().Site))
	default:
		r.addSentence("Job %s runs nowhere; it is %s.", m.jobName(), m.statePart())
	}
	if n := len(declinedAwards(rec)); n > 0 {
		r.addSentence("It was given back %s before.", countedPart(jobValue(m, "declines", n), "time", "times"))
	}
	return r
}

// declinedAwards returns the awards of a job that their sites did not keep: they declined, or
// an operator declared the site decommissioned.
func declinedAwards(r history.JobRecord) (all []history.Decision) {
	for _, d := range r.Awards {
		if d.Answer == "decline" || d.Preempted != nil {
			all = append(all, d)
		}
	}
	return all
}

// mayHaveRun reports whether a site held a job that no site holds now. The messages do not say
// whether the job had started there, so answers must not claim that it never ran.
func mayHaveRun(r history.JobRecord) bool {
	return r.Run == nil && slices.ContainsFunc(r.Awards, func(d history.Decision) bool {
		return d.Preempted != nil || d.Answer == "decline" && slices.Contains(lostCodes, d.Declined.Code) || d.Answer == "accept" && r.IsRefused()
	})
}

// waitsForRest reports whether a job was paused and its remaining work is not awarded.
func waitsForRest(r history.JobRecord) bool {
	return len(r.Parts) > 0 && r.IsOnSale()
}

// describePaused lists the parts of a job that ended in a pause.
func (r *Result) describePaused(m jobCase) {
	for _, s := range m.job.RunSegments()[:len(m.job.Parts)] {
		id, job, p := segmentLabel(s), jobSubject(m.job.Job.ID), s.Run
		r.addSentence("It ran at %s from %s to %s; then it was "+narrate.HowStopped(s)+".", namePart(p.Site), valueOf(job, "part-from", p.Started, id), valueOf(job, "part-to", p.Ended, id))
		r.citeNamed(id)
	}
}

// answerDecision describes one decision, or the one in force for a job.
func (l *Dataset) answerDecision(q ask.Query) Result {
	r, m := l.resultAndCase(q)
	if m.decision == 0 {
		r.addSentence("No decision on job %s is in the record.", m.jobName())
		return r
	}
	r.addSentence("%s.", decisionCitation(m.decision))
	r.describeDecision(l, m)
	return r
}

// answerTimes says when a job arrived, started and ended, or is planned to.
func (l *Dataset) answerTimes(q ask.Query) Result {
	r, m := l.resultAndCase(q)
	r.addSentence("Job %s arrived %s, due %s.", m.jobName(), m.arrivalFigure(), m.deadlineFigure())
	r.describePaused(m)
	r.describeTimes(m)
	return r
}

// describeTimes says when a job started and ended, where and on what, or is planned to.
func (r *Result) describeTimes(m jobCase) {
	rec, run := m.job, m.job.Run
	d, now := rec.CurrentAward(), plainText("It has not started")
	if mayHaveRun(rec) {
		now = "It was given back"
	}
	switch {
	case run != nil && run.Planned:
		r.describeAccepted(m)
	case run != nil:
		again := plainText("")
		if len(rec.Parts) > 0 {
			again = " again"
		}
		r.addSentence("It started%s %s at %s, on %s.", again, jobValue(m, "started", run.Started), namePart(run.Site), namePart(narrate.NodesText(run)))
	case rec.IsRefused():
		r.addSentence("It %s.", m.refusalPart())
	case waitsForRest(rec):
		r.addSentence("Its rest waits to be sold.")
	case d != nil:
		if len(rec.Parts) > 0 {
			now = "Its rest has not started"
		}
		r.addSentence("%s; %s plans to start it at %s.", now, namePart(d.Site), jobValue(m, "planned", d.Option.Start))
	case m.hasRound && m.round.Decision.Kind == "hold" && m.round.Decision.Start != 0:
		r.addSentence("%s. The last plan was %s from %s; a plan is no promise, and changes with every round.", now, namePart(m.round.Decision.Site), jobValue(m, "planned", m.round.Decision.Start))
	default:
		r.addSentence("%s, and no plan for it is in the record.", now)
	}
	if !rec.HasEnded() {
		if d != nil {
			r.addSentence("By the bid of %s it ends at %s.", namePart(d.Site), jobValue(m, "ends-by-bid", d.Option.Finish))
		}
		return
	}
	r.addSentence("It ended %s, after %s.", jobValue(m, "ended", run.Ended), jobValue(m, "ran-for", run.Ended.Sub(run.Started)))
	before := plainText("before its deadline")
	if rec.EndedLate() {
		before = "late"
	}
	r.addSentence("That was %s %s.", withoutSign(jobValue(m, "to-deadline", rec.Job.Deadline.Sub(run.Ended))), before)
}

// answerWaited says how long a job waited.
func (l *Dataset) answerWaited(q ask.Query) Result {
	r, m := l.resultAndCase(q)
	r.describeWait(m)
	if n := len(m.job.Parts); n > 0 {
		r.addSentence("It was paused %s since.", countedPart(jobValue(m, "pauses", n), "time", "times"))
	}
	if m.job.Run == nil {
		r.addSentence("It arrived %s; the record ends %s.", m.arrivalFigure(), lastTimeFigure(l))
	}
	return r
}

// roundAskedAbout finds the round in which sites were asked about a job; false if there is none
// on record, which the result says.
func (l *Dataset) roundAskedAbout(r *Result, q ask.Query) (jobCase, bool) {
	m := l.caseOf(q)
	r.citeDecision(m.decision)
	switch {
	case m.hasRound:
	case m.decision != 0:
		r.addSentence("What sites answered on job %s is not known: "+roundNotRecorded+".", m.jobName())
	default:
		r.addSentence("Job %s was called in no round, so no site was asked.", m.jobName())
	}
	return m, m.hasRound
}

// answerOffers lists what each site answered.
func (l *Dataset) answerOffers(q ask.Query) (r Result) {
	m, ok := l.roundAskedAbout(&r, q)
	if !ok {
		return r
	}
	n := 0
	for _, s := range m.round.Answers {
		if _, ok := m.cheapestOption(s.Site); ok {
			n++
		}
	}
	r.addSentence("%s of %s made an offer for job %s in round %s; each one's cheapest is shown.",
		jobValue(m, "sites-that-offered", n), countedPart(jobValue(m, "sites-asked", len(m.round.Answers)), "site", "sites"), m.jobName(), m.roundFigure())
	r.listOffers(m)
	return r
}

// answerUnableSites lists the sites without an offer, and why.
func (l *Dataset) answerUnableSites(q ask.Query) (r Result) {
	if m := l.caseOf(q); m.job.Refusal != nil && q.Decision == 0 {
		r.citeDecision(decisionNumber(*m.job.Refusal))
		r.describeRefused(m)
	}
	m, ok := l.roundAskedAbout(&r, q)
	if !ok {
		return r
	}
	n := 0
	for _, s := range m.round.Answers {
		if _, ok := m.cheapestOption(s.Site); !ok {
			n++
			r.addSentence("%s: %s.", namePart(s.Site), m.noOffer(s.Site))
		}
	}
	r.addFigures(jobValue(m, "sites-without-offer", n))
	if n == 0 {
		r.addSentence("None: every site made an offer in round %s.", m.roundFigure())
	}
	return r
}

// Of the events of a job so many are listed: the first and the last of them where there are more.
const (
	firstEvents = 12
	lastEvents  = 11
)

// answerHistory lists what happened to a job, each decision on it among that.
func (l *Dataset) answerHistory(q ask.Query) (r Result) {
	m := l.caseOf(q)
	rec, job := m.job, jobSubject(m.job.Job.ID)
	for _, id := range rec.Decisions {
		r.citeDecision(id)
	}
	r.addSentence("Job %s: %s, %s. It is %s.", m.jobName(), countedPart(valueOf(job, "decisions", len(rec.Decisions), r.Cites...), "decision", "decisions"),
		countedPart(valueOf(job, "declines", len(declinedAwards(rec))), "time given back", "times given back"), m.statePart())
	r.Head = []string{"time", "event", "decision", "why"}
	left := len(rec.Events) - firstEvents - lastEvents // out
	for i, e := range rec.Events {
		why := Part(recordedText(narrate.JobEventText(e)))
		if e.Times > 1 {
			why = newSentence("%s (%s since %s)", why, countedPart(valueOf(job, "held", e.Times), "time", "times"), valueOf(job, "first-held", e.First))
		}
		switch {
		case left <= 1 || i < firstEvents || i >= firstEvents+left:
			r.addRow(valueOf(job, strings.ToLower(string(e.Kind)), e.At, decisionLabel(e.Decision)), recordedText(e.Kind), decisionCitation(e.Decision), why)
		case i == firstEvents:
			r.addRow(plainText("…"), plainText(""), plainText(""), newSentence("%s more", valueOf(job, "events-between", left)))
		}
	}
	r.Command = "gridbid messages --job " + ask.ShellName(string(rec.Job.ID))
	return r
}

// advised is what would have a site offer, by the reason for which it does not.
var advised = []struct {
	code protocol.Code
	text plainText
}{
	{protocol.NotAllowed, "let its data be at more sites (regions)"}, {protocol.NoSuchGPU, "allow more GPU models"},
	{protocol.FitsNoNode, "ask for fewer GPUs, cores or less memory on one node"}, {protocol.NoCapacity, "wait, or ask for less"},
	{protocol.PastDeadline, "set a later deadline"}, {protocol.RefusedByTerms, "ask the site's operator to serve its tenant"}, {protocol.OverQuota, "wait, or have its quota raised"},
	{protocol.BudgetSpent, "wait for the next month, or have the budget raised"}, {protocol.CarbonBudgetSpent, "wait for the next month or a cleaner hour, or have the carbon budget raised"},
	{protocol.QueueBlocked, "wait, or have the job before it cancelled"},
}

// answerAdvice says what keeps a job from sites and from starting, and what would
// change that.
func (l *Dataset) answerAdvice(q ask.Query) (r Result) {
	m, ok := l.roundAskedAbout(&r, q)
	if !ok {
		return r
	}
	r.addAssumption("by the reasons that the sites gave in round %s; nobody was asked again", m.roundFigure())
	for _, hint := range advised {
		var sites partList
		for _, s := range m.round.Answers {
			if _, ok := m.cheapestOption(s.Site); !ok && s.Why.Code == hint.code {
				sites = append(sites, namePart(s.Site))
			}
		}
		if len(sites) > 0 {
			r.addSentence("For %s: %s, since %s.", sites, hint.text, reasonText{Code: hint.code})
		}
	}
	r.describeEarliest(m)
	if m.job.Job.MayWait() {
		r.addSentence("Its urgency is %s, so it may wait for a cheaper hour while that saves more than its waiting costs. Submitted with urgency now, it would be bid no later start than it must.", recordedText(m.job.Job.Urgency.String()))
	}
	return r
}

// answerAhead says who held GPUs at the job's site while it waited.
func (l *Dataset) answerAhead(q ask.Query) Result {
	r, m := l.resultAndCase(q)
	site, until := siteOfRun(m.job), l.lastTime()
	if d := m.job.CurrentAward(); site == "" && d != nil {
		site = d.Site
	}
	if run := m.job.Run; run != nil {
		until = min(run.Started, until) // it may be to start after the record
	}
	queued := r.describeQueue(l, m)
	if site == "" {
		if !queued {
			r.addSentence("Job %s has no site yet, and there is no queue across sites: each round places all waiting jobs together.", m.jobName())
		}
		return r
	}
	r.addAssumption("this is who held GPUs at %s just before it started, or at the end of the record", namePart(site))
	by := make(map[string]protocol.Milli)
	n := 0
	for _, other := range l.allInstances() {
		run, holds := other.SegmentAt(until - 1)
		if other.Job.ID == m.job.Job.ID || other.Job.TotalGPUMilli() == 0 || !holds || run.Run.Site != site {
			continue
		}
		n++
		by[other.Job.Tenant] += run.Job.TotalGPUMilli()
		r.citeDecision(l.currentDecision(other))
	}
	r.addSentence("%s held GPUs at %s at %s.", countedPart(valueOf("site/"+site, "jobs-ahead", n), "job", "jobs"), namePart(site), valueOf("site/"+site, "looked-at", until-1))
	r.Head = []string{"tenant", "GPUs"}
	for _, t := range sortedKeys(by) {
		r.addRow(namePart(t), valueOf("tenant/"+t, "gpus-held", by[t]))
	}
	return r
}
