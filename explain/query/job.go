package query

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// aboutOneJob are the questions about how one job went.
var aboutOneJob = map[string]evaluator{
	"held": (*Log).held, "where": (*Log).where, "decision": (*Log).decision, "times": (*Log).times, "waited": (*Log).waited,
	"offers": (*Log).offers, "offer-count": (*Log).offers, "unable": (*Log).unable, "history": (*Log).history, "advice": (*Log).advice, "ahead": (*Log).ahead,
}

// matterOf returns what a query is about, and a result that cites its decision.
func (l *Log) matterOf(q ask.Query) (r Result, m matter) {
	m = l.matter(q)
	r.cite(m.id)
	return r, m
}

func (m matter) job() Part        { return called(m.rec.Job.ID) }
func (m matter) state() Part      { return recorded(m.rec.State) }
func (m matter) arrival() Figure  { return jobValue(m, "arrival", m.rec.Job.Arrival) }
func (m matter) deadline() Figure { return jobValue(m, "deadline", m.rec.Job.Deadline) }

// sayAccepted says that a site accepted a job of which no start is known.
func (r *Result) sayAccepted(m matter) {
	run := m.rec.Run
	r.say("%s accepted job %s, to start at %s; when it did is known when it is over.", called(run.Site), m.job(), jobValue(m, "planned", run.Started))
}

// sayRefused says why a job was refused.
func (r *Result) sayRefused(m matter) {
	x := m.rec.Refusal
	r.say("Job %s was refused at %s: %s.", m.job(), jobValue(m, "refused", x.Message.At), because(x.Why))
}

// held says why a job waited, or still waits.
func (l *Log) held(q ask.Query) (r Result) {
	rec := l.matter(q).rec
	m := l.about(rec, l.deciding(rec))
	wait, started := rec.WaitTime()
	switch {
	case started:
		first, _ := begun(rec)
		r.say("Job %s waited %s: it arrived %s and started %s at %s.", m.job(), jobValue(m, "wait", wait), m.arrival(), jobValue(m, "first-started", first.Run.Started), called(first.Run.Site))
	case rec.Run != nil:
		r.sayAccepted(m)
	case mayHaveRun(rec):
		r.say("The state of job %s at the end of the record is %s.", m.job(), m.state())
	default:
		r.say("Job %s has not started; its state at the end of the record is %s.", m.job(), m.state())
	}
	counts := make(map[protocol.Code]int)
	var order []protocol.Code
	for _, id := range rec.Decisions {
		if d := l.decisionOf(id); d.Kind == "hold" {
			if counts[d.Why.Code]++; counts[d.Why.Code] == 1 {
				order = append(order, d.Why.Code)
			}
			r.cite(id)
		}
	}
	for _, code := range order {
		r.say("It was held %s because %s.", counted(valueOf(ofJob(rec.Job.ID), "held-"+string(code), counts[code], r.Cites...), "time", "times"), because{Code: code})
	}
	back := givenBack(rec)
	for _, d := range back {
		at := jobValue(m, "given-back", d.Answered.At)
		switch {
		case d.Preempted != nil:
			r.Said = append(r.Said, preemption(rec.Job.ID, d))
		case d.Declined.Code == protocol.SiteDecommissioned:
			r.say("At %s it was taken from %s: %s.", at, called(d.Site), because(d.Declined))
		default:
			r.say("At %s %s declined it: %s.", at, called(d.Site), because(d.Declined))
		}
	}
	if d := rec.CurrentAward(); d != nil {
		r.cite(d.Message.Seq)
		r.say("It was awarded to %s at %s, to start %s, because %s.", called(d.Site), jobValue(m, "awarded", d.Message.At), jobValue(m, "start", d.Option.Start), because(d.Why))
	} else {
		r.sayDecision(l, m)
	}
	if len(order) == 0 && len(back) == 0 && rec.Refusal == nil {
		r.say("It was never held.")
	}
	if rec.EndedLate() {
		r.say("It missed its deadline %s by %s.", m.deadline(), jobValue(m, "late-by", rec.Run.Ended.Sub(rec.Job.Deadline)))
	}
	return r
}

