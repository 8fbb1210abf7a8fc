package query

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// held says why a job waited, or still waits.
func (l *Log) held(q ask.Query, a *Answer) {
	r := l.matter(q).rec
	m := l.about(r, l.deciding(r))
	wait, started := r.WaitTime()
	switch {
	case started:
		first, _ := begun(r)
		a.say("Job %s waited %s: it arrived %s and started %s at %s.", name(r.Job.ID), format.FormatDuration(wait), format.FormatInstant(r.Job.Arrival), format.FormatInstant(first.Run.Started), name(first.Run.Site))
		a.figure(ofJob(r.Job.ID), "wait", wait.Milliseconds(), "ms", m.cited()...)
	case r.Run != nil:
		a.say("%s accepted job %s, to start at %s; when it did is known when it is over.", name(r.Run.Site), name(r.Job.ID), format.FormatInstant(r.Run.Started))
	case mayHaveRun(r):
		a.say("The state of job %s at the end of the record is %s.", name(r.Job.ID), r.State)
	default:
		a.say("Job %s has not started; its state at the end of the record is %s.", name(r.Job.ID), r.State)
	}
	counts := make(map[protocol.Code]int)
	var order []protocol.Code
	for _, id := range r.Decisions {
		if d := l.decisionOf(id); d.Kind == "hold" {
			if counts[d.Why.Code]++; counts[d.Why.Code] == 1 {
				order = append(order, d.Why.Code)
			}
			a.cite(id)
		}
	}
	for _, code := range order {
		a.say("It was held %s because %s.", format.CountWithNoun(counts[code], "time", "times"), narrate.ReasonWithNote(protocol.Reason{Code: code}))
		a.figure(ofJob(r.Job.ID), "held-"+string(code), int64(counts[code]), "count", a.Cites...)
	}
	back := givenBack(r)
	for _, d := range back {
		if d.Preempted != nil {
			a.say("%s", narrate.DescribePreemption(d))
		} else if d.Declined.Code == protocol.SiteDecommissioned {
			a.say("At %s it was taken from %s: %s.", format.FormatInstant(d.Answered.At), name(d.Site), narrate.ReasonWithNote(d.Declined))
		} else {
			a.say("At %s %s declined it: %s.", format.FormatInstant(d.Answered.At), name(d.Site), narrate.ReasonWithNote(d.Declined))
		}
	}
	if d := r.CurrentAward(); d != nil {
		a.cite(d.Message.Seq)
		a.say("It was awarded to %s at %s, to start %s, because %s.", name(d.Site), format.FormatInstant(d.Message.At), format.FormatInstant(d.Option.Start), narrate.ReasonWithNote(d.Why))
	} else {
		l.decided(m, a)
	}
	if len(order) == 0 && len(back) == 0 && r.Refusal == nil {
		a.say("It was never held.")
	}
	if r.EndedLate() {
		a.say("It missed its deadline %s by %s.", format.FormatInstant(r.Job.Deadline), format.FormatDuration(r.Run.Ended.Sub(r.Job.Deadline)))
	}
}

