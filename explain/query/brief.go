package query

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// Limits of a brief.
const (
	briefWindow    = 24 * time.Hour   // of a brief for which no time was named
	nearMissMargin = 10 * time.Minute // a job that ended so little before its deadline nearly missed it
	quietSite      = 10 * time.Minute // after which a site that was not heard needs a look
	mostInBrief    = 5                // names of one kind; the figures have all
)

// answerBrief says what needs a person, what was decided in a window, what changed and what that
// saved, in the sentences of the evaluators that answer each question alone.
func (l *Dataset) answerBrief(q ask.Query) (r Result) {
	if q.To == 0 {
		q.From, q.To = l.LastHours(briefWindow)
		r.addAssumption("no time was named, so the last day")
	}
	r.assumeSince(l, q)
	decided, changed, saved, people := l.briefOfDecisions(q), l.briefOfChanges(q), Result{}, l.briefForPeople(q, &r)
	if saved.addSavings(l, q); saved.Cites == nil {
		saved.Sentences = nil // no job of that time waited
	}
	need := valueOf("run", "needs-a-person", len(people))
	if r.addSentence("From %s to %s:", valueOf("run", "from", q.From), valueOf("run", "to", q.To)); len(people) > 0 {
		r.addSentence("%s %s a person.", countedPart(need, "thing", "things"), pluralForm(len(people), "needs", "need"))
	}
	r.addFigures(need)
	for _, x := range []struct {
		heading string
		lines   []Sentence
	}{{"Needs a person", people}, {"Decided", decided}, {"Changed", changed}, {"Saved", saved.Sentences}} {
		if len(x.lines) == 0 {
			x.lines = []Sentence{newSentence("nothing.")}
		}
		for i, s := range x.lines {
			if i == 0 {
				s = newSentence(x.heading+": %s", s)
			}
			r.Sentences = append(r.Sentences, s)
		}
	}
	r.citeNamed(saved.Cites...)
	return r
}

// LastHours returns the last stretch of a record, to the minute: until its end in a federation that
// runs, and until the last decision of a recording, whose jobs and meters run on for days.
func (l *Dataset) LastHours(long time.Duration) (from, to protocol.Time) {
	end := l.lastTime()
	if all := l.history.AllDecisions(); len(all) > 0 && !l.history.Coverage().Live {
		end = all[len(all)-1].At
	}
	to = end.Floor(time.Minute).Add(time.Minute)
	return max(l.firstTime(), to.Add(-long)), to
}

// briefOfDecisions counts decisions, starts and ends, and what the jobs that ended took.
func (l *Dataset) briefOfDecisions(q ask.Query) (all []Sentence) {
	_, kinds := l.decisionsIn(q)
	runs := l.countRuns(q)
	all = append(all,
		newSentence("The coordinator said %s: %s, %s, %s.", decisionCounts(kinds)...),
		newSentence("%s started and %s ended.", countedPart(valueOf("run", "started", runs.started), "job", "jobs"), valueOf("run", "ended", runs.ended)))
	if jobs, _, _ := l.usageIn(q); jobs.jobs > 0 {
		all = append(all, newSentence("Those that ended took %s: they emitted %s and cost %s.", jobs.usageParts("run")...))
	}
	return all
}

// briefOfChanges lists the sites that went or came, the rules that changed, and the jobs that were
// paused or preempted.
func (l *Dataset) briefOfChanges(q ask.Query) []Sentence {
	var r Result
	r.listOutages(l, q)
	if slices.ContainsFunc(l.history.PolicyVersions(), func(p history.PolicyVersion) bool { return inWindow(q, p.At) }) {
		r.describePolicyChanges(l, q)
	}
	paused, preempted := l.countRuns(q).paused, 0
	for _, rec := range l.allInstances() {
		for _, a := range rec.Awards {
			if a.Preempted != nil && inWindow(q, a.Released.At) {
				preempted++
			}
		}
	}
	if paused+preempted > 0 {
		r.addSentence("%s paused, and %s preempted.", countedPart(valueOf("run", "pauses", paused), "run was", "runs were"), countedPart(valueOf("run", "preempted", preempted), "run was", "runs were"))
	}
	return r.Sentences
}

