package query

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// lost are the reasons for which a site gives up a job that it had taken.
var lost = []protocol.Code{protocol.Evicted, protocol.TakenOver, protocol.NodeLost, protocol.ClusterRefused, protocol.NotStarted, protocol.SiteDecommissioned, protocol.Cancelled}

// preemption tells which jobs lost their devices, by whom and what that cost.
func (l *Log) preemption(q ask.Query, a *Answer) {
	on, asked := l.asking(q)
	l.preempted(q, a)
	a.Table = &Table{Head: []string{"job", "time", "site", "cost of that award", "next award", "decision", "why"}}
	n, pauses := 0, 0
	for _, r := range l.records() {
		if asked && (r.Job.ID != on.Job.ID || r.Before != on.Before) || q.Tenant != "" && r.Job.Tenant != q.Tenant {
			continue
		}
		for _, p := range r.Parts {
			if (q.Site == "" || p.Site == q.Site) && within(q, p.Ended) {
				pauses++
			}
		}
		for i, d := range r.Awards {
			if d.Preempted == nil && (d.Answer != "decline" || !slices.Contains(lost, d.Declined.Code)) || q.Site != "" && d.Site != q.Site || !within(q, d.Answered.At) {
				continue
			}
			n++
			l.lostOne(r, i, a)
		}
	}
	a.figure("run", "lost", int64(n), "count", a.Cites...)
	a.figure("run", "pauses", int64(pauses), "count")
	of := "in this record"
	if asked {
		of = "of job " + name(on.Job.ID)
	}
	if n == 0 {
		a.say("No award %s was given up by its site after it was accepted.", of)
	} else {
		a.say("%s %s given up by the site after it was accepted, for the reason that the site gave; a job that loses its place is sold again.", format.CountWithNoun(n, "award", "awards"), format.PluralForm(n, "was", "were"))
	}
	if pauses > 0 {
		a.say("%s ended in a pause that the award had named.", format.CountWithNoun(pauses, "run", "runs"))
	}
}

// preempted tells of runs that were taken down to make room.
func (l *Log) preempted(q ask.Query, a *Answer) {
	on, asked := l.asking(q)
	n := 0
	for _, r := range l.records() {
		for _, d := range r.Awards {
			if d.Preempted == nil || asked && (r.Job.ID != on.Job.ID || r.Before != on.Before) || q.Tenant != "" && r.Job.Tenant != q.Tenant ||
				q.Site != "" && d.Site != q.Site || !within(q, d.Released.At) {
				continue
			}
			if n++; n <= mostListed {
				a.say("Job %s: %s", name(r.Job.ID), narrate.DescribePreemption(d))
				a.figure(ofJob(r.Job.ID), "lost-work", d.Preempted.Lost.Milliseconds(), "ms", cite(number(d)))
			}
		}
	}
	a.figure("run", "preempted", int64(n), "count")
	if n == 0 {
		a.say("This market preempts nobody: no rule takes GPUs from a job that runs, whatever another job would pay.")
	}
}

// asking returns the job that a query is about; false if it is about all.
func (l *Log) asking(q ask.Query) (history.JobRecord, bool) {
	if q.Decision == 0 && q.Job == "" {
		return history.JobRecord{}, false
	}
	return l.matter(q).rec, true
}

// lostOne lists one award that its site gave up.
func (l *Log) lostOne(r history.JobRecord, i int, a *Answer) {
	d, id, next := r.Awards[i], cite(number(r.Awards[i])), "none yet"
	a.cited(id)
	if i+1 < len(r.Awards) {
		next = l.costOf(r, r.Awards[i+1], "next-cost", a)
		a.cited(cite(number(r.Awards[i+1])))
	}
	was := l.costOf(r, d, "lost-cost", a)
	a.figure(ofJob(r.Job.ID), "lost-at", int64(d.Answered.At), "instant", id)
	if len(a.Table.Rows) < mostListed {
		a.row(name(r.Job.ID), format.FormatInstant(d.Answered.At), name(d.Site), was, next, id, narrate.ReasonWithNote(d.Declined))
	}
}

// costOf prints what an award costs, and notes it; by which prices another coordinator
// made one is not known.
func (l *Log) costOf(r history.JobRecord, d history.Decision, figure string, a *Answer) string {
	if !l.about(r, number(d)).met {
		return "not known"
	}
	a.figure(ofJob(r.Job.ID), figure, int64(d.Option.Terms.Total()), "microdollars", cite(number(d)))
	return format.FormatDollars(d.Option.Terms.Total())
}

