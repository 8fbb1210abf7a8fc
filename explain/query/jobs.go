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
	"late": (*Log).late, "waits": (*Log).waits, "pending": (*Log).pending, "jobs": (*Log).count, "stuck": (*Log).stuck, "shares": (*Log).shares,
}

// jobFigure returns a figure of a job.
func jobFigure(id protocol.JobID, what string, value int64, unit string, from ...string) Figure {
	return Figure{ofJob(id), what, value, unit, from}
}

// late lists the jobs that ended after their deadline.
func (l *Log) late(q ask.Query) (r Result) {
	r.whole(l, q, "jobs count where they ended in that time; UTC")
	var late []history.JobRecord
	all := l.ended(q)
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
		id := l.deciding(rec)
		r.cite(id)
		by := jobFigure(rec.Job.ID, "late-by", rec.Run.Ended.Sub(rec.Job.Deadline).Milliseconds(), "ms", cite(id))
		if i < mostListed {
			r.row(called(rec.Job.ID), by, called(rec.Job.Tenant), called(rec.Run.Site), citation(id))
		} else {
			r.also(by)
		}
	}
	r.say("%s of %s that ended missed their deadline.", ofRun("late", int64(len(late)), "count", r.Cites...), counted(ofRun("ended", int64(len(all)), "count"), "job", "jobs"))
	if len(late) > mostListed {
		r.say("The %s latest are shown.", ofRun("shown", mostListed, "count"))
	}
	if s, ok := l.lateByNow(q); ok {
		r.Said = append(r.Said, s)
	}
	return r
}

// lateByNow tells of the jobs that are late by now, beside those that ended late.
func (l *Log) lateByNow(q ask.Query) (s Sentence, ok bool) {
	n := l.overdue(q)
	return Sentence{"%s more had not ended at %s, and %s past %s deadline.", []Part{
		ofRun("past-deadline", int64(n), "count"), ofRun("at", int64(l.last()), "instant"), plural(n, "is", "are"), plural(n, "its", "their"),
	}}, n > 0
}

// overdue counts the jobs whose deadline was in a query's window and that had not
// ended when the record did.
func (l *Log) overdue(q ask.Query) (n int) {
	for _, r := range l.records() {
		open := r.State != history.Ended && r.State != history.Refused
		if open && concerns(q, r) && within(q, r.Job.Deadline) && r.Job.Deadline < l.last() {
			n++
		}
	}
	return n
}

// waits tells the spread of waiting times.
func (l *Log) waits(q ask.Query) (r Result) {
	r.whole(l, q, "jobs count that started in that time; UTC")
	var all []int64
	for _, rec := range l.records() {
		first, _ := begun(rec)
		if wait, ok := rec.WaitTime(); ok && (q.Tenant == "" || rec.Job.Tenant == q.Tenant) && (q.Site == "" || first.Run.Site == q.Site) && within(q, first.Run.Started) {
			all = append(all, wait.Milliseconds())
			r.cite(l.deciding(rec))
		}
	}
	if len(all) == 0 {
		r.say("No job started then.")
		return r
	}
	slices.Sort(all)
	var sum int64
	for _, v := range all {
		sum += v
	}
	rank := func(percent int) int64 { return all[max(0, (len(all)*percent+99)/100-1)] }
	r.say("%s started. They waited %s on average; the median is %s, the 95th percentile %s, the longest %s.",
		counted(ofRun("started", int64(len(all)), "count"), "job", "jobs"), ofRun("mean-wait", sum/int64(len(all)), "ms"), ofRun("median-wait", rank(50), "ms"),
		ofRun("p95-wait", rank(95), "ms"), ofRun("longest-wait", rank(100), "ms"))
	return r
}

// pending lists the jobs that had arrived and not started.
func (l *Log) pending(q ask.Query) (r Result) {
	at := r.moment(l, q)
	if q.Site != "" {
		r.assume("those given to %s by then; a job that is given to no site waits at none", called(q.Site))
	}
	var all []history.JobRecord
	for _, x := range l.records() {
		_, runs := stintAt(x, at)
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
		d, why := l.standing(x, at)
		r.cite(d.Number)
		if i < mostListed {
			r.row(called(x.Job.ID), jobFigure(x.Job.ID, "arrival", int64(x.Job.Arrival), "instant"), jobFigure(x.Job.ID, "gpus", int64(x.Job.TotalGPUMilli()), "thousandths"),
				called(x.Job.Tenant), citation(d.Number), recorded(why))
		}
	}
	r.say("%s, for %s GPUs in all.", counted(ofRun("waiting", int64(len(all)), "count", r.Cites...), "job was waiting", "jobs were waiting"), ofRun("gpus-waiting", int64(gpu), "thousandths"))
	if len(all) > mostListed {
		r.say("The %s that waited longest are shown.", ofRun("shown", mostListed, "count"))
	}
	return r
}