// briefForPeople lists what no rule settles by itself: sites that are not heard or do not keep their
// awards, jobs that are late, stuck or refused, and those that nearly missed their deadline.
func (l *Dataset) briefForPeople(q ask.Query, r *Result) (all []Sentence) {
	for s, site := range l.sitesIn(q) {
		if heard := site.LastMessage(); l.isQuiet(q, s) {
			all = append(all, newSentence("Site %s was last heard at %s, %s before the end: see its agent's log.", namePart(s),
				valueOf("site/"+s, "last-heard", heard), valueOf("site/"+s, "silent-for", min(q.To, l.lastTime()).Sub(heard))))
		}
	}
	jobs := make(map[string][]history.JobRecord)
	for _, rec := range l.allInstances() {
		what := l.troubleOf(q, rec)
		jobs[what] = append(jobs[what], rec)
	}
	for _, x := range jobTroubles {
		if list := jobs[x.what]; len(list) > 0 {
			names := r.namesOfJobs(l, list, mostInBrief, valueOf("run", x.what+"-not-named", len(list)-mostInBrief))
			all = append(all, newSentence("%s: %s. `gridbid ask '%s'`.", countedPart(valueOf("run", x.what, len(list)), x.one, x.many), names, plainText(x.next)))
		}
	}
	return append(all, l.briefOfReneges(q)...)
}

// jobTroubles are what a person may have to do with jobs, in words, each with the question that lists
// them.
var jobTroubles = []struct{ what, one, many, next string }{
	{"overdue", "job is past its deadline and has not ended", "jobs are past their deadline and have not ended", "stuck jobs"},
	{"stuck", "job finds no place or did not start when it was to", "jobs find no place or did not start when they were to", "stuck jobs"},
	{"failed", "job failed by its own program", "jobs failed by their own program", "what happened"},
	{"late", "job ended after its deadline", "jobs ended after their deadline", "late jobs"},
	{"near-miss", "job nearly missed its deadline", "jobs nearly missed their deadline", "late jobs"},
	{"refused", "job was refused", "jobs were refused", "what happened"},
	{"cancelled", "job was cancelled", "jobs were cancelled", "what happened"},
}

// troubleOf says which of jobTroubles a job is in a query's window, or is still; "" if none.
func (l *Dataset) troubleOf(q ask.Query, rec history.JobRecord) string {
	open, ended := !rec.HasEnded() && !rec.IsRefused(), rec.HasEnded() && inWindow(q, rec.Run.Ended)
	switch {
	case open && rec.Job.Deadline < l.lastTime():
		return "overdue"
	case open && l.blockedReason(rec) != "":
		return "stuck"
	case rec.IsRefused() && rec.Refusal != nil && inWindow(q, rec.Refusal.Message.At):
		if history.StateOfRefusal(rec.Refusal.Why.Code) == history.Cancelled {
			return "cancelled"
		}
		return "refused"
	case ended && rec.Run.Failed != "":
		return "failed"
	case ended && rec.EndedLate():
		return "late"
	case ended && rec.Job.Deadline.Sub(rec.Run.Ended) < nearMissMargin:
		return "near-miss"
	}
	return ""
}

// briefOfReneges lists the sites that declined a fifth of their awards or let them lapse: a few are
// ordinary, as a cluster may fill after its bid.
func (l *Dataset) briefOfReneges(q ask.Query) (all []Sentence) {
	by := l.awardsBySite(q)
	for _, s := range sortedKeys(by) {
		if broken := by[s].declined + by[s].lapsed; broken > 0 && 5*broken >= by[s].awards {
			all = append(all, newSentence("Site %s did not keep %s of %s. `gridbid ask 'declined awards'`.", namePart(s), valueOf("site/"+s, "awards-not-kept", broken),
				countedPart(valueOf("site/"+s, "awards", by[s].awards), "award", "awards")))
		}
	}
	return all
}

