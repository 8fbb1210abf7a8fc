package query

import (
	"cmp"
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

// aboutJobs are the questions about many jobs.
var aboutJobs = map[string]evaluator{
	"late": (*Dataset).answerLateJobs, "waits": (*Dataset).answerWaits, "pending": (*Dataset).answerPendingJobs, "jobs": (*Dataset).answerCount, "stuck": (*Dataset).answerStuckJobs, "shares": (*Dataset).answerShares,
}

// jobFigure returns a figure of a job.
func jobFigure(id protocol.JobID, what string, value int64, unit string, from ...string) Figure {
	return Figure{jobSubject(id), what, value, unit, from}
}

// answerLateJobs lists the jobs that ended after their deadline.
func (l *Dataset) answerLateJobs(q ask.Query) (r Result) {
	r.assumeWindow(l, q, "jobs count where they ended in that time; UTC")
	var late []history.JobRecord
	all := l.endedJobs(q)
	for _, rec := range all {
		if rec.EndedLate() {
			late = append(late, rec)
		}
	}
	slices.SortStableFunc(late, func(x, y history.JobRecord) int {
		return cmp.Compare(y.Run.Ended.Sub(y.Job.Deadline), x.Run.Ended.Sub(x.Job.Deadline))
	})
	r.Head = []string{"job", "late by", "tenant", "site", "decision"}
	for i, rec := range late {
		id := l.currentDecision(rec)
		r.citeDecision(id)
		by := jobFigure(rec.Job.ID, "late-by", rec.Run.Ended.Sub(rec.Job.Deadline).Milliseconds(), "ms", decisionLabel(id))
		if i < mostListed {
			r.addRow(namePart(rec.Job.ID), by, namePart(rec.Job.Tenant), namePart(rec.Run.Site), decisionCitation(id))
		} else {
			r.addFigures(by)
		}
	}
	r.addSentence("%s of %s that ended missed their deadline.", runFigure("late", int64(len(late)), "count", r.Cites...), countedPart(runFigure("ended", int64(len(all)), "count"), "job", "jobs"))
	if len(late) > mostListed {
		r.addSentence("The %s latest are shown.", runFigure("shown", mostListed, "count"))
	}
	if s, ok := l.lateByNow(q); ok {
		r.Sentences = append(r.Sentences, s)
	}
	return r
}

// lateByNow counts the jobs that are past their deadline and have not ended.
func (l *Dataset) lateByNow(q ask.Query) (s Sentence, ok bool) {
	n := l.countOverdue(q)
	return Sentence{"%s more had not ended at %s, and %s past %s deadline.", []Part{
		runFigure("past-deadline", int64(n), "count"), runFigure("at", int64(l.lastTime()), "instant"), pluralForm(n, "is", "are"), pluralForm(n, "its", "their"),
	}}, n > 0
}

// countOverdue counts the jobs whose deadline was in a query's window and that had not
// ended when the record did.
func (l *Dataset) countOverdue(q ask.Query) (n int) {
	for _, r := range l.allInstances() {
		open := r.State != history.Ended && r.State != history.Refused
		if open && isAbout(q, r) && inWindow(q, r.Job.Deadline) && r.Job.Deadline < l.lastTime() {
			n++
		}
	}
	return n
}

// answerWaits summarizes the distribution of waiting times.
func (l *Dataset) answerWaits(q ask.Query) (r Result) {
	r.assumeWindow(l, q, "jobs count that started in that time; UTC")
	var all []int64
	for _, rec := range l.allInstances() {
		first, _ := firstSegment(rec)
		if wait, ok := rec.WaitTime(); ok && (q.Tenant == "" || rec.Job.Tenant == q.Tenant) && (q.Site == "" || first.Run.Site == q.Site) && inWindow(q, first.Run.Started) {
			all = append(all, wait.Milliseconds())
			r.citeDecision(l.currentDecision(rec))
		}
	}
	if len(all) == 0 {
		r.addSentence("No job started then.")
		return r
	}
	slices.Sort(all)
	var sum int64
	for _, v := range all {
		sum += v
	}
	// rank is the nearest-rank percentile: the smallest value that so many per cent do not exceed.
	rank := func(percent int) int64 { return all[max(0, (len(all)*percent+99)/100-1)] }
	r.addSentence("%s started. They waited %s on average; the median is %s, the 95th percentile %s, the longest %s.",
		countedPart(runFigure("started", int64(len(all)), "count"), "job", "jobs"), runFigure("mean-wait", sum/int64(len(all)), "ms"), runFigure("median-wait", rank(50), "ms"),
		runFigure("p95-wait", rank(95), "ms"), runFigure("longest-wait", rank(100), "ms"))
	return r
}

// answerPendingJobs lists the jobs that had arrived and not started.
func (l *Dataset) answerPendingJobs(q ask.Query) (r Result) {
	at := r.instantOf(l, q)
	if q.Site != "" {
		r.addAssumption("those given to %s by then; a job that is given to no site waits at none", namePart(q.Site))
	}
	var all []history.JobRecord
	for _, x := range l.allInstances() {
		_, runs := segmentAt(x, at)
		waits := x.Job.Arrival <= at && !runs && (x.State != history.Ended || x.Run.Ended > at) && (x.Refusal == nil || x.Refusal.Message.At > at)
		if waits && (q.Tenant == "" || x.Job.Tenant == q.Tenant) && (q.Site == "" || l.givenTo(x, at) == q.Site) {
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(x, y history.JobRecord) int { return cmp.Compare(x.Job.Arrival, y.Job.Arrival) })
	var gpu protocol.Milli
	r.Head = []string{"job", "waits since", "GPUs", "tenant", "decision", "why"}
	for i, x := range all {
		gpu += x.Job.TotalGPUMilli()
		d, why := l.lastDecisionAt(x, at)
		r.citeDecision(d.Number)
		if i < mostListed {
			r.addRow(namePart(x.Job.ID), jobFigure(x.Job.ID, "arrival", int64(x.Job.Arrival), "instant"), jobFigure(x.Job.ID, "gpus", int64(x.Job.TotalGPUMilli()), "thousandths"),
				namePart(x.Job.Tenant), decisionCitation(d.Number), recordedText(why))
		}
	}
	r.addSentence("%s, for %s GPUs in all.", countedPart(runFigure("waiting", int64(len(all)), "count", r.Cites...), "job was waiting", "jobs were waiting"), runFigure("gpus-waiting", int64(gpu), "thousandths"))
	if len(all) > mostListed {
		r.addSentence("The %s that waited longest are shown.", runFigure("shown", mostListed, "count"))
	}
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

// givenTo returns the site whose award of a job was in force at an instant; "" if the last
// decision was no award, or the site declined it, or its run ended before.
func (l *Dataset) givenTo(r history.JobRecord, at protocol.Time) string {
	d := l.lastDecision(r, at)
	if d.Kind != "award" {
		return ""
	}
	for _, x := range declinedAwards(r) {
		if decisionNumber(x) == d.Number && x.Answered.At <= at {
			return ""
		}
	}
	for _, x := range segmentsOf(r) {
		if x.Over && x.Run.Ended <= at && x.awardLabel() == decisionLabel(d.Number) {
			return ""
		}
	}
	return d.Site
}

// A jobTally counts the jobs that a question is about. planned counts runs of which only the
// planned start is known, going those of them that are due to run at the end of the record.
type jobTally struct {
	all, planned, going int
	states, by          map[string]int
}

// answerCount counts jobs by state, and by tenant or site if the question splits them.
func (l *Dataset) answerCount(q ask.Query) (r Result) {
	r.assumeWindow(l, q, "jobs count that arrived in that time; UTC")
	r.Head = []string{"job", "state", "arrived", "tenant", "decision"}
	n := jobTally{states: make(map[string]int), by: make(map[string]int)}
	for _, rec := range l.allInstances() {
		there := q.Site == "" || slices.ContainsFunc(segmentsOf(rec), func(x runSegment) bool { return x.Run.Site == q.Site })
		if !there || q.Tenant != "" && rec.Job.Tenant != q.Tenant || !inWindow(q, rec.Job.Arrival) {
			continue
		}
		if rec.Run != nil && rec.Run.Planned {
			n.planned++
			if rec.Run.Started <= l.lastTime() {
				n.going++
			}
		}
		n.states[string(rec.State)]++
		n.by[groupKey(q, rec)]++
		d := l.currentDecision(rec)
		r.citeDecision(d)
		if n.all++; n.all <= mostListed && q.By == "" {
			r.addRow(namePart(rec.Job.ID), recordedText(rec.State), jobFigure(rec.Job.ID, "arrival", int64(rec.Job.Arrival), "instant"), namePart(rec.Job.Tenant), decisionCitation(d))
		}
	}
	r.describeCount(l, q, n)
	if q.By != "" {
		r.Head, r.Rows = []string{q.By, "jobs"}, nil
		none := map[string]string{"tenant": "of no tenant", "site": "at no site"}[q.By]
		for _, k := range sortedKeys(n.by) {
			r.addRow(namePart(cmp.Or(k, none)), Figure{q.By + "/" + cmp.Or(k, none), "jobs", int64(n.by[k]), "count", nil})
		}
	} else if n.all > mostListed {
		r.addSentence("The first %s by name are shown.", runFigure("shown", mostListed, "count"))
	}
	return r
}

// describeCount words a tally.
func (r *Result) describeCount(l *Dataset, q ask.Query, n jobTally) {
	var states partList
	for _, s := range sortedKeys(n.states) {
		states = append(states, formattedFigure{runFigure("jobs-"+s, int64(n.states[s]), "count"), func(v int64) string { return strconv.FormatInt(v, 10) + " " + s }})
	}
	all := countedPart(runFigure("jobs", int64(n.all), "count", r.Cites...), "job", "jobs")
	arrived := plainText("")
	if q.To != 0 {
		arrived = " that arrived in that time"
	}
	switch {
	case n.all == 0:
		r.addSentence("%s%s.", all, arrived)
	case q.Site != "" && n.planned > 0: // some may not have started
		r.addSentence("%s%s %s at %s or %s: %s.", all, arrived, pluralForm(n.all, "is", "are"), namePart(q.Site), pluralForm(n.all, "was", "were"), states)
	case q.Site != "":
		r.addSentence("%s%s ran at %s: %s.", all, arrived, namePart(q.Site), states)
	default:
		r.addSentence("%s%s: %s.", all, arrived, states)
	}
	if n.going > 0 {
		r.addSentence("Of those awarded, %s %s running at %s as planned; a site says when a job started when it is over.",
			runFigure("running-as-planned", int64(n.going), "count"), pluralForm(n.going, "is", "are"), runFigure("at", int64(l.lastTime()), "instant"))
	}
}

// groupKey returns the tenant or the site under which a job is counted.
func groupKey(q ask.Query, r history.JobRecord) string {
	if q.By == "tenant" {
		return r.Job.Tenant
	}
	return siteOfRun(r)
}

// answerStuckJobs lists the jobs that had not ended; those with a blockedReason come first.
func (l *Dataset) answerStuckJobs(ask.Query) (r Result) {
	r.addAssumption("jobs that had not ended when the record did, at %s UTC; stuck are those past their deadline, that no site has an option or room for, or that did not start when they were to", lastTimeFigure(l))
	type line struct {
		rec history.JobRecord
		why string
	}
	var stuck, others []line
	refused := 0
	for _, rec := range l.allInstances() {
		if rec.State == history.Refused {
			refused++
		}
		if rec.State == history.Ended || rec.State == history.Refused { // final states
			continue
		}
		if why := l.blockedReason(rec); why != "" {
			stuck = append(stuck, line{rec, why})
		} else {
			others = append(others, line{rec, ""})
		}
	}
	all := append(stuck, others...)
	r.Head = []string{"job", "state", "stuck", "arrived", "tenant", "decision", "why"}
	for i, x := range all {
		d, why := l.lastDecisionAt(x.rec, l.lastTime())
		r.citeDecision(d.Number)
		if i < mostListed {
			r.addRow(namePart(x.rec.Job.ID), recordedText(x.rec.State), plainText(cmp.Or(x.why, "no")), jobFigure(x.rec.Job.ID, "arrival", int64(x.rec.Job.Arrival), "instant"),
				namePart(x.rec.Job.Tenant), decisionCitation(d.Number), recordedText(why))
		}
	}
	r.addSentence("%s not ended; %s of them %s stuck.", countedPart(runFigure("not-ended", int64(len(all)), "count", r.Cites...), "job has", "jobs have"),
		runFigure("stuck", int64(len(stuck)), "count"), pluralForm(len(stuck), "is", "are"))
	if refused > 0 {
		r.addSentence("%s refused or cancelled, and not among them.", countedPart(runFigure("refused", int64(refused), "count"), "job was", "jobs were"))
	}
	if len(all) > mostListed {
		r.addSentence("The first %s are shown.", runFigure("shown", mostListed, "count"))
	}
	return r
}

// blockedReason says why a job that has not ended is stuck at the end of the record; "" if it is
// not. An awarded start counts as missed only instantMargin later.
func (l *Dataset) blockedReason(r history.JobRecord) string {
	_, runs := segmentAt(r, l.lastTime())
	d := l.lastDecision(r, l.lastTime())
	switch award := r.CurrentAward(); {
	case r.Job.Deadline < l.lastTime():
		return "past its deadline"
	case r.State == history.Awarded && !runs && award != nil && award.Option.Start.Add(instantMargin) < l.lastTime():
		return "was to start"
	case d.Kind == "hold" && (d.Why.Code == protocol.NoBids || d.Why.Code == protocol.Waiting):
		return "no place"
	}
	return ""
}

// answerShares lists what each tenant got.
func (l *Dataset) answerShares(q ask.Query) (r Result) {
	r.addAssumption("this federation promises no shares; these are the GPU-hours that each tenant's ended jobs held")
	by := make(map[string]int64) // thousandths of a GPU times milliseconds
	n := make(map[string]int)
	var all int64
	for _, x := range l.segmentsIn(ask.Query{}) {
		held := int64(x.rec.Job.TotalGPUMilli()) * int64(x.Run.Ended-x.Run.Started)
		by[x.rec.Job.Tenant] += held
		if !x.Run.Paused {
			n[x.rec.Job.Tenant]++
		}
		all += held
	}
	of := func(tenant, what string, value int64, unit string) Figure {
		return Figure{"tenant/" + tenant, what, value, unit, nil}
	}
	r.Head = []string{"tenant", "jobs", "GPU-hours", "share"}
	for _, t := range sortedKeys(by) {
		if q.Tenant == "" || q.Tenant == t {
			r.addRow(namePart(t), of(t, "jobs", int64(n[t]), "count"), of(t, "gpu-time", by[t]/1000, "gpu-ms"), percentPart("tenant/"+t, "share", by[t], all))
		}
	}
	r.addSentence("%s GPU-hours in all.", runFigure("gpu-time", all/1000, "gpu-ms"))
	if q.Tenant != "" {
		if by[q.Tenant] == 0 && n[q.Tenant] == 0 {
			r.addSentence("None of the jobs of %s has ended, so it got none so far.", namePart(q.Tenant))
		} else {
			r.addSentence("%s got %s GPU-hours of them, %s.", namePart(q.Tenant), of(q.Tenant, "gpu-time", by[q.Tenant]/1000, "gpu-ms"), percentPart("tenant/"+q.Tenant, "share", by[q.Tenant], all))
		}
	}
	if tenants := len(l.history.TenantNames()); tenants > 0 {
		r.addSentence("An equal part of all %s would be %s.", countedPart(runFigure("tenants", int64(tenants), "count"), "tenant", "tenants"), percentPart("run", "equal-part", 1, int64(tenants)))
	}
	return r
}

// percentPart returns a part of a whole in per cent; a dash of nothing or less, as a cost is
// where prices are negative.
func percentPart(subject, what string, part, whole int64) Part {
	if whole <= 0 {
		return plainText("–")
	}
	return asPercent(Figure{subject, what, int64(math.Round(float64(part) * 1000 / float64(whole))), "thousandths", nil})
}

// exampleJobs returns a few jobs to ask about: those that wait still, then those that
// waited longest.
func (l *Dataset) exampleJobs() (ids []protocol.JobID) {
	all := l.allInstances()
	slices.SortStableFunc(all, func(x, y history.JobRecord) int {
		wx, startedX := x.WaitTime()
		wy, startedY := y.WaitTime()
		switch {
		case startedX && startedY:
			return cmp.Compare(wy, wx)
		case startedX:
			return 1
		case startedY:
			return -1
		}
		return cmp.Compare(x.Job.Arrival, y.Job.Arrival)
	})
	for _, r := range all[:min(3, len(all))] {
		ids = append(ids, r.Job.ID)
	}
	return ids
}