// decisionInWords puts a decision into a few words.
func decisionInWords(d history.DecisionRef) string {
	switch d.Kind {
	case "":
		return "nothing decided yet"
	case "award":
		return "awarded to " + name(d.Site)
	}
	return narrate.ReasonWithNote(d.Why)
}

// lastDecision returns the last decision on a job until an instant.
func (l *Log) lastDecision(r history.JobRecord, at protocol.Time) (last history.DecisionRef) {
	for _, n := range r.Decisions {
		if d := l.decisionOf(n); d.At <= at {
			last = d
		}
	}
	return last
}

// standing returns the last decision on a job until an instant, and in a few words how
// the job stood by it.
func (l *Log) standing(r history.JobRecord, at protocol.Time) (history.DecisionRef, string) {
	d := l.lastDecision(r, at)
	if d.Kind == "award" && l.givenTo(r, at) == "" {
		return d, "waits to be sold again"
	}
	return d, decisionInWords(d)
}

// givenTo returns the site that a job was awarded to at an instant, or "": it may have
// been given back since, or paused.
func (l *Log) givenTo(r history.JobRecord, at protocol.Time) string {
	d := l.lastDecision(r, at)
	if d.Kind != "award" {
		return ""
	}
	for _, x := range givenBack(r) {
		if number(x) == d.Number && x.Answered.At <= at {
			return ""
		}
	}
	for _, x := range stints(r) {
		if x.Over && x.Run.Ended <= at && x.cite() == cite(d.Number) {
			return ""
		}
	}
	return d.Site
}

// A tally counts the jobs that a question is about.
type jobTally struct {
	all, planned, going int
	states, by          map[string]int
}

// count says how many jobs there are, and how far they came.
func (l *Log) count(q ask.Query) (r Result) {
	r.whole(l, q, "jobs count that arrived in that time; UTC")
	r.Head = []string{"job", "state", "arrived", "tenant", "decision"}
	n := jobTally{states: make(map[string]int), by: make(map[string]int)}
	for _, rec := range l.records() {
		there := q.Site == "" || slices.ContainsFunc(stints(rec), func(x stint) bool { return x.Run.Site == q.Site })
		if !there || q.Tenant != "" && rec.Job.Tenant != q.Tenant || !within(q, rec.Job.Arrival) {
			continue
		}
		if rec.Run != nil && rec.Run.Planned {
			n.planned++
			if rec.Run.Started <= l.last() {
				n.going++
			}
		}
		n.states[string(rec.State)]++
		n.by[key(q, rec)]++
		d := l.deciding(rec)
		r.cite(d)
		if n.all++; n.all <= mostListed && q.By == "" {
			r.row(called(rec.Job.ID), recorded(rec.State), jobFigure(rec.Job.ID, "arrival", int64(rec.Job.Arrival), "instant"), called(rec.Job.Tenant), citation(d))
		}
	}
	r.sayCount(l, q, n)
	if q.By != "" {
		r.Head, r.Rows = []string{q.By, "jobs"}, nil
		none := map[string]string{"tenant": "of no tenant", "site": "at no site"}[q.By]
		for _, k := range sorted(n.by) {
			r.row(called(cmp.Or(k, none)), Figure{q.By + "/" + cmp.Or(k, none), "jobs", int64(n.by[k]), "count", nil})
		}
	} else if n.all > mostListed {
		r.say("The first %s by name are shown.", ofRun("shown", mostListed, "count"))
	}
	return r
}

// sayCount words a tally.
func (r *Result) sayCount(l *Log, q ask.Query, n jobTally) {
	var states listed
	for _, s := range sorted(n.states) {
		states = append(states, shownAs{ofRun("jobs-"+s, int64(n.states[s]), "count"), func(v int64) string { return strconv.FormatInt(v, 10) + " " + s }})
	}
	all := counted(ofRun("jobs", int64(n.all), "count", r.Cites...), "job", "jobs")
	arrived := phrase("")
	if q.To != 0 {
		arrived = " that arrived in that time"
	}
	switch {
	case n.all == 0:
		r.say("%s%s.", all, arrived)
	case q.Site != "" && n.planned > 0: // it may not have begun
		r.say("%s%s %s at %s or %s: %s.", all, arrived, plural(n.all, "is", "are"), called(q.Site), plural(n.all, "was", "were"), states)
	case q.Site != "":
		r.say("%s%s ran at %s: %s.", all, arrived, called(q.Site), states)
	default:
		r.say("%s%s: %s.", all, arrived, states)
	}
	if n.going > 0 {
		r.say("Of those awarded, %s %s running at %s as planned; a site says when a job started when it is over.",
			ofRun("running-as-planned", int64(n.going), "count"), plural(n.going, "is", "are"), ofRun("at", int64(l.last()), "instant"))
	}
}

