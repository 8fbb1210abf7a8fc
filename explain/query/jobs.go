package query

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// mostListed bounds the rows of a list for people; figures have all.
const mostListed = 20

// moment returns the instant that a query is about; its default is the end.
func (l *Log) moment(q ask.Query, a *Answer) protocol.Time {
	if q.At != 0 {
		return q.At
	}
	a.assume("no time was named, so now, the end of the record: " + format.FormatInstant(l.last()) + " UTC")
	return l.last()
}

// late lists the jobs that ended after their deadline.
func (l *Log) late(q ask.Query, a *Answer) {
	l.whole(q, a, "jobs count where they ended in that time; UTC")
	var late []history.JobRecord
	all := l.ended(q)
	for _, r := range all {
		if r.Late() {
			late = append(late, r)
		}
	}
	slices.SortStableFunc(late, func(x, y history.JobRecord) int {
		return cmp.Compare(y.Run.Ended.Sub(y.Job.Deadline), x.Run.Ended.Sub(x.Job.Deadline))
	})
	a.say("%d of %s that ended missed their deadline.", len(late), format.CountWithNoun(len(all), "job", "jobs"))
	a.Table = &Table{Head: []string{"job", "late by", "tenant", "site", "decision"}}
	for i, r := range late {
		id := l.deciding(r)
		a.cite(id)
		by := r.Run.Ended.Sub(r.Job.Deadline)
		a.figure(ofJob(r.Job.ID), "late-by", by.Milliseconds(), "ms", cite(id))
		if i < mostListed {
			a.row(name(r.Job.ID), format.FormatDuration(by), name(r.Job.Tenant), name(r.Run.Site), cite(id))
		}
	}
	if len(late) > mostListed {
		a.say("The %d latest are shown.", mostListed)
		a.figure("run", "shown", mostListed, "count")
	}
	l.alsoLate(q, a)
	a.figure("run", "late", int64(len(late)), "count", a.Cites...)
	a.figure("run", "ended", int64(len(all)), "count")
}