func (l *Log) where(q ask.Query) Result {
	r, m := l.matterOf(q)
	r.sayPaused(m)
	rec, run := m.rec, m.rec.Run
	switch {
	case rec.State == history.Ended:
		r.say("Job %s ran at %s, on %s.", m.job(), called(run.Site), called(run.Node))
		r.say("It ended at %s.", jobValue(m, "ended", run.Ended))
	case run != nil && run.Planned:
		r.say("Job %s is at %s, which accepted it to start at %s, and has not said that it is over.", m.job(), called(run.Site), jobValue(m, "planned", run.Started))
	case run != nil:
		r.say("Job %s runs at %s, on %s, since %s.", m.job(), called(run.Site), called(run.Node), jobValue(m, "started", run.Started))
	case rested(rec):
		r.say("The rest of job %s waits to be sold.", m.job())
	case rec.CurrentAward() != nil:
		r.say("Job %s was awarded to %s and has not been launched.", m.job(), called(rec.CurrentAward().Site))
	default:
		r.say("Job %s runs nowhere; it is %s.", m.job(), m.state())
	}
	if n := len(givenBack(rec)); n > 0 {
		r.say("It was given back %s before.", counted(jobValue(m, "declines", n), "time", "times"))
	}
	return r
}

// givenBack returns the awards of a job that their sites did not keep: they declined, or
// an operator said that the site is gone.
func givenBack(r history.JobRecord) (all []history.Decision) {
	for _, d := range r.Awards {
		if d.Answer == "decline" || d.Preempted != nil {
			all = append(all, d)
		}
	}
	return all
}

// mayHaveRun reports whether a site had a job that none has now: a federation does not
// say whether it had begun.
func mayHaveRun(r history.JobRecord) bool {
	return r.Run == nil && slices.ContainsFunc(r.Awards, func(d history.Decision) bool {
		return d.Preempted != nil || d.Answer == "decline" && slices.Contains(lost, d.Declined.Code) || d.Answer == "accept" && r.State == history.Refused
	})
}

// rested reports whether a job was paused, and nobody was given its rest.
func rested(r history.JobRecord) bool {
	return len(r.Parts) > 0 && r.State.OnSale()
}

// sayPaused tells of the parts of a job that ended in a pause.
func (r *Result) sayPaused(m matter) {
	for i, p := range m.rec.Parts {
		id, job := stints(m.rec)[i].cite(), ofJob(m.rec.Job.ID)
		r.say("It ran at %s from %s to %s, and was paused then, as its award said.", called(p.Site), valueOf(job, "part-from", p.Started, id), valueOf(job, "part-to", p.Ended, id))
		r.citeNamed(id)
	}
}

func (l *Log) decision(q ask.Query) Result {
	r, m := l.matterOf(q)
	if m.id == 0 {
		r.say("No decision on job %s is in the record.", m.job())
		return r
	}
	r.say("%s.", citation(m.id))
	r.sayDecision(l, m)
	return r
}

// times tells when a job came, started and ended, or is to.
func (l *Log) times(q ask.Query) Result {
	r, m := l.matterOf(q)
	rec, run := m.rec, m.rec.Run
	r.say("Job %s arrived %s, due %s.", m.job(), m.arrival(), m.deadline())
	r.sayPaused(m)
	d, now := rec.CurrentAward(), phrase("It has not started")
	if mayHaveRun(rec) {
		now = "It was given back"
	}
	switch {
	case run != nil && run.Planned:
		r.say("%s accepted it, to start at %s; when it did is known when it is over.", called(run.Site), jobValue(m, "planned", run.Started))
	case run != nil:
		again := phrase("")
		if len(rec.Parts) > 0 {
			again = " again"
		}
		r.say("It started%s %s at %s.", again, jobValue(m, "started", run.Started), called(run.Site))
	case rec.State == history.Refused:
		r.say("It was refused at %s: %s.", jobValue(m, "refused", rec.Refusal.Message.At), because(rec.Refusal.Why))
	case rested(rec):
		r.say("Its rest waits to be sold.")
	case d != nil:
		if len(rec.Parts) > 0 {
			now = "Its rest has not started"
		}
		r.say("%s; %s plans to start it at %s.", now, called(d.Site), jobValue(m, "planned", d.Option.Start))
	case m.met && m.h.Decision.Kind == "hold" && m.h.Decision.Start != 0:
		r.say("%s. The last plan was %s from %s; a plan is no promise, and changes with every round.", now, called(m.h.Decision.Site), jobValue(m, "planned", m.h.Decision.Start))
	default:
		r.say("%s, and no plan for it is in the record.", now)
	}
	if rec.State != history.Ended {
		return r
	}
	r.say("It ended %s, after %s.", jobValue(m, "ended", run.Ended), jobValue(m, "ran-for", run.Ended.Sub(run.Started)))
	before := phrase("before its deadline")
	if rec.EndedLate() {
		before = "late"
	}
	r.say("That was %s %s.", withoutSign(jobValue(m, "to-deadline", rec.Job.Deadline.Sub(run.Ended))), before)
	return r
}

