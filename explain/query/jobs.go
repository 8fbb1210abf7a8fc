package query

import (
	"cmp"
	"math"
	"slices"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// mostListed bounds the rows of a list for people; figures have all.
const mostListed = 20

// boundedNoun words the quantities of jobs that are bounded.
var boundedNoun = map[string]string{"wait": "a wait", "run": "a run", "late": "a lateness", "slack": "a slack", "gpus": "a number", "carbon": "carbon", "energy": "energy", "cost": "a cost of energy", "paid": "a payment"}

// pendingJobs returns the jobs that a query is about and that had arrived and not started.
func (l *Dataset) pendingJobs(q ask.Query, at protocol.Time) []history.JobRecord {
	return l.jobsWhere(func(r history.JobRecord) bool {
		waits := slices.Contains(statesBeforeRun, l.history.JobStateAt(&r, at).State)
		return waits && includes(q, r.Job.Tenant, l.givenTo(r, at)) && l.withinBound(q, r)
	})
}

// lateByNow counts the jobs whose deadline was in a query's window and that had not ended when the
// record did.
func (l *Dataset) lateByNow(q ask.Query) (s Sentence, ok bool) {
	n := len(l.jobsWhere(func(r history.JobRecord) bool {
		return !r.HasEnded() && !r.IsRefused() && isAbout(q, r) && inWindow(q, r.Job.Deadline) && r.Job.Deadline < l.lastTime()
	}))
	return Sentence{"%s more had not ended at %s, and %s past %s deadline.", []Part{
		valueOf("run", "past-deadline", n), valueOf("run", "at", l.lastTime()), pluralForm(n, "is", "are"), pluralForm(n, "its", "their"),
	}}, n > 0
}

// answerPendingJobs lists the jobs that had arrived and not started.
func (l *Dataset) answerPendingJobs(q ask.Query) (r Result) {
	at := r.instantOf(l, q)
	if q.Site != "" {
		r.addAssumption("those given to %s by then; a job that is given to no site waits at none", namePart(q.Site))
	}
	all := l.pendingJobs(q, at)
	slices.SortStableFunc(all, func(x, y history.JobRecord) int { return cmp.Compare(x.Job.Arrival, y.Job.Arrival) })
	var gpu protocol.Milli
	r.Head = []string{"job", "waits since", "GPUs", "tenant", "decision", "why"}
	for i, x := range all {
		gpu += x.Job.TotalGPUMilli()
		d, why := l.lastDecisionAt(x, at)
		r.citeDecision(d.Number)
		if i < mostListed {
			r.addRow(namePart(x.Job.ID), valueOf(jobSubject(x.Job.ID), "arrival", x.Job.Arrival), valueOf(jobSubject(x.Job.ID), "gpus", x.Job.TotalGPUMilli()),
				namePart(x.Job.Tenant), decisionCitation(d.Number), recordedText(why))
		}
	}
	r.addSentence("%s, for %s GPUs in all.", countedPart(valueOf("run", "waiting", len(all), r.Cites...), "job was waiting", "jobs were waiting"), valueOf("run", "gpus-waiting", gpu))
	if len(all) > 0 {
		r.addSentence("By state: %s.", listStates(all, func(x history.JobRecord) history.State { return l.history.JobStateAt(&x, at).State }))
	}
	r.noteShown(len(all), "The %s that waited longest are shown.")
	return r
}

// decisionInWords words a decision briefly.
func decisionInWords(d history.DecisionRef) string {
	switch d.Kind {
	case "":
		return "nothing decided yet"
	case "award":
		return "awarded to " + cleanName(d.Site)
	}
	return narrate.ReasonWithNote(d.Why)
}

// lastDecision returns the last decision on a job until an instant.
func (l *Dataset) lastDecision(r history.JobRecord, at protocol.Time) (last history.DecisionRef) {
	for _, n := range r.Decisions {
		if d := l.decisionOf(n); d.At <= at {
			last = d
		}
	}
	return last
}

// lastDecisionAt returns the last decision on a job until an instant, and words the state that
// it left the job in: an award that ended or was declined since is not in force.
func (l *Dataset) lastDecisionAt(r history.JobRecord, at protocol.Time) (history.DecisionRef, string) {
	d := l.lastDecision(r, at)
	if d.Kind == "award" && l.givenTo(r, at) == "" {
		return d, "waits to be sold again"
	}
	return d, decisionInWords(d)
}

// givenTo returns the site whose award of a job was in force at an instant; "" if there was none.
func (l *Dataset) givenTo(r history.JobRecord, at protocol.Time) string {
	if s := l.history.JobStateAt(&r, at); s.Awarded {
		return s.Site
	}
	return ""
}

// describeCount words how many jobs there are, and in which states where none is asked for.
func (r *Result) describeCount(l *Dataset, q ask.Query, jobs []history.JobRecord) {
	all, arrived := countedPart(valueOf("run", "jobs", len(jobs), r.Cites...), "job", "jobs"), plainText("")
	if q.Event == "arrived" && q.To != 0 {
		arrived = " that arrived in that time"
	}
	planned, going := 0, 0 // runs of which only the planned start is known, and those that run
	for _, rec := range jobs {
		if rec.Run != nil && rec.Run.Planned {
			if planned++; l.stateOf(rec) == history.Running {
				going++
			}
		}
	}
	states := listStates(jobs, l.stateOf)
	switch {
	case q.Bounded+q.Home != "" || len(q.Where) > 0:
		r.addSentence("%s%s%s.", all, arrived, describeJobs(q))
		return
	case q.State != "" && q.To != 0:
		r.addSentence("%s %s in that time.", all, plainText(q.State))
		return
	case q.State != "":
		r.addSentence("%s %s at %s.", all, plainText(q.State), valueOf("run", "at", cmp.Or(q.At, l.lastTime())))
	case len(jobs) == 0:
		r.addSentence("%s%s.", all, arrived)
	case q.Site != "" && planned > 0: // some may not have started
		r.addSentence("%s%s %s at %s or %s: %s.", all, arrived, pluralForm(len(jobs), "is", "are"), namePart(q.Site), pluralForm(len(jobs), "was", "were"), states)
	case q.Site != "":
		r.addSentence("%s%s ran at %s: %s.", all, arrived, namePart(q.Site), states)
	default:
		r.addSentence("%s%s: %s.", all, arrived, states)
	}
	if going > 0 && (q.At == 0 || q.At == l.lastTime()) {
		r.addSentence("Of those running, %s %s so at %s by plan; a site says when a job started when it is over.",
			valueOf("run", "running-as-planned", going), pluralForm(going, "is", "are"), valueOf("run", "at", l.lastTime()))
	}
}

// listStates counts jobs by their state.
func listStates(jobs []history.JobRecord, stateOf func(history.JobRecord) history.State) (all partList) {
	n := make(map[string]int)
	for _, rec := range jobs {
		n[string(stateOf(rec))]++
	}
	for _, s := range sortedKeys(n) {
		all = append(all, newSentence("%s %s", valueOf("run", "jobs-"+s, n[s]), plainText(s)))
	}
	return all
}

// answerStuckJobs lists the jobs that had not ended; those with a blockedReason come first.
func (l *Dataset) answerStuckJobs(ask.Query) (r Result) {
	r.addAssumption("jobs that had not ended when the record did, at %s UTC; stuck are those past their deadline, that no site has an option or room for, or that did not start when they were to", lastTimeFigure(l))
	var stuck, others []history.JobRecord
	refused := 0
	for _, rec := range l.allInstances() {
		switch {
		case rec.IsRefused():
			refused++
		case rec.HasEnded():
		case l.blockedReason(rec) != "":
			stuck = append(stuck, rec)
		default:
			others = append(others, rec)
		}
	}
	all := append(stuck, others...)
	r.Head = []string{"job", "state", "stuck", "arrived", "tenant", "decision", "why"}
	for i, rec := range all {
		d, why := l.lastDecisionAt(rec, l.lastTime())
		r.citeDecision(d.Number)
		if i < mostListed {
			r.addRow(namePart(rec.Job.ID), recordedText(l.stateOf(rec)), plainText(cmp.Or(l.blockedReason(rec), "no")), valueOf(jobSubject(rec.Job.ID), "arrival", rec.Job.Arrival),
				namePart(rec.Job.Tenant), decisionCitation(d.Number), recordedText(why))
		}
	}
	r.addSentence("%s not ended; %s of them %s stuck.", countedPart(valueOf("run", "not-ended", len(all), r.Cites...), "job has", "jobs have"),
		valueOf("run", "stuck", len(stuck)), pluralForm(len(stuck), "is", "are"))
	if refused > 0 {
		r.addSentence("%s refused or cancelled, and not among them.", countedPart(valueOf("run", "refused", refused), "job was", "jobs were"))
	}
	r.noteShown(len(all), "The first %s are shown.")
	return r
}

// blockedReason says why a job that has not ended is stuck at the end of the record; "" if it is
// not. An awarded start counts as missed only instantMargin later.
func (l *Dataset) blockedReason(r history.JobRecord) string {
	_, runs := r.SegmentAt(l.lastTime())
	d := l.lastDecision(r, l.lastTime())
	switch award := r.CurrentAward(); {
	case r.Job.Deadline < l.lastTime():
		return "past its deadline"
	case award != nil && !runs && !r.HasEnded() && award.Option.Start.Add(instantMargin) < l.lastTime():
		return "was to start"
	case d.Kind == "hold" && (d.Why.Code == protocol.NoBids || d.Why.Code == protocol.Waiting):
		return "no place"
	}
	return ""
}

// answerShares lists what each tenant got.
func (l *Dataset) answerShares(q ask.Query) (r Result) {
	r.addAssumption("this federation promises no shares; these are the GPU-hours that each tenant's ended jobs held")
	groups := l.tallyGroups(ask.Query{Ask: "bill", By: "tenant", Per: "gpu-hour"})
	all := sumGroups(groups).usage.held
	got := func(g group) (held Figure, share Part) {
		subject := g.subjectIn(ask.Query{By: "tenant"})
		return valueOf(subject, "gpu-time", gpuMilliseconds(groups[g].usage.held/1000)), percentPart(subject, "share", groups[g].usage.held, all)
	}
	r.Head = []string{"tenant", "jobs", "GPU-hours", "share"}
	for _, g := range sortedGroups(groups) {
		if held, share := got(g); q.Tenant == "" || q.Tenant == g[0] {
			r.addRow(groupName(g[0]), valueOf(held.Subject, "jobs", groups[g].usage.jobs), held, share)
		}
	}
	r.addSentence("%s GPU-hours in all.", valueOf("run", "gpu-time", gpuMilliseconds(all/1000)))
	if mine := (group{q.Tenant}); groups[mine] != nil {
		held, share := got(mine)
		r.addSentence("%s got %s GPU-hours of them, %s.", namePart(q.Tenant), held, share)
	} else if q.Tenant != "" {
		r.addSentence("None of the jobs of %s has ended, so it got none so far.", namePart(q.Tenant))
	}
	if tenants := len(l.history.TenantNames()); tenants > 0 {
		r.addSentence("An equal part of all %s would be %s.", countedPart(valueOf("run", "tenants", tenants), "tenant", "tenants"), percentPart("run", "equal-part", 1, int64(tenants)))
	}
	return r
}

// percentPart returns a part of a whole in per cent; a dash of nothing or less, as a cost is
// where prices are negative.
func percentPart(subject, what string, part, whole int64) Part {
	if whole <= 0 {
		return plainText("–")
	}
	return asPercent(valueOf(subject, what, shareOf(part, whole)))
}

// shareOf returns a part of a whole in thousandths, rounded half away from zero.
func shareOf(part, whole int64) protocol.Milli {
	return protocol.Milli(math.Round(float64(part) * 1000 / float64(max(1, whole))))
}

// exampleJobs returns a few jobs to ask about: those that wait still, then those that
// waited longest.
func (l *Dataset) exampleJobs() (ids []protocol.JobID) {
	all := l.allInstances()
	rank := func(r history.JobRecord) [2]int64 {
		if wait, started := r.WaitTime(); started {
			return [2]int64{1, -int64(wait)}
		}
		return [2]int64{0, int64(r.Job.Arrival)}
	}
	slices.SortStableFunc(all, func(x, y history.JobRecord) int {
		a, b := rank(x), rank(y)
		return slices.Compare(a[:], b[:])
	})
	for _, r := range all[:min(3, len(all))] {
		ids = append(ids, r.Job.ID)
	}
	return ids
}

// statesBeforeRun are the states of a job that has arrived and does not run: a person calls all of
// them waiting.
var statesBeforeRun = []history.State{history.Pending, history.Planned, history.Preempted}

// describeQueue says which jobs are to start before a job at its site, and reports whether it is to
// start anywhere.
func (r *Result) describeQueue(l *Dataset, m jobCase) bool {
	s := l.history.JobStateNow(&m.job, l.lastTime())
	q := l.history.SiteQueuesNow(l.lastTime())[s.Site]
	place, before := q.PlaceOf(m.job.Job.ID)
	if place == 0 || s.State.IsFinal() {
		return false
	}
	r.addSentence("Job %s is to start at %s at %s, as number %s of %s that are to start there.", m.jobName(), namePart(s.Site), jobValue(m, "planned", s.Start),
		jobValue(m, "queue-place", place), jobValue(m, "queue-length", len(q)))
	if next := slices.Clone(before[max(0, len(before)-mostBefore):]); len(next) > 0 {
		slices.Reverse(next)
		r.addSentence("The next before it: %s.", namesOf(next...))
	}
	if !s.Awarded {
		r.addSentence("That is the plan of the last auction, which each may change.")
	}
	return true
}

// mostBefore bounds the jobs of a queue that are named.
const mostBefore = 5
