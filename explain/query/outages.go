package query

import (
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

// outagesIn returns the outages that began in a query's window, by site. An outage ends with the
// site's next inventory report.
func (l *Dataset) outagesIn(q ask.Query) (all []outage) {
	for name, site := range l.sitesIn(q) {
		reports := site.Inventories
		for i, x := range reports {
			if !x.Decommissioned || !inWindow(q, x.At) {
				continue
			}
			o := outage{site: name, from: x.At}
			if i+1 < len(reports) {
				o.to = reports[i+1].At
			}
			l.findLosses(&o)
			all = append(all, o)
		}
	}
	return all
}

// findLosses sets the jobs that an outage took from a site, and the GPU time of their runs. An
// award belongs to the outage if the site declined it as decommissioned at its first instant.
func (l *Dataset) findLosses(o *outage) {
	for _, r := range l.allInstances() {
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

// answerOutages lists the sites that were declared decommissioned, and what was lost with them.
func (l *Dataset) answerOutages(q ask.Query) (r Result) {
	r.assumeWindow(l, q, "sites that were declared gone in that time; UTC")
	if r.listOutages(l, q) == 0 {
		r.addSentence("No site was declared gone. A site that did not answer: `gridbid ask 'silent agents'`.")
	}
	return r
}

// listOutages lists each outage with what was lost, and returns how many there were.
func (r *Result) listOutages(l *Dataset, q ask.Query) int {
	all := l.outagesIn(q)
	r.addFigures(valueOf("run", "outages", len(all)))
	for _, o := range all {
		subject, who, back := "site/"+o.site, Part(plainText("An operator")), Part(plainText("has not come back"))
		if o.by != "" {
			who = namePart(o.by)
		}
		if o.to != 0 {
			back = newSentence("came back at %s", valueOf(subject, "back", o.to))
		}
		r.addSentence("%s declared %s gone at %s, and it %s.", who, namePart(o.site), valueOf(subject, "gone", o.from), back)
		taken := valueOf(subject, "jobs-taken", len(o.taken))
		lost := valueOf(subject, "gpu-time-lost", milliseconds(o.held))
		r.addFigures(taken, lost)
		if len(o.taken) == 0 {
			r.addSentence("It had no jobs then, so nothing was lost.")
			continue
		}
		names := r.namesOfJobs(l, o.taken, mostListed, valueOf(subject, "jobs-not-named", len(o.taken)-mostListed))
		r.addSentence("%s taken from it and put on sale: %s. Their runs had held GPUs for %s GPU-hours, and that work is lost.", countedPart(taken, "job was", "jobs were"), names,
			formattedFigure{lost, func(v int64) string { return format.FormatValue(v, "gpu-ms") }})
	}
	return len(all)
}

// answerPauses lists the jobs that were paused, when, and when they resumed.
func (l *Dataset) answerPauses(q ask.Query) (r Result) {
	on, asked := l.jobAskedAbout(q)
	if !asked {
		r.assumeWindow(l, q, "runs that were paused in that time; UTC")
	}
	n, waiting := 0, 0
	for _, rec := range l.allInstances() {
		if !asksOf(q, on, asked, rec) {
			continue
		}
		all := rec.RunSegments()
		for i, x := range all {
			if !x.Run.Paused || q.Site != "" && x.Run.Site != q.Site || !inWindow(q, x.Run.Ended) {
				continue
			}
			n++
			r.citeNamed(segmentLabel(x))
			of := func(what string, at protocol.Time) Figure {
				return valueOf(jobSubject(rec.Job.ID), what, at, segmentLabel(x))
			}
			next := Part(plainText("not yet"))
			if i+1 < len(all) {
				next = of("went-on", all[i+1].Run.Started)
			} else { // no later segment: the remaining work is not awarded
				waiting++
			}
			r.addListed(namePart(rec.Job.ID), namePart(x.Run.Site), of("part-from", x.Run.Started), of("paused", x.Run.Ended), next)
		}
	}
	count, left := valueOf("run", "pauses", n, r.Cites...), valueOf("run", "paused-now", waiting)
	r.addFigures(count, left)
	switch {
	case n > 0:
		r.Head = []string{"job", "site", "ran from", "paused at", "went on at"}
		r.addSentence("%s ended in a pause, as the award had said. %s for the rest to be awarded.", countedPart(count, "run", "runs"), countedPart(left, "job waits", "jobs wait"))
	case asked:
		r.addSentence("Job %s was not paused.", namePart(on.Job.ID))
	default:
		r.addSentence("No job was paused.")
	}
	return r
}