// alsoLate tells of the jobs that are late by now, beside those that ended late.
func (l *Log) alsoLate(q ask.Query, a *Answer) {
	if n := l.overdue(q); n > 0 {
		a.say("%d more had not ended at %s, and %s past %s deadline.", n, format.FormatInstant(l.last()), format.PluralForm(n, "is", "are"), format.PluralForm(n, "its", "their"))
		a.figure("run", "past-deadline", int64(n), "count")
		a.figure("run", "at", int64(l.last()), "instant")
	}
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
func (l *Log) waits(q ask.Query, a *Answer) {
	l.whole(q, a, "jobs count that started in that time; UTC")
	var all []int64
	for _, r := range l.records() {
		first, _ := begun(r)
		if wait, ok := r.Wait(); ok && (q.Tenant == "" || r.Job.Tenant == q.Tenant) && (q.Site == "" || first.Run.Site == q.Site) && within(q, first.Run.Started) {
			all = append(all, wait.Milliseconds())
			a.cite(l.deciding(r))
		}
	}
	if len(all) == 0 {
		a.say("No job started then.")
		return
	}
	slices.Sort(all)
	var sum int64
	for _, v := range all {
		sum += v
	}
	rank := func(percent int) int64 { return all[max(0, (len(all)*percent+99)/100-1)] }
	show := func(ms int64) string { return format.FormatDuration(time.Duration(ms) * time.Millisecond) }
	mean := sum / int64(len(all))
	a.say("%s started. They waited %s on average; the median is %s, the 95th percentile %s, the longest %s.",
		format.CountWithNoun(len(all), "job", "jobs"), show(mean), show(rank(50)), show(rank(95)), show(rank(100)))
	a.figure("run", "started", int64(len(all)), "count")
	a.figure("run", "mean-wait", mean, "ms")
	a.figure("run", "median-wait", rank(50), "ms")
	a.figure("run", "p95-wait", rank(95), "ms")
	a.figure("run", "longest-wait", rank(100), "ms")
}

// pending lists the jobs that had arrived and not started.
func (l *Log) pending(q ask.Query, a *Answer) {
	at := l.moment(q, a)
	if q.Site != "" {
		a.assume("those given to " + name(q.Site) + " by then; a job that is given to no site waits at none")
	}
	var all []history.JobRecord
	for _, r := range l.records() {
		_, runs := stintAt(r, at)
		waits := r.Job.Arrival <= at && !runs && (r.State != history.Ended || r.Run.Ended > at) && (r.Refusal == nil || r.Refusal.Said.At > at)
		if waits && (q.Tenant == "" || r.Job.Tenant == q.Tenant) && (q.Site == "" || l.givenTo(r, at) == q.Site) {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(x, y history.JobRecord) int { return cmp.Compare(x.Job.Arrival, y.Job.Arrival) })
	var gpu protocol.Milli
	a.Table = &Table{Head: []string{"job", "waits since", "GPUs", "tenant", "decision", "why"}}
	for i, r := range all {
		gpu += r.Job.TotalGPUMilli()
		d, why := l.standing(r, at)
		a.cite(d.Number)
		if i < mostListed {
			a.figure(ofJob(r.Job.ID), "arrival", int64(r.Job.Arrival), "instant")
			a.figure(ofJob(r.Job.ID), "gpus", int64(r.Job.TotalGPUMilli()), "thousandths")
			a.row(name(r.Job.ID), format.FormatInstant(r.Job.Arrival), format.FormatThousandths(r.Job.TotalGPUMilli()), name(r.Job.Tenant), cite(d.Number), why)
		}
	}
	a.say("%s, for %s GPUs in all.", format.CountWithNoun(len(all), "job was waiting", "jobs were waiting"), format.FormatThousandths(gpu))
	if len(all) > mostListed {
		a.say("The %d that waited longest are shown.", mostListed)
		a.figure("run", "shown", mostListed, "count")
	}
	a.figure("run", "waiting", int64(len(all)), "count", a.Cites...)
	a.figure("run", "gpus-waiting", int64(gpu), "thousandths")
}

// decisionInWords says a decision in a few words.
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

// count says how many jobs there are, and how far they came.
func (l *Log) count(q ask.Query, a *Answer) {
	l.whole(q, a, "jobs count that arrived in that time; UTC")
	states := make(map[string]int)
	a.Table = &Table{Head: []string{"job", "state", "arrived", "tenant", "decision"}}
	n := 0
	by := make(map[string]int)
	planned, going := 0, 0
	for _, r := range l.records() {
		there := q.Site == "" || slices.ContainsFunc(stints(r), func(x stint) bool { return x.Run.Site == q.Site })
		if there && (q.Tenant == "" || r.Job.Tenant == q.Tenant) && within(q, r.Job.Arrival) {
			if r.Run != nil && r.Run.Planned {
				planned++
				if r.Run.Started <= l.last() {
					going++
				}
			}
			states[string(r.State)]++
			by[key(q, r)]++
			d := l.deciding(r)
			a.cite(d)
			if n++; n <= mostListed && q.By == "" {
				a.figure(ofJob(r.Job.ID), "arrival", int64(r.Job.Arrival), "instant")
				a.row(name(r.Job.ID), string(r.State), format.FormatInstant(r.Job.Arrival), name(r.Job.Tenant), cite(d))
			}
		}
	}
	var parts []string
	for _, s := range sorted(states) {
		parts = append(parts, fmt.Sprintf("%d %s", states[s], s))
		a.figure("run", "jobs-"+s, int64(states[s]), "count")
	}
	a.figure("run", "jobs", int64(n), "count", a.Cites...)
	all := format.CountWithNoun(n, "job", "jobs")
	if q.To != 0 {
		all += " that arrived in that time"
	}
	switch {
	case n == 0:
		a.say("%s.", all)
	case q.Site != "" && planned > 0: // it may not have begun
		a.say("%s %s at %s or %s: %s.", all, format.PluralForm(n, "is", "are"), name(q.Site), format.PluralForm(n, "was", "were"), format.JoinWithAnd(parts))
	case q.Site != "":
		a.say("%s ran at %s: %s.", all, name(q.Site), format.JoinWithAnd(parts))
	default:
		a.say("%s: %s.", all, format.JoinWithAnd(parts))
	}
	if going > 0 {
		a.say("Of those awarded, %d %s running at %s as planned; a site says when a job started when it is over.", going, format.PluralForm(going, "is", "are"), format.FormatInstant(l.last()))
		a.figure("run", "running-as-planned", int64(going), "count")
		a.figure("run", "at", int64(l.last()), "instant")
	}
	if q.By != "" {
		a.Table = &Table{Head: []string{q.By, "jobs"}}
		nobody := map[string]string{"tenant": "of no tenant", "site": "at no site"}[q.By]
		for _, k := range sorted(by) {
			a.row(name(cmp.Or(k, nobody)), fmt.Sprint(by[k]))
			a.figure(q.By+"/"+cmp.Or(k, nobody), "jobs", int64(by[k]), "count")
		}
	} else if n > mostListed {
		a.say("The first %d by name are shown.", mostListed)
		a.figure("run", "shown", mostListed, "count")
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
func (l *Log) stuck(q ask.Query, a *Answer) {
	a.assume("jobs that had not ended when the record did, at " + format.FormatInstant(l.last()) + " UTC; stuck are those past their deadline, that no site has an option or room for, or that did not start when they were to")
	type line struct {
		r   history.JobRecord
		why string
	}
	var stuck, others []line
	refused := 0
	for _, r := range l.records() {
		if r.State == history.Refused {
			refused++
		}
		if r.State == history.Ended || r.State == history.Refused { // nothing more comes of it
			continue
		}
		if why := l.stands(r); why != "" {
			stuck = append(stuck, line{r, why})
		} else {
			others = append(others, line{r, ""})
		}
	}
	all := append(stuck, others...)
	a.Table = &Table{Head: []string{"job", "state", "stuck", "arrived", "tenant", "decision", "why"}}
	for i, x := range all {
		d, why := l.standing(x.r, l.last())
		a.cite(d.Number)
		if i < mostListed {
			a.figure(ofJob(x.r.Job.ID), "arrival", int64(x.r.Job.Arrival), "instant")
			a.row(name(x.r.Job.ID), string(x.r.State), cmp.Or(x.why, "no"), format.FormatInstant(x.r.Job.Arrival), name(x.r.Job.Tenant), cite(d.Number), why)
		}
	}
	a.say("%s not ended; %d of them %s stuck.", format.CountWithNoun(len(all), "job has", "jobs have"), len(stuck), format.PluralForm(len(stuck), "is", "are"))
	if refused > 0 {
		a.say("%s refused or cancelled, and not among them.", format.CountWithNoun(refused, "job was", "jobs were"))
		a.figure("run", "refused", int64(refused), "count")
	}
	if len(all) > mostListed {
		a.say("The first %d are shown.", mostListed)
		a.figure("run", "shown", mostListed, "count")
	}
	a.figure("run", "not-ended", int64(len(all)), "count", a.Cites...)
	a.figure("run", "stuck", int64(len(stuck)), "count")
}

// stands says why a job that has not ended cannot go on; "" if it can.
func (l *Log) stands(r history.JobRecord) string {
	_, runs := stintAt(r, l.last())
	d := l.lastDecision(r, l.last())
	switch award := r.Award(); {
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
func (l *Log) shares(q ask.Query, a *Answer) {
	a.assume("this federation promises no shares; these are the GPU-hours that each tenant's ended jobs held")
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
	a.Table = &Table{Head: []string{"tenant", "jobs", "GPU-hours", "share"}}
	for _, t := range sorted(by) {
		if q.Tenant == "" || q.Tenant == t {
			a.row(name(t), fmt.Sprint(n[t]), fmt.Sprintf("%.1f", float64(by[t])/3.6e9), a.percent("tenant/"+t, "share", by[t], all))
			a.figure("tenant/"+t, "gpu-time", by[t]/1000, "gpu-ms")
			a.figure("tenant/"+t, "jobs", int64(n[t]), "count")
		}
	}
	a.say("%.1f GPU-hours in all.", float64(all)/3.6e9)
	if q.Tenant != "" {
		if by[q.Tenant] == 0 && n[q.Tenant] == 0 {
			a.say("None of the jobs of %s has ended, so it got none so far.", name(q.Tenant))
		} else {
			a.say("%s got %.1f GPU-hours of them, %s.", name(q.Tenant), float64(by[q.Tenant])/3.6e9, a.percent("tenant/"+q.Tenant, "share", by[q.Tenant], all))
		}
	}
	if len(l.book.Tenants()) > 0 {
		a.say("An equal part of all %s would be %s.", format.CountWithNoun(len(l.book.Tenants()), "tenant", "tenants"), a.percent("run", "equal-part", 1, int64(len(l.book.Tenants()))))
		a.figure("run", "tenants", int64(len(l.book.Tenants())), "count")
	}
	a.figure("run", "gpu-time", all/1000, "gpu-ms")
}

// notable returns a few jobs to ask about: those that wait still, then those that
// waited longest.
func (l *Log) notable() (ids []protocol.JobID) {
	all := l.records()
	slices.SortStableFunc(all, func(x, y history.JobRecord) int {
		wx, startedX := x.Wait()
		wy, startedY := y.Wait()
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