// isQuiet reports whether a site was not heard for quietSite before the end of a window, though
// others were, and nobody declared it gone.
func (l *Dataset) isQuiet(q ask.Query, site string) bool {
	end := min(q.To, l.lastTime())
	if slices.ContainsFunc(l.outagesIn(ask.Query{}), func(o outage) bool { return o.site == site && o.to == 0 }) {
		return false
	}
	if l.history.SendsHeartbeats(site) {
		return l.history.ConditionAt(site, end).State == protocol.SiteSilent
	}
	var newest protocol.Time
	for _, other := range l.sitesIn(ask.Query{}) {
		newest = max(newest, other.LastMessage())
	}
	heard := l.history.ReportingSite(site).LastMessage()
	return heard.Add(quietSite) < min(end, newest)
}

// TextWithoutNames returns the sentences of an answer as a model may see them: names other than those
// to keep, and text that the record quotes, are masked.
func (a Answer) TextWithoutNames(keep []string) (all []string) {
	var masked func(Part) Part
	mask := func(parts []Part) (out []Part) {
		for _, p := range parts {
			out = append(out, masked(p))
		}
		return out
	}
	masked = func(p Part) Part {
		switch x := p.(type) {
		case namePart:
			if !slices.Contains(keep, string(x)) {
				return plainText("(a name)")
			}
		case recordedText, reasonText:
			return plainText("(a reason)")
		case partList:
			return partList(mask(x))
		case Sentence:
			return Sentence{x.Form, mask(x.Parts)}
		}
		return p
	}
	if a.result == nil {
		return nil
	}
	for _, s := range a.result.Sentences {
		all = append(all, masked(s).renderText())
	}
	return all
}

// answerDayBefore compares a day with the one before it, both up to the same hour if
// the day is not over.
func (l *Dataset) answerDayBefore(q ask.Query) (r Result) {
	const day = 24 * time.Hour
	if q.To == 0 {
		q.From, q.To = l.todayMidnight(), l.todayMidnight().Add(day)
		if today := asDate(valueOf("run", "from", q.From)); l.history.Coverage().Live {
			r.addAssumption("today is %s; UTC", today)
		} else {
			r.addAssumption("today is the day on which the last jobs came, %s; UTC", today)
		}
	}
	if q.To.Sub(q.From) > day {
		r.Kind = "refused"
		r.addSentence("One day is compared with the one before; that is %s.", durationFigure("window", q.To.Sub(q.From)))
		return r
	}
	if q.To > l.lastTime()+1 { // sites report their draw by whole hours
		if q.To = l.lastTime().Floor(time.Hour); q.To <= q.From {
			q.To = l.lastTime() + 1
		}
		r.addAssumption("the record ends at %s, so both days count up to %s", lastTimeFigure(l), valueOf("run", "to", q.To))
	}
	// The day before has the same length, also if q is cut at the end of the record.
	was := q
	was.From, was.To = q.From.Add(-day), q.To.Add(-day)
	begins := valueOf("run", "begins", l.completeSince())
	if was.To <= l.completeSince() {
		r.Kind = "absent"
		r.addSentence("That cannot be compared: the record begins at %s, and nothing of the day before is in it. A record of two days has both; a replay of another day lies in a folder of its own: `gridbid ask summary --run FOLDER`.", begins)
		return r
	} else if was.From < l.completeSince() {
		r.addAssumption("the record begins at %s, so the day before is not whole", begins)
	}
	r.listDays(l, q, was)
	return r
}

// asDate shows an instant as its day.
func asDate(f Figure) Part {
	return formattedFigure{f, func(v int64) string { return dateText(protocol.Time(v)) }}
}