// priority tells what a priority does, and how the jobs of each fared.
func (l *Log) priority(q ask.Query, a *Answer) {
	r, asked := l.asking(q)
	a.say("A priority is a number that a job says, from -1,000 to 1,000; 0 is the default. Within a round, jobs of a higher priority choose first. It is no term of cost, it takes nothing from a job that runs, and there are no classes and no factors beside it.")
	if asked {
		a.cite(l.matter(q).id)
		a.say("Job %s has priority %d.", name(r.Job.ID), r.Job.Priority)
		a.figure(ofJob(r.Job.ID), "priority", int64(r.Job.Priority), "count")
	}
	type of struct {
		jobs, late int
		waits      []int64
	}
	by := make(map[int]*of)
	for _, r := range l.records() {
		if q.Tenant != "" && r.Job.Tenant != q.Tenant {
			continue
		}
		if by[r.Job.Priority] == nil {
			by[r.Job.Priority] = new(of)
		}
		x := by[r.Job.Priority]
		x.jobs++
		if r.EndedLate() {
			x.late++
		}
		if wait, ok := r.WaitTime(); ok {
			x.waits = append(x.waits, wait.Milliseconds())
		}
	}
	a.Table = &Table{Head: []string{"priority", "jobs", "late", "mean wait"}}
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(by))) {
		x, subject := by[p], fmt.Sprintf("priority/%d", p)
		wait := "–"
		if len(x.waits) > 0 {
			var sum int64
			for _, w := range x.waits {
				sum += w
			}
			mean := sum / int64(len(x.waits))
			wait = format.FormatDuration(time.Duration(mean) * time.Millisecond)
			a.figure(subject, "mean-wait", mean, "ms")
		}
		a.row(fmt.Sprint(p), fmt.Sprint(x.jobs), fmt.Sprint(x.late), wait)
		a.figure(subject, "priority", int64(p), "count")
		a.figure(subject, "jobs", int64(x.jobs), "count")
		a.figure(subject, "late", int64(x.late), "count")
	}
}

// unstarted is the row of jobs without a site. Its first byte keeps it apart
// from any site's name.
const unstarted = "\x00(not started)"

// overflow tells where the jobs of one home ran, and why they waited.
func (l *Log) overflow(q ask.Query, a *Answer) {
	a.assume("jobs whose home is " + name(q.Site) + "; every round asks every site, so a job need not wait for its home: what it saves by waiting decides, and moving its input is a cost")
	where := make(map[string]int)
	holds := make(map[protocol.Code]int)
	n, held := 0, 0
	for _, r := range l.records() {
		if r.Job.Home != q.Site || q.Tenant != "" && r.Job.Tenant != q.Tenant || !within(q, r.Job.Arrival) {
			continue
		}
		n++
		first, ok := begun(r)
		if ok {
			where[first.Run.Site]++
		} else {
			where[unstarted]++
		}
		any := false
		for _, id := range r.Decisions {
			if d := l.decisionOf(id); d.Kind == "hold" {
				holds[d.Why.Code]++
				any = true
			}
		}
		if any {
			held++
			a.cite(l.deciding(r))
		}
	}
	home, waiting := where[q.Site], where[unstarted]
	a.say("%s have their home at %s; %d of them ran there first, %d at other sites, and %d have not started. %d were held at least once.",
		format.CountWithNoun(n, "job", "jobs"), name(q.Site), home, n-home-waiting, waiting, held)
	for _, f := range []struct {
		name string
		n    int
	}{{"jobs", n}, {"at-home", home}, {"elsewhere", n - home - waiting}, {"not-started", waiting}, {"held", held}} {
		a.figure("site/"+q.Site, f.name, int64(f.n), "count")
	}
	for _, code := range slices.Sorted(maps.Keys(holds)) {
		a.say("%d × held: %s.", holds[code], narrate.ReasonWithNote(protocol.Reason{Code: code}))
		a.figure("site/"+q.Site, "held-"+string(code), int64(holds[code]), "count")
	}
	a.Table = &Table{Head: []string{"site", "jobs"}}
	for _, s := range sorted(where) {
		shown := strings.TrimPrefix(s, "\x00")
		a.row(name(shown), fmt.Sprint(where[s]))
		a.figure("site/"+shown, "jobs-of-that-home", int64(where[s]), "count")
	}
	a.Chart = a.bars("sites", "where the jobs of "+q.Site+" ran", "jobs-of-that-home", "site/")
	a.say("Of one job: `gridbid ask 'why not home for job NAME'`.")
}