// key is what a job is counted under.
func key(q ask.Query, r history.JobRecord) string {
	if q.By == "tenant" {
		return r.Job.Tenant
	}
	return ran(r)
}

// stuck lists the jobs that had not ended, those that cannot go on first.
func (l *Log) stuck(ask.Query) (r Result) {
	r.assume("jobs that had not ended when the record did, at %s UTC; stuck are those past their deadline, that no site has an option or room for, or that did not start when they were to", end(l))
	type line struct {
		rec history.JobRecord
		why string
	}
	var stuck, others []line
	refused := 0
	for _, rec := range l.records() {
		if rec.State == history.Refused {
			refused++
		}
		if rec.State == history.Ended || rec.State == history.Refused { // nothing more comes of it
			continue
		}
		if why := l.stands(rec); why != "" {
			stuck = append(stuck, line{rec, why})
		} else {
			others = append(others, line{rec, ""})
		}
	}
	all := append(stuck, others...)
	r.Head = []string{"job", "state", "stuck", "arrived", "tenant", "decision", "why"}
	for i, x := range all {
		d, why := l.standing(x.rec, l.last())
		r.cite(d.Number)
		if i < mostListed {
			r.row(called(x.rec.Job.ID), recorded(x.rec.State), phrase(cmp.Or(x.why, "no")), jobFigure(x.rec.Job.ID, "arrival", int64(x.rec.Job.Arrival), "instant"),
				called(x.rec.Job.Tenant), citation(d.Number), recorded(why))
		}
	}
	r.say("%s not ended; %s of them %s stuck.", counted(ofRun("not-ended", int64(len(all)), "count", r.Cites...), "job has", "jobs have"),
		ofRun("stuck", int64(len(stuck)), "count"), plural(len(stuck), "is", "are"))
	if refused > 0 {
		r.say("%s refused or cancelled, and not among them.", counted(ofRun("refused", int64(refused), "count"), "job was", "jobs were"))
	}
	if len(all) > mostListed {
		r.say("The first %s are shown.", ofRun("shown", mostListed, "count"))
	}
	return r
}

// stands says why a job that has not ended cannot go on; "" if it can.
func (l *Log) stands(r history.JobRecord) string {
	_, runs := stintAt(r, l.last())
	d := l.lastDecision(r, l.last())
	switch award := r.CurrentAward(); {
	case r.Job.Deadline < l.last():
		return "past its deadline"
	case r.State == history.Awarded && !runs && award != nil && award.Option.Start.Add(around) < l.last():
		return "was to start"
	case d.Kind == "hold" && (d.Why.Code == protocol.NoBids || d.Why.Code == protocol.Waiting):
		return "no place"
	}
	return ""
}

// shares tells what each tenant got.
func (l *Log) shares(q ask.Query) (r Result) {
	r.assume("this federation promises no shares; these are the GPU-hours that each tenant's ended jobs held")
	by := make(map[string]int64) // thousandths of a GPU times milliseconds
	n := make(map[string]int)
	var all int64
	for _, x := range l.over(ask.Query{}) {
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
	for _, t := range sorted(by) {
		if q.Tenant == "" || q.Tenant == t {
			r.row(called(t), of(t, "jobs", int64(n[t]), "count"), of(t, "gpu-time", by[t]/1000, "gpu-ms"), share("tenant/"+t, "share", by[t], all))
		}
	}
	r.say("%s GPU-hours in all.", ofRun("gpu-time", all/1000, "gpu-ms"))
	if q.Tenant != "" {
		if by[q.Tenant] == 0 && n[q.Tenant] == 0 {
			r.say("None of the jobs of %s has ended, so it got none so far.", called(q.Tenant))
		} else {
			r.say("%s got %s GPU-hours of them, %s.", called(q.Tenant), of(q.Tenant, "gpu-time", by[q.Tenant]/1000, "gpu-ms"), share("tenant/"+q.Tenant, "share", by[q.Tenant], all))
		}
	}
	if tenants := len(l.book.TenantNames()); tenants > 0 {
		r.say("An equal part of all %s would be %s.", counted(ofRun("tenants", int64(tenants), "count"), "tenant", "tenants"), share("run", "equal-part", 1, int64(tenants)))
	}
	return r
}

// share returns a part of a whole in per cent; a dash of nothing or less, as a cost is
// where prices are negative.
func share(subject, what string, part, whole int64) Part {
	if whole <= 0 {
		return phrase("–")
	}
	return asPercent(Figure{subject, what, int64(math.Round(float64(part) * 1000 / float64(whole))), "thousandths", nil})
}

// notable returns a few jobs to ask about: those that wait still, then those that
// waited longest.
func (l *Log) notable() (ids []protocol.JobID) {
	all := l.records()
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
