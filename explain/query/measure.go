package query

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// answerMeasure answers a question about many jobs: the jobs that meet its conditions, a statistic of
// them, and the jobs themselves; or one of each group, which [Dataset.answerTally] lists.
func (l *Dataset) answerMeasure(q ask.Query) (r Result) {
	r.assumeMeasure(l, q)
	if q.IsOfDecisions() {
		r.listMeasuredDecisions(l, q)
		return r
	}
	jobs := l.measuredJobs(q)
	value := func(what string, rec history.JobRecord) Figure {
		f, _ := l.boundedQuantity(ask.Query{Bounded: what}, rec)
		return f
	}
	late := slices.Equal(q.Where, []string{"late"}) && q.Metric == "" && q.State+q.Model == ""
	columns := slices.Compact(slices.DeleteFunc([]string{q.Metric, q.Bounded}, func(s string) bool { return s == "" }))
	if late {
		columns = []string{"late"}
	}
	if (len(columns) > 0 && q.Bounded != "gpus") || q.Metric != "" {
		slices.SortStableFunc(jobs, func(x, y history.JobRecord) int {
			if q.Pick == "least" || q.Bound == "less" {
				x, y = y, x
			}
			return cmp.Compare(value(columns[0], y).Value, value(columns[0], x).Value)
		})
	}
	all := countedPart(valueOf("run", "jobs", len(jobs)), "job", "jobs")
	if q.Number != 0 {
		jobs = jobs[:min(len(jobs), int(min(q.Number, 1000)))]
	}
	for _, rec := range jobs {
		r.citeDecision(l.currentDecision(rec))
	}
	switch {
	case q.Number != 0:
		r.addSentence("%s of %s, those with the %s %s first.", valueOf("run", "shown", len(jobs)), all, plainText(rankWord(q)), plainText(q.Metric))
		var drawn []Figure
		for _, rec := range jobs {
			drawn = append(drawn, value(q.Metric, rec))
		}
		if q.Metric != "arrival" && q.Metric != "start" && q.Metric != "end" {
			r.Chart = barChart("jobs", q.Metric+" of the first jobs", drawn)
		}
	case q.Metric != "" && len(jobs) > 0 && (q.Metric == "wait" || q.Metric == "run"):
		t := tallyOf(l, q, jobs)
		other := func(statistic string) Figure {
			return t.statistic(ask.Query{Metric: q.Metric, Statistic: statistic}, subjectOf(q))
		}
		did := map[string]string{"wait": "started. They waited", "run": "ended. They ran"}[q.Metric]
		r.addSentence("%s%s %s %s on average; the median is %s, the 95th percentile %s, the longest %s.", all, describeJobs(q), plainText(did), other("mean"), other("median"), other("p95"), other("longest"))
		if q.Statistic == "total" {
			r.addSentence("In all: %s.", other("total"))
		}
	case q.Metric != "":
		t := tallyOf(l, q, jobs)
		r.addSentence("%s of %s%s: %s.", plainText(tallyNoun(q)), all, describeJobs(q), t.figureFor(q, subjectOf(q)))
	case late:
		q.Where = nil
		r.addSentence("%s of %s that ended missed their deadline%s.", valueOf("run", "late", len(jobs)), countedPart(valueOf("run", "ended", len(l.jobsOf(q, "ended"))), "job", "jobs"), describeJobs(q))
		if s, ok := l.lateByNow(q); ok {
			r.Sentences = append(r.Sentences, s)
		}
	default:
		r.describeCount(l, q, jobs)
	}
	if q.Statistic == "summary" {
		of := func(metric, statistic string) Part {
			m := ask.Query{Metric: metric, Statistic: statistic}
			t := tallyOf(l, m, jobs)
			return t.statistic(m, subjectOf(q))
		}
		r.addSentence("%s late; the mean wait is %s. Those that ended took %s, %s CO2e and %s for energy.", countedPart(valueOf("run", "late", countLate(jobs)), "job was", "jobs were"), of("wait", "mean"), of("energy", "total"), of("carbon", "total"), of("cost", "total"))
	}
	r.Head = append(append([]string{"job"}, columns...), "state", "arrived", "GPUs", "model", "tenant", "site", "decision")
	for _, rec := range jobs {
		cells := []Part{namePart(rec.Job.ID)}
		for _, c := range columns {
			cells = append(cells, value(c, rec))
		}
		subject := jobSubject(rec.Job.ID)
		r.addListed(append(cells, recordedText(l.stateAt(q, rec).State), valueOf(subject, "arrival", rec.Job.Arrival), valueOf(subject, "gpus", rec.Job.TotalGPUMilli()), namePart(modelOf(rec)),
			namePart(rec.Job.Tenant), namePart(l.siteInState(q, rec)), decisionCitation(l.currentDecision(rec)))...)
	}
	r.noteShown(len(jobs), "The first %s are shown.")
	return r
}

// decidedThen says which decisions count in a window.
const decidedThen = "decisions count that were made in that time; UTC"

// rankWord words which jobs of a ranking come first.
func rankWord(q ask.Query) string {
	if slices.Contains([]string{"arrival", "start", "end"}, q.Metric) {
		return map[string]string{"least": "earliest", "most": "latest"}[q.Pick]
	}
	return q.Pick
}

// assumeMeasure says what the time of a query is of, and that a sum is of jobs alone.
func (r *Result) assumeMeasure(l *Dataset, q ask.Query) {
	if q.At != 0 {
		r.instantOf(l, q)
	} else {
		r.assumeWindow(l, q, map[string]string{"arrived": "jobs count that arrived in that time; UTC", "started": "jobs count that started in that time; UTC",
			"ended": "jobs count that ended in that time; UTC", "ran": "jobs count that ran at some time of it; UTC", "": "jobs count that came to that state in that time; UTC",
			"awards": decidedThen, "holds": decidedThen, "refusals": decidedThen, "decisions": decidedThen}[q.Event])
	}
	if slices.Contains([]string{"carbon", "energy", "cost"}, q.Metric) {
		r.addAssumption("of jobs alone, without idle draw")
	}
}

