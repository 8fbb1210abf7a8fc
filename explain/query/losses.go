package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// lostCodes are the reasons for which a site gives up a job that it had taken.
var lostCodes = []protocol.Code{protocol.Evicted, protocol.TakenOver, protocol.NodeLost, protocol.ClusterRefused, protocol.NotStarted, protocol.SiteDecommissioned, protocol.Cancelled}

// answerPreemptions lists the jobs that were preempted, by which job, and what work that cost.
func (l *Dataset) answerPreemptions(q ask.Query) (r Result) {
	on, asked := l.jobAskedAbout(q)
	r.Head = []string{"job", "time", "site", "cost of that award", "next award", "decision", "why"}
	preempted, n, pauses := 0, 0, 0
	for _, rec := range l.allInstances() {
		if !asksOf(q, on, asked, rec) {
			continue
		}
		for _, p := range rec.Parts {
			if p.Paused && (q.Site == "" || p.Site == q.Site) && inWindow(q, p.Ended) {
				pauses++
			}
		}
		for i, d := range rec.Awards {
			if q.Site != "" && d.Site != q.Site {
				continue
			}
			if d.Preempted != nil && inWindow(q, d.Released.At) {
				if preempted++; preempted <= mostListed {
					r.addSentence("Job %s: %s", namePart(rec.Job.ID), preemptionSentence(rec.Job.ID, d))
				}
			}
			if (d.Preempted != nil || d.Answer == "decline" && slices.Contains(lostCodes, d.Declined.Code)) && inWindow(q, d.Answered.At) {
				n++
				r.listLost(l, rec, i)
			}
		}
	}
	r.addFigures(valueOf("run", "preempted", preempted), valueOf("run", "pauses", pauses))
	if preempted == 0 {
		if len(l.policyAt(1<<62).Classes) > 0 {
			r.addSentence("No run was stopped to make room for another job.")
		} else {
			r.addSentence("This market preempts nobody: without priority classes no rule takes GPUs from a job that runs, whatever another job would pay.")
		}
	}
	awards := valueOf("run", "lost", n, r.Cites...)
	switch {
	case n > 0:
		r.addSentence("%s %s given up by the site after it was accepted, for the reason that the site gave; a job that loses its place is sold again.", countedPart(awards, "award", "awards"), pluralForm(n, "was", "were"))
	case asked:
		r.addSentence("No award of job %s was given up by its site after it was accepted.", namePart(on.Job.ID))
	default:
		r.addSentence("No award in this record was given up by its site after it was accepted.")
	}
	r.addFigures(awards)
	if pauses > 0 {
		r.addSentence("%s ended in a pause that the award had named.", countedPart(valueOf("run", "pauses", pauses), "run", "runs"))
	}
	return r
}

// preemptionSentence says when and why the run of an award was preempted, for whom, and what work
// is lost.
func preemptionSentence(id protocol.JobID, d history.Decision) Sentence {
	p, award := d.Preempted, decisionLabel(decisionNumber(d))
	s := newSentence("At %s its run at %s was preempted: %s", toTheMinute(valueOf(jobSubject(id), "preempted-at", d.Released.At, award)), namePart(d.Site), reasonText(p.Why))
	add := func(form string, part Part) { s.Form, s.Parts = s.Form+form, append(s.Parts, part) }
	switch {
	case p.For != "":
		add("; the room went to job %s", namePart(p.For))
	case p.Owner != "":
		add("; the room went back to %s", namePart(p.Owner))
	}
	if p.Lost > 0 {
		add("; %s of work are lost", valueOf(jobSubject(id), "lost-work", p.Lost, award))
	}
	s.Form += "."
	return s
}

// asksOf reports whether a query covers r. If one is set, the query is about the job on alone,
// and about no other instance of its id.
func asksOf(q ask.Query, on history.JobRecord, one bool, r history.JobRecord) bool {
	return (!one || r.Job.ID == on.Job.ID && r.Before == on.Before) && (q.Tenant == "" || r.Job.Tenant == q.Tenant)
}

// jobAskedAbout returns the job that a query is about; false if it is about all.
func (l *Dataset) jobAskedAbout(q ask.Query) (history.JobRecord, bool) {
	if q.Decision == 0 && q.Job == "" {
		return history.JobRecord{}, false
	}
	return l.caseOf(q).job, true
}

// listLost adds a row for one award that its site gave up, with the award that followed. Rows
// beyond mostListed are not shown, but their figures stay in the data.
func (r *Result) listLost(l *Dataset, rec history.JobRecord, i int) {
	d, next := rec.Awards[i], Part(plainText("none yet"))
	r.citeNamed(decisionLabel(decisionNumber(d)))
	if i+1 < len(rec.Awards) {
		next = l.costOf(rec, rec.Awards[i+1], "next-cost")
		r.citeNamed(decisionLabel(decisionNumber(rec.Awards[i+1])))
	}
	r.addListed(namePart(rec.Job.ID), valueOf(jobSubject(rec.Job.ID), "lost-at", d.Answered.At, decisionLabel(decisionNumber(d))), namePart(d.Site), l.costOf(rec, d, "lost-cost"), next, decisionCitation(decisionNumber(d)), reasonText(d.Declined))
}

