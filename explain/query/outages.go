package query

import (
	"github.com/gridbid/gridbid/explain/ask"
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

// aboutBreaks are the questions about sites that were gone and jobs that were paused.
var aboutBreaks = map[string]evaluator{"outages": (*Log).outages, "pauses": (*Log).pauses}

// outages tells which sites were declared gone, and what was lost with them.
func (l *Log) outages(q ask.Query) (r Result) {
	r.whole(l, q, "sites that were declared gone in that time; UTC")
	if r.listOutages(l, q) == 0 {
		r.say("No site was declared gone. A site that did not answer: `gridbid ask 'silent agents'`.")
	}
	return r
}

// listOutages tells each outage with what was lost, and returns how many there were.
func (r *Result) listOutages(l *Log, q ask.Query) int {
	all := l.outagesIn(q)
	r.also(valueOf("run", "outages", len(all)))
	for _, o := range all {
		subject, who, back := "site/"+o.site, Part(phrase("An operator")), Part(phrase("has not come back"))
		if o.by != "" {
			who = called(o.by)
		}
		if o.to != 0 {
			back = sentence("came back at %s", valueOf(subject, "back", o.to))
		}
		r.say("%s declared %s gone at %s, and it %s.", who, called(o.site), valueOf(subject, "gone", o.from), back)
		taken := valueOf(subject, "jobs-taken", len(o.taken))
		lost := Figure{subject, "gpu-time-lost", o.held, "ms", nil}
		r.also(taken, lost)
		if len(o.taken) == 0 {
			r.say("It had no jobs then, so nothing was lost.")
			continue
		}
		var names listed
		for i, rec := range o.taken {
			if i == mostListed {
				names = append(names, sentence("%s more", valueOf(subject, "jobs-not-named", len(o.taken)-i)))
				break
			}
			names = append(names, called(rec.Job.ID))
			r.cite(l.deciding(rec))
		}
		r.say("%s taken from it and put on sale: %s. Their runs had held GPUs for %s GPU-hours, and that work is lost.", counted(taken, "job was", "jobs were"), names,
			shownAs{lost, func(v int64) string { return Figure{Value: v, Unit: "gpu-ms"}.words() }})
	}
	return len(all)
}

// pauses tells which jobs were paused, when, and when they went on.
func (l *Log) pauses(q ask.Query) (r Result) {
	on, asked := l.asking(q)
	if !asked {
		r.whole(l, q, "runs that were paused in that time; UTC")
	}
	n, waiting := 0, 0
	for _, rec := range l.records() {
		if !asksOf(q, on, asked, rec) {
			continue
		}
		all := stints(rec)
		for i, x := range all {
			if !x.Run.Paused || q.Site != "" && x.Run.Site != q.Site || !within(q, x.Run.Ended) {
				continue
			}
			n++
			r.citeNamed(x.cite())
			of := func(what string, at protocol.Time) Figure { return valueOf(ofJob(rec.Job.ID), what, at, x.cite()) }
			paused, next := of("paused", x.Run.Ended), Part(phrase("not yet"))
			if r.also(paused); i+1 < len(all) {
				next = of("went-on", all[i+1].Run.Started)
			} else {
				waiting++
			}
			if n <= mostListed {
				r.row(called(rec.Job.ID), called(x.Run.Site), of("part-from", x.Run.Started), paused, next)
			} else {
				r.also(next.figures()...)
			}
		}
	}
	count, left := valueOf("run", "pauses", n, r.Cites...), valueOf("run", "paused-now", waiting)
	r.also(count, left)
	switch {
	case n > 0:
		r.Head = []string{"job", "site", "ran from", "paused at", "went on at"}
		r.say("%s ended in a pause, as the award had said. %s for the rest to be awarded.", counted(count, "run", "runs"), counted(left, "job waits", "jobs wait"))
	case asked:
		r.say("Job %s was not paused.", called(on.Job.ID))
	default:
		r.say("No job was paused.")
	}
	return r
}