// describeJobs words which jobs are meant.
func describeJobs(q ask.Query) Part {
	words := strings.TrimPrefix(strings.Join(append([]string{q.State}, q.Where...), ", "), ", ")
	words = strings.NewReplacer("at-once", "started within a minute", "waited", "waited more than a minute", "never-held", "never held").Replace(words)
	if q.Home != "" {
		words = strings.TrimPrefix(words+", home "+cleanName(q.Home), ", ")
	}
	if all := q.Bounds(); len(all) == 2 {
		size := all[1]
		q.Size = ""
		return newSentence("%s with %s", describeJobs(q), boundText(size))
	}
	switch {
	case q.Bound != "" && q.Bounded == "holds":
		return newSentence("%s held %s", plainText(wordsBefore(words)), boundText(q))
	case q.Bound != "" && q.Bounded == "gpus":
		return newSentence("%s with %s", plainText(wordsBefore(words)), boundText(q))
	case q.Bound != "":
		return newSentence("%s with %s of %s", plainText(wordsBefore(words)), plainText(boundedNoun[q.Bounded]), boundText(q))
	}
	return plainText(wordsBefore(words))
}

func wordsBefore(words string) string {
	if words == "" {
		return ""
	}
	return " (" + words + ")"
}

// measuredJobs returns the jobs that a query about jobs is about. A job that ran at several sites in turn counts at
// each of them where jobs are only counted.
func (l *Dataset) measuredJobs(q ask.Query) []history.JobRecord {
	counted := q.Site != "" && q.Metric+q.State == "" && len(q.Where) == 0 && (q.Event == "" || q.Event == "arrived")
	return l.jobsWhere(func(r history.JobRecord) bool {
		_, measured := l.boundedQuantity(ask.Query{Bounded: cmp.Or(q.Metric, "gpus")}, r)
		site := l.siteInState(q, r)
		if counted && slices.ContainsFunc(r.RunSegments(), func(x history.RunSegment) bool { return x.Run.Site == q.Site }) {
			site = q.Site
		}
		return measured && includes(q, r.Job.Tenant, site) && (q.Home == "" || r.Job.Home == q.Home) && (q.Model == "" || modelOf(r) == q.Model) && l.withinBound(q, r) && l.inEvent(q, r) &&
			l.inState(q, r) && !slices.ContainsFunc(q.Where, func(w string) bool { return !l.meetsCondition(q, w, r) })
	})
}

// inEvent reports whether the event of a query is in its window.
func (l *Dataset) inEvent(q ask.Query, r history.JobRecord) bool {
	first, started := firstSegment(r)
	switch q.Event {
	case "arrived":
		return inWindow(q, r.Job.Arrival)
	case "started":
		return started && inWindow(q, first.Run.Started)
	case "ended":
		return r.HasEnded() && inWindow(q, r.Run.Ended)
	case "ran":
		return started && (q.To == 0 || first.Run.Started < q.To && (!r.HasEnded() || r.Run.Ended > q.From))
	}
	return true
}

// meetsCondition reports whether a job meets a condition of a query.
func (l *Dataset) meetsCondition(q ask.Query, condition string, r history.JobRecord) bool {
	switch condition {
	case "late":
		return r.EndedLate()
	case "on-time":
		return r.HasEnded() && !r.EndedLate()
	case "urgent":
		return r.Job.Urgency == protocol.UrgencyNow
	case "standard":
		return r.Job.Urgency != protocol.UrgencyNow
	case "at-home", "away":
		return siteOfRun(r) != "" && (siteOfRun(r) == r.Job.Home) == (condition == "at-home")
	case "cpu-only":
		return r.Job.GPUs == 0
	case "at-once", "waited":
		wait, started := r.WaitTime()
		return started && (wait <= time.Minute) == (condition == "at-once")
	case "near-miss": // docs/glossary.md
		return r.HasEnded() && !r.EndedLate() && r.Job.Deadline.Sub(lastEnd(r)) < nearMissMargin
	case "held", "never-held":
		return (len(l.holdsOf(r)) > 0) == (condition == "held")
	case "capped":
		return r.Run != nil && r.Run.Cap != 0
	}
	at := cmp.Or(q.At, l.lastTime()) // unfinished
	return r.Job.Arrival <= at && !r.IsRefused() && (!r.HasEnded() || r.Run.Ended > at)
}

// timeOfEvent returns when the event of a query was; without one, when the job ended or arrived.
func (l *Dataset) timeOfEvent(q ask.Query, r history.JobRecord) protocol.Time {
	first, started := firstSegment(r)
	switch {
	case started && (q.Event == "started" || q.Event == "ran"):
		return first.Run.Started
	case q.Event == "ended" || q.Event == "" && q.Metric != "" && r.HasEnded():
		return lastEnd(r)
	}
	return r.Job.Arrival
}

// countLate counts the jobs that ended after their deadline.
func countLate(jobs []history.JobRecord) (n int) {
	for _, rec := range jobs {
		if rec.EndedLate() {
			n++
		}
	}
	return n
}

// lastEnd returns when a job ended.
func lastEnd(r history.JobRecord) protocol.Time {
	if r.Run == nil {
		return 0
	}
	return r.Run.Ended
}

// modelOf returns the GPU model that a job ran on; "" of none.
func modelOf(r history.JobRecord) string {
	if r.Run == nil || r.Job.GPUs == 0 {
		return ""
	}
	return r.Run.Model
}