func (l *Log) waited(q ask.Query) Result {
	r, m := l.matterOf(q)
	wait, started := m.rec.WaitTime()
	switch {
	case started:
		first, _ := begun(m.rec)
		r.say("Job %s waited %s, from %s to %s.", m.job(), jobValue(m, "wait", wait), m.arrival(), jobValue(m, "first-started", first.Run.Started))
		if n := len(m.rec.Parts); n > 0 {
			r.say("It was paused %s since.", counted(jobValue(m, "pauses", n), "time", "times"))
		}
	case m.rec.Run != nil:
		r.sayAccepted(m)
	case mayHaveRun(m.rec):
		r.say("The state of job %s is %s, and it was not told whether it had started before. It arrived %s; the record ends %s.", m.job(), m.state(), m.arrival(), end(l))
	default:
		r.say("Job %s has not started. It arrived %s; the record ends %s.", m.job(), m.arrival(), end(l))
	}
	return r
}

// asked finds the round in which sites were asked about a job; false if there is none
// on record, which the result says.
func (l *Log) asked(r *Result, q ask.Query) (matter, bool) {
	m := l.matter(q)
	r.cite(m.id)
	switch {
	case m.met:
	case m.id != 0:
		r.say("What sites answered on job %s is not known: "+unmet+".", m.job())
	default:
		r.say("Job %s was called in no round, so no site was asked.", m.job())
	}
	return m, m.met
}

// offers lists what each site answered.
func (l *Log) offers(q ask.Query) (r Result) {
	m, ok := l.asked(&r, q)
	if !ok {
		return r
	}
	n := 0
	for _, s := range m.h.Answers {
		if _, ok := m.option(s.Site); ok {
			n++
		}
	}
	r.say("%s of %s made an offer for job %s in round %s; each one's cheapest is shown.",
		jobValue(m, "sites-that-offered", n), counted(jobValue(m, "sites-asked", len(m.h.Answers)), "site", "sites"), m.job(), m.round())
	r.listOffers(m)
	return r
}

// unable lists the sites without an offer, and why.
func (l *Log) unable(q ask.Query) (r Result) {
	if m := l.matter(q); m.rec.Refusal != nil && q.Decision == 0 {
		r.cite(number(*m.rec.Refusal))
		r.sayRefused(m)
	}
	m, ok := l.asked(&r, q)
	if !ok {
		return r
	}
	n := 0
	for _, s := range m.h.Answers {
		if _, ok := m.option(s.Site); !ok {
			n++
			r.say("%s: %s.", called(s.Site), m.noOffer(s.Site))
		}
	}
	r.also(jobValue(m, "sites-without-offer", n))
	if n == 0 {
		r.say("None: every site made an offer in round %s.", m.round())
	}
	return r
}

// An event is what happened to a job at an instant.
type event struct {
	at   Figure
	text Part
}

