package query

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// mostListed bounds the rows of a list for people; figures have all.
const mostListed = 20

// boundedNoun words the quantities of jobs that are bounded.
var boundedNoun = map[string]string{"wait": "a wait", "run": "a run", "late": "a lateness", "gpus": "a number", "carbon": "carbon", "energy": "energy", "cost": "a cost of energy", "paid": "a payment"}

// lateJobs returns the jobs that a query is about and that ended after their deadline.
func (l *Dataset) lateJobs(q ask.Query) []history.JobRecord {
	return slices.DeleteFunc(l.endedJobs(q), func(r history.JobRecord) bool { return !r.EndedLate() })
}

// pendingJobs returns the jobs that a query is about and that had arrived and not started.
func (l *Dataset) pendingJobs(q ask.Query, at protocol.Time) []history.JobRecord {
	return l.jobsWhere(func(r history.JobRecord) bool {
		waits := slices.Contains(statesBeforeRun, l.history.JobStateAt(&r, at).State)
		return waits && includes(q, r.Job.Tenant, l.givenTo(r, at)) && l.withinBound(q, r)
	})
}

// countedJobs returns the jobs that a query counts: those that arrived in its window, or that are in
// its state.
func (l *Dataset) countedJobs(q ask.Query) []history.JobRecord {
	return l.jobsWhere(func(r history.JobRecord) bool {
		there := q.State != "" && includes(q, r.Job.Tenant, l.siteInState(q, r))
		if q.State == "" {
			there = includes(q, r.Job.Tenant, cmp.Or(q.Site, siteOfRun(r))) && (q.Site == "" || slices.ContainsFunc(r.RunSegments(), func(x history.RunSegment) bool { return x.Run.Site == q.Site }))
		}
		model := q.Model == "" || r.Run != nil && r.Run.Model == q.Model
		return there && model && (q.State != "" || inWindow(q, r.Job.Arrival)) && l.inState(q, r) && l.withinBound(q, r)
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
	r.describeWaiting(l, all, at)
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

// A jobTally counts the jobs that a question is about. planned counts runs of which only the
// planned start is known, going those of them that run at the end of the record.
type jobTally struct {
	all, planned, going int
	states              map[string]int
	by                  map[group]int
}

// answerCount counts jobs by state, and by tenant or site if the question splits them.
func (l *Dataset) answerCount(q ask.Query) (r Result) {
	counts := "jobs count that arrived in that time; UTC"
	if q.State != "" {
		counts = "jobs count that came to that state in that time; UTC"
	}
	if q.At != 0 {
		r.instantOf(l, q)
	} else {
		r.assumeWindow(l, q, counts)
	}
	r.Head = []string{"job", "state", "arrived", "tenant", "decision"}
	if q.Bounded != "" {
		r.Head = append(r.Head, q.Bounded)
	}
	n := jobTally{states: make(map[string]int), by: make(map[group]int)}
	for _, rec := range l.countedJobs(q) {
		state := l.stateOf(rec)
		if rec.Run != nil && rec.Run.Planned {
			n.planned++
			if state == history.Running {
				n.going++
			}
		}
		n.states[string(state)]++
		n.by[groupOf(q, rec.Job.Tenant, siteOfRun(rec), 0)]++
		d := l.currentDecision(rec)
		r.citeDecision(d)
		if n.all++; n.all <= mostListed && q.By == "" {
			cells := []Part{namePart(rec.Job.ID), recordedText(state), valueOf(jobSubject(rec.Job.ID), "arrival", rec.Job.Arrival), namePart(rec.Job.Tenant), decisionCitation(d)}
			if q.Bounded != "" {
				f, _ := l.boundedQuantity(q, rec)
				cells = append(cells, f)
			}
			r.addRow(cells...)
		}
	}
	r.describeCount(l, q, n)
	if q.By != "" {
		r.Head, r.Rows = []string{q.By, "jobs"}, nil
		for _, g := range slices.SortedFunc(maps.Keys(n.by), compareGroups) {
			r.addRow(groupName(g[0]), valueOf(g.subjectIn(q), "jobs", n.by[g]))
		}
	} else {
		r.noteShown(n.all, "The first %s by name are shown.")
	}
	return r
}

// describeCount words a tally.
func (r *Result) describeCount(l *Dataset, q ask.Query, n jobTally) {
	var states partList
	for _, s := range sortedKeys(n.states) {
		states = append(states, formattedFigure{valueOf("run", "jobs-"+s, n.states[s]), func(v int64) string { return strconv.FormatInt(v, 10) + " " + s }})
	}
	all := countedPart(valueOf("run", "jobs", n.all, r.Cites...), "job", "jobs")
	arrived := plainText("")
	if q.To != 0 {
		arrived = " that arrived in that time"
	}
	if q.Bounded == "gpus" {
		r.addSentence("%s%s with %s.", all, arrived, boundText(q))
		return
	} else if q.Bounded != "" {
		r.addSentence("%s%s with %s of %s.", all, arrived, plainText(boundedNoun[q.Bounded]), boundText(q))
		return
	}
	at := l.lastTime()
	if q.At != 0 {
		at = q.At
	}
	switch {
	case q.State != "" && q.To != 0:
		r.addSentence("%s %s in that time.", all, plainText(q.State))
		return
	case q.State != "":
		r.addSentence("%s %s at %s.", all, plainText(q.State), valueOf("run", "at", at))
	case n.all == 0:
		r.addSentence("%s%s.", all, arrived)
	case q.Site != "" && n.planned > 0: // some may not have started
		r.addSentence("%s%s %s at %s or %s: %s.", all, arrived, pluralForm(n.all, "is", "are"), namePart(q.Site), pluralForm(n.all, "was", "were"), states)
	case q.Site != "":
		r.addSentence("%s%s ran at %s: %s.", all, arrived, namePart(q.Site), states)
	default:
		r.addSentence("%s%s: %s.", all, arrived, states)
	}
	if n.going > 0 && at == l.lastTime() {
		r.addSentence("Of those running, %s %s so at %s by plan; a site says when a job started when it is over.",
			valueOf("run", "running-as-planned", n.going), pluralForm(n.going, "is", "are"), valueOf("run", "at", l.lastTime()))
	}
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

// describeWaiting splits jobs that wait at an instant by their state.
func (r *Result) describeWaiting(l *Dataset, all []history.JobRecord, at protocol.Time) {
	n := make(map[history.State]int)
	for _, x := range all {
		n[l.history.JobStateAt(&x, at).State]++
	}
	var parts partList
	for _, s := range statesBeforeRun {
		if n[s] > 0 {
			parts = append(parts, newSentence("%s "+string(s), valueOf("run", "jobs-"+string(s), n[s])))
		}
	}
	if len(parts) > 0 {
		r.addSentence("By state: %s.", parts)
	}
}

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