func (l *Log) where(q ask.Query, a *Answer) {
	m := l.matter(q)
	r := m.rec
	a.cite(m.id)
	l.paused(r, a)
	switch {
	case r.State == history.Ended:
		a.say("Job %s ran at %s, on %s.", name(r.Job.ID), name(r.Run.Site), name(r.Run.Node))
		a.say("It ended at %s.", format.FormatInstant(r.Run.Ended))
	case r.Run != nil && r.Run.Planned:
		a.say("Job %s is at %s, which accepted it to start at %s, and has not said that it is over.", name(r.Job.ID), name(r.Run.Site), format.FormatInstant(r.Run.Started))
	case r.Run != nil:
		a.say("Job %s runs at %s, on %s, since %s.", name(r.Job.ID), name(r.Run.Site), name(r.Run.Node), format.FormatInstant(r.Run.Started))
	case rested(r):
		a.say("The rest of job %s waits to be sold.", name(r.Job.ID))
	case r.CurrentAward() != nil:
		a.say("Job %s was awarded to %s and has not been launched.", name(r.Job.ID), name(r.CurrentAward().Site))
	default:
		a.say("Job %s runs nowhere; it is %s.", name(r.Job.ID), r.State)
	}
	if n := len(givenBack(r)); n > 0 {
		a.say("It was given back %s before.", format.CountWithNoun(n, "time", "times"))
	}
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

// paused tells of the parts of a job that ended in a pause.
func (l *Log) paused(r history.JobRecord, a *Answer) {
	for i, p := range r.Parts {
		x := stints(r)[i]
		a.say("It ran at %s from %s to %s, and was paused then, as its award said.", name(p.Site), format.FormatInstant(p.Started), format.FormatInstant(p.Ended))
		a.figure(ofJob(r.Job.ID), "part-from", int64(p.Started), "instant", x.cite())
		a.figure(ofJob(r.Job.ID), "part-to", int64(p.Ended), "instant", x.cite())
		a.cited(x.cite())
	}
}

func (l *Log) decision(q ask.Query, a *Answer) {
	m := l.matter(q)
	a.cite(m.id)
	if m.id == 0 {
		a.say("No decision on job %s is in the record.", name(m.rec.Job.ID))
		return
	}
	a.say("%s.", cite(m.id))
	l.decided(m, a)
}

// times tells when a job came, started and ended, or is to.
func (l *Log) times(q ask.Query, a *Answer) {
	m := l.matter(q)
	r := m.rec
	a.cite(m.id)
	a.say("Job %s arrived %s, due %s.", name(r.Job.ID), format.FormatInstant(r.Job.Arrival), format.FormatInstant(r.Job.Deadline))
	l.paused(r, a)
	d, now := r.CurrentAward(), "It has not started"
	if mayHaveRun(r) {
		now = "It was given back"
	}
	switch {
	case r.Run != nil && r.Run.Planned:
		a.say("%s accepted it, to start at %s; when it did is known when it is over.", name(r.Run.Site), format.FormatInstant(r.Run.Started))
		a.figure(ofJob(r.Job.ID), "planned", int64(r.Run.Started), "instant", m.cited()...)
	case r.Run != nil:
		again := ""
		if len(r.Parts) > 0 {
			again = " again"
		}
		a.say("It started%s %s at %s.", again, format.FormatInstant(r.Run.Started), name(r.Run.Site))
		a.figure(ofJob(r.Job.ID), "started", int64(r.Run.Started), "instant", m.cited()...)
	case r.State == history.Refused:
		a.say("It was refused at %s: %s.", format.FormatInstant(r.Refusal.Message.At), narrate.ReasonWithNote(r.Refusal.Why))
	case rested(r):
		a.say("Its rest waits to be sold.")
	case d != nil && len(r.Parts) > 0:
		a.say("Its rest has not started; %s plans to start it at %s.", name(d.Site), format.FormatInstant(d.Option.Start))
	case d != nil:
		a.say("%s; %s plans to start it at %s.", now, name(d.Site), format.FormatInstant(d.Option.Start))
	case m.met && m.h.Decision.Kind == "hold" && m.h.Decision.Start != 0:
		a.say("%s. The last plan was %s from %s; a plan is no promise, and changes with every round.", now, name(m.h.Decision.Site), format.FormatInstant(m.h.Decision.Start))
	default:
		a.say("%s, and no plan for it is in the record.", now)
	}
	if r.State != history.Ended {
		return
	}
	a.figure(ofJob(r.Job.ID), "ran-for", r.Run.Ended.Sub(r.Run.Started).Milliseconds(), "ms", m.cited()...)
	a.figure(ofJob(r.Job.ID), "to-deadline", r.Job.Deadline.Sub(r.Run.Ended).Milliseconds(), "ms", m.cited()...)
	a.say("It ended %s, after %s.", format.FormatInstant(r.Run.Ended), format.FormatDuration(r.Run.Ended.Sub(r.Run.Started)))
	a.figure(ofJob(r.Job.ID), "ended", int64(r.Run.Ended), "instant", m.cited()...)
	if r.EndedLate() {
		a.say("That was %s late.", format.FormatDuration(r.Run.Ended.Sub(r.Job.Deadline)))
	} else {
		a.say("That was %s before its deadline.", format.FormatDuration(r.Job.Deadline.Sub(r.Run.Ended)))
	}
}

func (l *Log) waited(q ask.Query, a *Answer) {
	m := l.matter(q)
	a.cite(m.id)
	wait, ok := m.rec.WaitTime()
	if run := m.rec.Run; !ok && run != nil {
		a.say("%s accepted job %s, to start at %s; when it did is known when it is over.", name(run.Site), name(m.rec.Job.ID), format.FormatInstant(run.Started))
		return
	}
	if !ok && mayHaveRun(m.rec) {
		a.say("The state of job %s is %s, and it was not told whether it had started before. It arrived %s; the record ends %s.", name(m.rec.Job.ID), m.rec.State, format.FormatInstant(m.rec.Job.Arrival), format.FormatInstant(l.last()))
		return
	}
	if !ok {
		a.say("Job %s has not started. It arrived %s; the record ends %s.", name(m.rec.Job.ID), format.FormatInstant(m.rec.Job.Arrival), format.FormatInstant(l.last()))
		return
	}
	first, _ := begun(m.rec)
	a.say("Job %s waited %s, from %s to %s.", name(m.rec.Job.ID), format.FormatDuration(wait), format.FormatInstant(m.rec.Job.Arrival), format.FormatInstant(first.Run.Started))
	if n := len(m.rec.Parts); n > 0 {
		a.say("It was paused %s since.", format.CountWithNoun(n, "time", "times"))
		a.figure(ofJob(m.rec.Job.ID), "pauses", int64(n), "count", m.cited()...)
	}
	a.figure(ofJob(m.rec.Job.ID), "wait", wait.Milliseconds(), "ms", m.cited()...)
}

// asked finds the round in which sites were asked about a job.
func (l *Log) asked(q ask.Query, a *Answer) (matter, bool) {
	m := l.matter(q)
	a.cite(m.id)
	switch {
	case m.met:
	case m.id != 0:
		a.say("What sites answered on job %s is not known: %s.", name(m.rec.Job.ID), unmet)
	default:
		a.say("Job %s was called in no round, so no site was asked.", name(m.rec.Job.ID))
	}
	return m, m.met
}

// offers lists what each site answered.
func (l *Log) offers(q ask.Query, a *Answer) {
	m, ok := l.asked(q, a)
	if !ok {
		return
	}
	n := 0
	for _, s := range m.h.Answers {
		if p, ok := m.option(s.Site); ok {
			n++
			a.figure("site/"+s.Site, "total-cost", int64(p.Terms.Total()), "microdollars", m.cited()...)
		}
	}
	a.say("%d of %s made an offer for job %s in round %d; each one's cheapest is shown.", n, format.CountWithNoun(len(m.h.Answers), "site", "sites"), name(m.rec.Job.ID), m.h.Round)
	a.figure(ofJob(m.rec.Job.ID), "sites-that-offered", int64(n), "count", m.cited()...)
	m.table(a)
}

// unable lists the sites without an offer, and why.
func (l *Log) unable(q ask.Query, a *Answer) {
	if r := l.matter(q).rec; r.Refusal != nil && q.Decision == 0 {
		a.cite(number(*r.Refusal))
		a.say("Job %s was refused at %s: %s.", name(r.Job.ID), format.FormatInstant(r.Refusal.Message.At), narrate.ReasonWithNote(r.Refusal.Why))
	}
	m, ok := l.asked(q, a)
	if !ok {
		return
	}
	n := 0
	for _, s := range m.h.Answers {
		if _, ok := m.option(s.Site); !ok {
			n++
			a.say("%s: %s.", name(s.Site), m.none(s.Site))
		}
	}
	a.figure(ofJob(m.rec.Job.ID), "sites-without-offer", int64(n), "count", m.cited()...)
	if n == 0 {
		a.say("None: every site made an offer in round %d.", m.h.Round)
	}
}

// history tells everything that was decided on a job.
func (l *Log) history(q ask.Query, a *Answer) {
	r := l.matter(q).rec
	back := givenBack(r)
	type event struct {
		at   protocol.Time
		text string
	}
	all := []event{{r.Job.Arrival, "arrived"}}
	for _, id := range r.Decisions {
		d := l.decisionOf(id)
		text := d.Kind + ": " + narrate.ReasonWithNote(d.Why)
		if d.Site != "" {
			text = d.Kind + " at " + name(d.Site) + ": " + narrate.ReasonWithNote(d.Why)
		}
		all = append(all, event{d.At, cite(id) + " " + text})
		a.cite(id)
	}
	for _, d := range back {
		text := name(d.Site) + " gave it back: "
		if d.Declined.Code == protocol.SiteDecommissioned {
			text = "taken from " + name(d.Site) + ": "
		}
		if d.Preempted != nil {
			text = "preempted at " + name(d.Site) + ": "
		}
		all = append(all, event{d.Answered.At, text + narrate.ReasonWithNote(d.Declined)})
	}
	for _, x := range stints(r) {
		if x.Run.Planned {
			all = append(all, event{x.Run.Started, "was to start at " + name(x.Run.Site)})
		} else {
			all = append(all, event{x.Run.Started, "started at " + name(x.Run.Site) + " on " + name(x.Run.Node)})
		}
		switch {
		case x.Run.Paused:
			all = append(all, event{x.Run.Ended, "paused"})
		case x.Over:
			all = append(all, event{x.Run.Ended, "ended"})
		}
	}
	slices.SortStableFunc(all, func(x, y event) int { return cmp.Compare(x.at, y.at) })
	a.say("Job %s: %s, %s. It is %s.", name(r.Job.ID), format.CountWithNoun(len(r.Decisions), "decision", "decisions"), format.CountWithNoun(len(back), "time given back", "times given back"), r.State)
	a.figure(ofJob(r.Job.ID), "decisions", int64(len(r.Decisions)), "count", a.Cites...)
	a.figure(ofJob(r.Job.ID), "declines", int64(len(back)), "count")
	a.Table = &Table{Head: []string{"time", "why"}}
	for i, e := range all {
		if len(all) > 24 && i >= 12 && i < len(all)-11 {
			if i == 12 {
				a.row("…", fmt.Sprintf("%d more", len(all)-23))
			}
			continue
		}
		a.row(format.FormatInstant(e.at), e.text)
	}
	a.Command = "gridbid messages --job " + shell(string(r.Job.ID))
}

// advice says what keeps a job from sites and from starting, and what would
// change that.
func (l *Log) advice(q ask.Query, a *Answer) {
	m, ok := l.asked(q, a)
	if !ok {
		return
	}
	a.assume("by the reasons that the sites gave in round " + fmt.Sprint(m.h.Round) + "; nobody was asked again")
	hints := []struct {
		code protocol.Code
		text string
	}{
		{protocol.NotAllowed, "let its data be at more sites (regions)"}, {protocol.NoSuchGPU, "allow more GPU models"},
		{protocol.FitsNoNode, "ask for fewer GPUs, cores or less memory on one node"}, {protocol.NoCapacity, "wait, or ask for less"},
		{protocol.PastDeadline, "set a later deadline"},
	}
	for _, hint := range hints {
		var sites []string
		for _, s := range m.h.Answers {
			if _, ok := m.option(s.Site); !ok && s.Why.Code == hint.code {
				sites = append(sites, name(s.Site))
			}
		}
		if len(sites) > 0 {
			a.say("For %s: %s, since %s.", format.JoinWithAnd(sites), hint.text, narrate.ReasonWithNote(protocol.Reason{Code: hint.code}))
		}
	}
	if p, site, h, ok := soonest(m.rec); ok {
		a.cite(h.Decision.Message.Seq)
		a.say("The earliest start offered in its first round %swas %s at %s, for %s.", onRecord(m.rec), format.FormatInstant(p.Start), name(site), format.FormatDollars(p.Terms.Total()))
	}
	if m.rec.Job.Deferrable {
		a.say("It may be deferred, so it may wait for a cheaper hour. Submitted as not deferrable, its waiting would count as a cost.")
	}
}

// ahead says who held GPUs at the job's site while it waited.
func (l *Log) ahead(q ask.Query, a *Answer) {
	m := l.matter(q)
	r := m.rec
	a.cite(m.id)
	site, until := ran(r), l.last()
	if d := r.CurrentAward(); site == "" && d != nil {
		site = d.Site
	}
	if r.Run != nil {
		until = min(r.Run.Started, until) // it may be to start after the record
	}
	if site == "" {
		a.say("Job %s has no site yet, and there is no queue across sites: each round places all waiting jobs together.", name(r.Job.ID))
		return
	}
	a.assume("there is no queue; this is who held GPUs at " + name(site) + " just before it started, or at the end of the record")
	by := make(map[string]protocol.Milli)
	n := 0
	for _, other := range l.records() {
		if other.Job.ID == r.Job.ID || other.Job.TotalGPUMilli() == 0 || heldAt(other, until-1) != site {
			continue
		}
		n++
		by[other.Job.Tenant] += other.Job.TotalGPUMilli()
		a.cite(l.deciding(other))
	}
	a.say("%s held GPUs at %s at %s.", format.CountWithNoun(n, "job", "jobs"), name(site), format.FormatInstant(until-1))
	a.figure("site/"+site, "jobs-ahead", int64(n), "count")
	a.figure("site/"+site, "looked-at", int64(until-1), "instant")
	a.Table = &Table{Head: []string{"tenant", "GPUs"}}
	for _, t := range sorted(by) {
		a.row(name(t), format.FormatThousandths(by[t]))
		a.figure("tenant/"+t, "gpus-held", int64(by[t]), "thousandths")
	}
}