// history tells everything that was decided on a job.
func (l *Log) history(q ask.Query) (r Result) {
	m := l.matter(q)
	rec, job := m.rec, ofJob(m.rec.Job.ID)
	all := []event{{valueOf(job, "arrival", rec.Job.Arrival), phrase("arrived")}}
	for _, id := range rec.Decisions {
		d, at := l.decisionOf(id), phrase("")
		if d.Site != "" {
			at = " at "
		}
		all = append(all, event{valueOf(job, "decided", d.At, cite(id)), sentence("%s %s%s%s: %s", citation(id), recorded(d.Kind), at, called(d.Site), because(d.Why))})
		r.cite(id)
	}
	back := givenBack(rec)
	for _, d := range back {
		form := "%s gave it back: %s"
		if d.Declined.Code == protocol.SiteDecommissioned {
			form = "taken from %s: %s"
		}
		if d.Preempted != nil {
			form = "preempted at %s: %s"
		}
		all = append(all, event{valueOf(job, "given-back", d.Answered.At), sentence(form, called(d.Site), because(d.Declined))})
	}
	for _, x := range stints(rec) {
		if x.Run.Planned {
			all = append(all, event{valueOf(job, "planned", x.Run.Started), sentence("was to start at %s", called(x.Run.Site))})
		} else {
			all = append(all, event{valueOf(job, "started", x.Run.Started), sentence("started at %s on %s", called(x.Run.Site), called(x.Run.Node))})
		}
		switch {
		case x.Run.Paused:
			all = append(all, event{valueOf(job, "paused", x.Run.Ended), phrase("paused")})
		case x.Over:
			all = append(all, event{valueOf(job, "ended", x.Run.Ended), phrase("ended")})
		}
	}
	slices.SortStableFunc(all, func(x, y event) int { return cmp.Compare(x.at.Value, y.at.Value) })
	r.say("Job %s: %s, %s. It is %s.", m.job(), counted(valueOf(job, "decisions", len(rec.Decisions), r.Cites...), "decision", "decisions"),
		counted(valueOf(job, "declines", len(back)), "time given back", "times given back"), m.state())
	r.Head = []string{"time", "why"}
	for i, e := range all {
		if len(all) > 24 && i >= 12 && i < len(all)-11 {
			if i == 12 {
				r.row(phrase("…"), sentence("%s more", valueOf(job, "events-between", len(all)-23)))
			}
			continue
		}
		r.row(e.at, e.text)
	}
	r.Command = "gridbid messages --job " + shell(string(rec.Job.ID))
	return r
}

// advised is what would have a site offer, by the reason for which it does not.
var advised = []struct {
	code protocol.Code
	text phrase
}{
	{protocol.NotAllowed, "let its data be at more sites (regions)"}, {protocol.NoSuchGPU, "allow more GPU models"},
	{protocol.FitsNoNode, "ask for fewer GPUs, cores or less memory on one node"}, {protocol.NoCapacity, "wait, or ask for less"},
	{protocol.PastDeadline, "set a later deadline"},
}

// advice says what keeps a job from sites and from starting, and what would
// change that.
func (l *Log) advice(q ask.Query) (r Result) {
	m, ok := l.asked(&r, q)
	if !ok {
		return r
	}
	r.assume("by the reasons that the sites gave in round %s; nobody was asked again", m.round())
	for _, hint := range advised {
		var sites listed
		for _, s := range m.h.Answers {
			if _, ok := m.option(s.Site); !ok && s.Why.Code == hint.code {
				sites = append(sites, called(s.Site))
			}
		}
		if len(sites) > 0 {
			r.say("For %s: %s, since %s.", sites, hint.text, because{Code: hint.code})
		}
	}
	if p, site, h, ok := soonest(m.rec); ok {
		r.cite(h.Decision.Message.Seq)
		r.say("The earliest start offered in its first round %swas %s at %s, for %s.", onRecord(m.rec), jobValue(m, "earliest-start", p.Start), called(site), jobValue(m, "earliest-cost", p.Terms.Total()))
	}
	if m.rec.Job.Deferrable {
		r.say("It may be deferred, so it may wait for a cheaper hour. Submitted as not deferrable, its waiting would count as a cost.")
	}
	return r
}

// ahead says who held GPUs at the job's site while it waited.
func (l *Log) ahead(q ask.Query) Result {
	r, m := l.matterOf(q)
	site, until := ran(m.rec), l.last()
	if d := m.rec.CurrentAward(); site == "" && d != nil {
		site = d.Site
	}
	if run := m.rec.Run; run != nil {
		until = min(run.Started, until) // it may be to start after the record
	}
	if site == "" {
		r.say("Job %s has no site yet, and there is no queue across sites: each round places all waiting jobs together.", m.job())
		return r
	}
	r.assume("there is no queue; this is who held GPUs at %s just before it started, or at the end of the record", called(site))
	by := make(map[string]protocol.Milli)
	n := 0
	for _, other := range l.records() {
		if other.Job.ID == m.rec.Job.ID || other.Job.TotalGPUMilli() == 0 || heldAt(other, until-1) != site {
			continue
		}
		n++
		by[other.Job.Tenant] += other.Job.TotalGPUMilli()
		r.cite(l.deciding(other))
	}
	r.say("%s held GPUs at %s at %s.", counted(valueOf("site/"+site, "jobs-ahead", n), "job", "jobs"), called(site), valueOf("site/"+site, "looked-at", until-1))
	r.Head = []string{"tenant", "GPUs"}
	for _, t := range sorted(by) {
		r.row(called(t), valueOf("tenant/"+t, "gpus-held", by[t]))
	}
	return r
}