// costOf returns the total cost of an award. It is not known for an award of another
// coordinator, whose round and weights are not on record.
func (l *Dataset) costOf(r history.JobRecord, d history.Decision, what string) Part {
	if !l.caseOfDecision(r, decisionNumber(d)).hasRound {
		return plainText("not known")
	}
	return valueOf(jobSubject(r.Job.ID), what, d.Option.Terms.Total(), decisionLabel(decisionNumber(d)))
}

// mostPriority is the highest priority that a job may have; its negative is the lowest.
const mostPriority = 1000

// answerPriority says what a priority does, and how the jobs of each priority fared.
func (l *Dataset) answerPriority(q ask.Query) (r Result) {
	limit := func(what string, v int) Part {
		return formattedFigure{valueOf("market", what, v), func(v int64) string { return fmt.Sprintf("%d,%03d", v/1000, v%1000) }}
	}
	r.addSentence("A priority is a number that a job says, from %s to %s; %s is the default. Within a round, jobs of a higher priority choose first. It is no term of cost. Where the policy has priority classes a job takes its priority from one, and may have jobs of a lower one stopped.",
		limit("lowest-priority", -mostPriority), limit("highest-priority", mostPriority), valueOf("market", "default-priority", 0))
	if rec, asked := l.jobAskedAbout(q); asked {
		r.citeDecision(l.caseOf(q).decision)
		r.addSentence("Job %s has priority %s.", namePart(rec.Job.ID), valueOf(jobSubject(rec.Job.ID), "priority", rec.Job.Priority))
	}
	by := make(map[int][]history.JobRecord)
	for _, rec := range l.measuredJobs(ask.Query{Tenant: q.Tenant}) {
		by[rec.Job.Priority] = append(by[rec.Job.Priority], rec)
	}
	r.Head = []string{"priority", "jobs", "late", "mean wait"}
	for _, p := range slices.Backward(sortedKeys(by)) {
		subject := fmt.Sprintf("priority/%d", p)
		r.addRow(valueOf(subject, "priority", p), valueOf(subject, "jobs", len(by[p])), valueOf(subject, "late", countLate(by[p])), l.meanWait(by[p], subject))
	}
	return r
}

// unstarted is the row of jobs without a site.
const unstarted = nameless + "(not started)"

// answerOverflow lists where the jobs of one home site ran, and why they waited.
func (l *Dataset) answerOverflow(q ask.Query) (r Result) {
	r.addAssumption("jobs whose home is %s; every round asks every site, so a job need not wait for its home: what it saves by waiting decides, and moving its input is a cost", namePart(q.Site))
	where := make(map[string]int)
	holds := make(map[protocol.Code]int)
	n, held := 0, 0
	for _, rec := range l.allInstances() {
		if rec.Job.Home != q.Site || q.Tenant != "" && rec.Job.Tenant != q.Tenant || !inWindow(q, rec.Job.Arrival) {
			continue
		}
		n++
		site := unstarted
		if first, ok := firstSegment(rec); ok {
			site = first.Run.Site
		}
		where[site]++
		all := l.holdsOf(rec)
		for _, d := range all {
			holds[d.Why.Code]++
		}
		if len(all) > 0 {
			held++
			r.citeDecision(l.currentDecision(rec))
		}
	}
	home, waiting := where[q.Site], where[unstarted]
	of := func(what string, n int) Figure { return valueOf("site/"+q.Site, what, n) }
	r.addSentence("%s have their home at %s; %s of them ran there first, %s at other sites, and %s have not started. %s were held at least once.",
		countedPart(of("jobs", n), "job", "jobs"), namePart(q.Site), of("at-home", home), of("elsewhere", n-home-waiting), of("not-started", waiting), of("held", held))
	for _, code := range sortedKeys(holds) {
		r.addSentence("%s × held: %s.", of("held-"+string(code), holds[code]), reasonText{Code: code})
	}
	r.Head = []string{"site", "jobs"}
	var drawn []Figure
	for _, s := range sortedKeys(where) {
		site := strings.TrimPrefix(s, nameless)
		drawn = append(drawn, valueOf("site/"+site, "jobs-of-that-home", where[s]))
		r.addRow(namePart(site), drawn[len(drawn)-1])
	}
	r.Chart = barChart("sites", "where the jobs of "+q.Site+" ran", drawn)
	r.addSentence("Of one job: `gridbid ask 'why not home for job NAME'`.")
	return r
}

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
				job := r.JobIn(run)
				o.held += int64(job.TotalGPUMilli()) * run.Exited.At.Sub(run.Started).Milliseconds() / 1000
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
