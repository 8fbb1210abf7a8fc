package query

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// spansInState returns from when to when a job was in the state of a query: running, or else waiting for
// its first start, which ends with the record at the latest.
func (l *Dataset) spansInState(q ask.Query, r history.JobRecord) (all [][2]protocol.Time) {
	add := func(site string, from, to protocol.Time) {
		if from != 0 && from < to && includes(q, r.Job.Tenant, site) {
			all = append(all, [2]protocol.Time{from, to})
		}
	}
	first, started := firstSegment(r)
	if q.State == "pending" {
		switch {
		case started:
			add(first.Run.Site, r.Job.Arrival, first.Run.Started)
		case r.Refusal != nil:
			add("", r.Job.Arrival, r.Refusal.Message.At)
		default:
			add("", r.Job.Arrival, l.lastTime())
		}
		return all
	}
	for _, x := range r.RunSegments() {
		end := l.lastTime()
		if x.Over {
			end = x.Run.Ended
		}
		add(x.Run.Site, x.Run.Started, end)
	}
	for _, lost := range r.Lost {
		add(lost.Site, lost.Started, lost.Exited.At)
	}
	return all
}

// answerAtOnce says for each hour of a window how many jobs at most were in a state at one time.
func (l *Dataset) answerAtOnce(q ask.Query) (r Result) {
	r.assumeWindow(l, q, "hours of that time; UTC")
	from, to := max(q.From, l.firstTime()), l.lastTime()
	if q.To != 0 {
		to = min(to, q.To)
	}
	type step struct {
		at protocol.Time
		by int
	}
	var steps []step
	jobs := q
	jobs.State, jobs.By, jobs.Pick, jobs.Site, jobs.ExceptSites, jobs.From, jobs.To = "", "", "", "", nil, 0, 0
	for _, rec := range l.measuredJobs(jobs) {
		for _, span := range l.spansInState(q, rec) {
			steps = append(steps, step{span[0], 1}, step{span[1], -1})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	noun := map[string]string{"running": "jobs running", "pending": "jobs waiting"}[q.State]
	c := &Chart{Kind: "day", Title: noun + " at one time, by hour", Unit: "count"}
	var rows [][]Part
	var best, bestAt Figure
	now, next := 0, 0
	for hour := from.Floor(time.Hour); hour < to; hour = hour.Add(time.Hour) {
		for next < len(steps) && steps[next].at <= hour {
			now, next = now+steps[next].by, next+1
		}
		most, at := now, max(hour, from)
		for ; next < len(steps) && steps[next].at < hour.Add(time.Hour); next++ {
			if now += steps[next].by; now > most {
				most, at = now, steps[next].at
			}
		}
		subject := "hour/" + hour.String()
		f, when := valueOf(subject, noun, most), valueOf(subject, "at", at)
		if better := f.Value > best.Value; best.Unit == "" || f.Value != best.Value && better == (q.Pick != "least") {
			best, bestAt = f, when
		}
		rows = append(rows, []Part{valueOf(subject, "hour", hour), f, when})
		c.addPoint(noun, Point{At: hour, Value: f.Value})
	}
	if q.Pick != "" {
		slices.SortStableFunc(rows, func(a, b []Part) int {
			x, y := a[1].(Figure).Value, b[1].(Figure).Value
			if q.Pick == "least" {
				x, y = y, x
			}
			return cmp.Compare(y, x)
		})
	}
	r.Head, r.Rows, r.Chart = []string{"hour", noun + ", at most", "at"}, rows, c.orNil()
	switch {
	case best.Unit == "":
		r.addSentence("No hour of that time is in the record.")
	case q.Pick == "least":
		r.addSentence("The hour with the fewest %s at one time had %s at most, at %s.", plainText(noun), best, bestAt)
	default:
		r.addSentence("The most %s at one time: %s, at %s.", plainText(noun), best, bestAt)
	}
	return r
}

// measuredDecisions returns the decisions of a query's kind and window on the jobs that it is about.
func (l *Dataset) measuredDecisions(q ask.Query) (all []history.DecisionRef) {
	jobs := make(map[protocol.JobID]bool)
	of := q
	of.Event, of.By, of.Then, of.Pick, of.Site, of.ExceptSites, of.From, of.To, of.Number = "", "", "", "", "", nil, 0, 0, 0
	for _, rec := range l.measuredJobs(of) {
		jobs[rec.Job.ID] = true
	}
	kind := map[string]string{"awards": "award", "holds": "hold", "refusals": "refuse"}[q.Event]
	for _, d := range l.history.AllDecisions() {
		if jobs[d.Job] && (kind == "" || d.Kind == kind) && inWindow(q, d.At) && includes(ask.Query{Site: q.Site, ExceptSites: q.ExceptSites}, "", d.Site) {
			all = append(all, d)
		}
	}
	return all
}

// listMeasuredDecisions lists the decisions that a query is about: all, or the last or first of them.
func (r *Result) listMeasuredDecisions(l *Dataset, q ask.Query) {
	all := l.measuredDecisions(q)
	count := valueOf(subjectOf(q), q.Event, len(all))
	switch n := int(min(q.Number, int64(len(all)), 1000)); {
	case q.Number == 0:
		r.addSentence("%s %s.", count, plainText(q.Event))
	case q.Pick == "least":
		all = all[:n]
		r.addSentence("The first %s of %s %s.", valueOf("run", "shown", n), count, plainText(q.Event))
	default:
		all = all[len(all)-n:]
		r.addSentence("The last %s of %s %s.", valueOf("run", "shown", n), count, plainText(q.Event))
	}
	for _, d := range all {
		r.citeDecision(d.Number)
	}
	r.listDecisions(all)
}

// comparedQuantities are what two jobs are compared by.
var comparedQuantities = []string{"gpus", "arrival", "start", "end", "wait", "run", "slack", "gpu-hours", "energy", "carbon", "cost", "paid", "late"}

// answerCompareJobs compares two jobs by one quantity, or by all that both have.
func (l *Dataset) answerCompareJobs(q ask.Query) (r Result) {
	a, b := l.caseOf(q), l.caseOf(ask.Query{Job: protocol.JobID(q.Against)})
	r.citeDecision(a.decision)
	r.citeDecision(b.decision)
	r.Head = []string{"what", cleanName(q.Job), cleanName(q.Against)}
	r.addRow(plainText("state"), a.statePart(), b.statePart())
	r.addRow(plainText("site"), namePart(siteOfRun(a.job)), namePart(siteOfRun(b.job)))
	for _, metric := range comparedQuantities {
		of := ask.Query{Bounded: metric}
		x, hasX := l.boundedQuantity(of, a.job)
		y, hasY := l.boundedQuantity(of, b.job)
		if hasX && hasY {
			r.addRow(plainText(metric), x, y)
		}
		switch {
		case q.Metric != metric && (q.Metric != "" || metric != "cost" && metric != "carbon" && metric != "wait"):
		case hasX && hasY:
			r.addSentence("%s of job %s: %s; of job %s: %s.", plainText(metric), a.jobName(), x, b.jobName(), y)
			r.compareFigures(a.jobName(), b.jobName(), x, y)
		case metric == "late" && (hasX || hasY):
			late := a
			if hasY {
				late, x = b, y
			}
			r.addSentence("Job %s ended %s past its deadline; the other was not late.", late.jobName(), x)
		default:
			r.addSentence("They are not compared by %s: it is not known of both.", plainText(metric))
		}
	}
	return r
}
