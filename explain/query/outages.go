package query

import (
	"fmt"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// An outage is a time for which an operator had declared a site gone.
type outage struct {
	site     string
	from, to protocol.Time // to: 0 while the site has not come back
	by       string
	taken    []history.JobRecord // jobs that it had
	held     int64               // by their runs, in GPU milliseconds; by the planned start, where the measured one is not known
}

// outagesIn returns the outages that a query is about.
func (l *Log) outagesIn(q ask.Query) (all []outage) {
	for _, name := range l.book.ReportingSiteNames() {
		if q.Site != "" && q.Site != name {
			continue
		}
		reports := l.book.ReportingSite(name).Inventories
		for i, x := range reports {
			if !x.Decommissioned || !within(q, x.At) {
				continue
			}
			o := outage{site: name, from: x.At}
			if i+1 < len(reports) {
				o.to = reports[i+1].At
			}
			l.loss(&o)
			all = append(all, o)
		}
	}
	return all
}

// loss finds the jobs that were taken from a site by an outage, and what their runs held.
func (l *Log) loss(o *outage) {
	for _, r := range l.records() {
		for i := range r.Awards {
			d := &r.Awards[i]
			if d.Site != o.site || d.Declined.Code != protocol.SiteDecommissioned || d.Answered.At != o.from {
				continue
			}
			o.by, o.taken = d.Declined.Note, append(o.taken, r)
			if run := r.RunOf(d); run != nil && run.Exited.At > run.Started {
				o.held += int64(r.Job.TotalGPUMilli()) * run.Exited.At.Sub(run.Started).Milliseconds() / 1000
			}
		}
	}
}

// outages tells which sites were declared gone, and what was lost with them.
func (l *Log) outages(q ask.Query, a *Answer) {
	l.whole(q, a, "sites that were declared gone in that time; UTC")
	if l.sayOutages(q, a) == 0 {
		a.say("No site was declared gone. A site that did not answer: `gridbid ask 'silent agents'`.")
	}
}

// sayOutages lists each outage with what was lost, and returns how many there were.
func (l *Log) sayOutages(q ask.Query, a *Answer) int {
	all := l.outagesIn(q)
	a.figure("run", "outages", int64(len(all)), "count")
	for _, o := range all {
		subject, back := "site/"+o.site, "has not come back"
		a.figure(subject, "gone", int64(o.from), "instant")
		if o.to != 0 {
			back = "came back at " + format.FormatInstant(o.to)
			a.figure(subject, "back", int64(o.to), "instant")
		}
		who := "An operator"
		if o.by != "" {
			who = name(o.by)
		}
		a.say("%s declared %s gone at %s, and it %s.", who, name(o.site), format.FormatInstant(o.from), back)
		a.figure(subject, "jobs-taken", int64(len(o.taken)), "count")
		a.figure(subject, "gpu-time-lost", o.held, "ms")
		if len(o.taken) == 0 {
			a.say("It had no jobs then, so nothing was lost.")
			continue
		}
		var names []string
		for i, r := range o.taken {
			if i == mostListed {
				names = append(names, fmt.Sprintf("%d more", len(o.taken)-i))
				break
			}
			names = append(names, name(r.Job.ID))
			a.cite(l.deciding(r))
		}
		a.say("%s taken from it and put on sale: %s. Their runs had held GPUs for %.1f GPU-hours, and that work is lost.",
			format.CountWithNoun(len(o.taken), "job was", "jobs were"), format.JoinWithAnd(names), float64(o.held)/3.6e6)
	}
	return len(all)
}

// pauses tells which jobs were paused, when, and when they went on.
func (l *Log) pauses(q ask.Query, a *Answer) {
	on, asked := l.asking(q)
	if !asked {
		l.whole(q, a, "runs that were paused in that time; UTC")
	}
	a.Table = &Table{Head: []string{"job", "site", "ran from", "paused at", "went on at"}}
	n, waiting := 0, 0
	for _, r := range l.records() {
		if asked && (r.Job.ID != on.Job.ID || r.Before != on.Before) || q.Tenant != "" && r.Job.Tenant != q.Tenant {
			continue
		}
		all := stints(r)
		for i, x := range all {
			if !x.Run.Paused || q.Site != "" && x.Run.Site != q.Site || !within(q, x.Run.Ended) {
				continue
			}
			n++
			a.cited(x.cite())
			a.figure(ofJob(r.Job.ID), "paused", int64(x.Run.Ended), "instant", x.cite())
			next := "not yet"
			if i+1 < len(all) {
				next = format.FormatInstant(all[i+1].Run.Started)
				a.figure(ofJob(r.Job.ID), "went-on", int64(all[i+1].Run.Started), "instant", x.cite())
			} else {
				waiting++
			}
			if n <= mostListed {
				a.row(name(r.Job.ID), name(x.Run.Site), format.FormatInstant(x.Run.Started), format.FormatInstant(x.Run.Ended), next)
			}
		}
	}
	a.figure("run", "pauses", int64(n), "count", a.Cites...)
	a.figure("run", "paused-now", int64(waiting), "count")
	switch {
	case n == 0 && asked:
		a.Table = nil
		a.say("Job %s was not paused.", name(on.Job.ID))
	case n == 0:
		a.Table = nil
		a.say("No job was paused.")
	default:
		a.say("%s ended in a pause, as the award had said. %s for the rest to be awarded.",
			format.CountWithNoun(n, "run", "runs"), format.CountWithNoun(waiting, "job waits", "jobs wait"))
	}
}