// dateText returns the UTC date of an instant.
func dateText(t protocol.Time) string { return t.StdTime().Format("2006-01-02") }

// figuresOfDay returns what a day has, or a part of it, in the order of its table, and what was used in it.
func (l *Dataset) figuresOfDay(q ask.Query) (all []Figure, used usageSum) {
	day, waits := "day/"+dateText(q.From), ask.Query{Metric: "wait", Statistic: "mean"}
	started := tallyOf(l, waits, l.jobsOf(q, "started"))
	_, kinds := l.decisionsIn(q)
	_, _, used = l.usageIn(q)
	return []Figure{
		valueOf(day, "jobs that arrived", len(l.jobsOf(q, "arrived"))), valueOf(day, "jobs that ended", len(l.jobsOf(q, "ended"))), valueOf(day, "late jobs", len(l.jobsOf(q, "ended", "late"))),
		valueOf(day, "awards", kinds["award"]), valueOf(day, "holds", kinds["hold"]), valueOf(day, "refusals", kinds["refuse"]),
		valueOf(day, "mean wait", milliseconds(started.statistic(waits, "").Value)),
		valueOf(day, "carbon", used.bill.Carbon), valueOf(day, "energy", used.bill.Energy), valueOf(day, "cost", used.bill.Money), valueOf(day, "paid", used.paid),
	}, used
}

// listDays lists two days side by side.
func (r *Result) listDays(l *Dataset, q, was ask.Query) {
	before, usedBefore := l.figuresOfDay(was)
	after, used := l.figuresOfDay(q)
	r.Head = []string{"what", dateText(was.From), dateText(q.From), "change"}
	for i, x := range before {
		y := after[i]
		by := changePart(y.Name, float64(y.Value), float64(x.Value))
		r.addRow(plainText(y.Name), x, y, by)
		if y.Name == cmp.Or(q.Metric, "carbon") {
			r.addSentence("%s: %s on %s against %s on %s (%s).", plainText(y.Name), y, asDate(valueOf("run", "from", q.From)), x, asDate(valueOf("run", "from-before", was.From)), by)
			r.Chart = barChart("compare", y.Name+" of both days", []Figure{x, y})
		}
	}
	r.Cites = slices.Compact(append(slices.Clone(usedBefore.ids), used.ids...))
	if q.Tenant == "" {
		r.addSentence("Idle draw of the sites is included.")
	}
	used.estimated = used.estimated || usedBefore.estimated
	r.noteEstimate(used)
}

// answerRunFacts says what is in the run: its sites with their GPUs, tenants, jobs, rounds, and how long it is.
func (l *Dataset) answerRunFacts(ask.Query) (r Result) {
	var gpus protocol.Milli
	r.Head = []string{"site", "model", "GPUs"}
	for _, s := range l.countDeviceStock(ask.Query{}, l.lastTime()) {
		gpus += s.all
		r.addRow(namePart(s.site), namePart(s.model), valueOf("site/"+s.site, "all-"+s.model, s.all))
	}
	sites, tenants := l.history.ReportingSiteNames(), l.history.TenantNames()
	r.addSentence("%s: %s.", countedPart(valueOf("run", "sites", len(sites)), "site", "sites"), namesOf(sites...))
	r.addSentence("%s: %s.", countedPart(valueOf("run", "tenants", len(tenants)), "tenant", "tenants"), namesOf(tenants...))
	r.addSentence("%s GPUs, %s and %s. The record goes from %s to %s, which is %s.", valueOf("run", "gpus", gpus), countedPart(valueOf("run", "jobs", len(l.allInstances())), "job", "jobs"),
		countedPart(valueOf("run", "rounds", len(l.history.RoundRecords())), "round", "rounds"), firstTimeFigure(l), lastTimeFigure(l), valueOf("run", "length", l.lastTime().Sub(l.firstTime())))
	return r
}
