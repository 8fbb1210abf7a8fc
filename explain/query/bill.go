package query

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// sortedKeys returns the keys of a map in order, so that answers are deterministic.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// entryOf returns the entry of a key, which it adds if there is none.
func entryOf[K comparable, V any](m map[K]*V, key K) *V {
	if m[key] == nil {
		m[key] = new(V)
	}
	return m[key]
}

// inWindow reports whether a time lies in a query's window; all times do without
// one.
func inWindow(q ask.Query, t protocol.Time) bool { return q.To == 0 || t >= q.From && t < q.To }

// isAbout reports whether a job is one that a query is about.
func isAbout(q ask.Query, r history.JobRecord) bool {
	return includes(q, r.Job.Tenant, siteOfRun(r))
}

// jobsOf returns the jobs that a query is about and of which an event was in its window.
func (l *Dataset) jobsOf(q ask.Query, event string, where ...string) []history.JobRecord {
	return l.measuredJobs(ask.Query{Tenant: q.Tenant, Site: q.Site, ExceptSites: q.ExceptSites, ExceptTenants: q.ExceptTenants, From: q.From, To: q.To, Event: event, Where: where})
}

// segmentsIn returns the run segments that a query is about and that ended in its window.
func (l *Dataset) segmentsIn(q ask.Query) (all []history.RunSegment) {
	for _, r := range l.allInstances() {
		for _, s := range r.RunSegments() {
			if s.Over && q.Only != "idle" && includes(q, r.Job.Tenant, s.Run.Site) && inWindow(q, s.Run.Ended) && l.withinBound(q, r) {
				all = append(all, s)
			}
		}
	}
	return all
}

// countsIdle reports whether a query counts the idle draw of sites, which belongs to no tenant and
// to no job.
func countsIdle(q ask.Query) bool {
	return q.Tenant == "" && len(q.ExceptTenants) == 0 && q.Bounded == "" && q.Per != "job" && q.Per != "gpu-hour" && q.Only != "jobs"
}

// idleIn goes through the reports of idle draw, by site, in a query's window.
func (l *Dataset) idleIn(q ask.Query) iter.Seq2[string, history.MeterReport] {
	return func(yield func(string, history.MeterReport) bool) {
		if !countsIdle(q) {
			return
		}
		for name, site := range l.sitesIn(q) {
			for _, m := range site.Meters {
				if inWindow(q, m.Hour) && !yield(name, m) {
					return
				}
			}
		}
	}
}

// A usageSum adds up energy, carbon, cost and GPU time of jobs, and the idle draw of sites.
type usageSum struct {
	jobs   int // that ended
	pauses int // parts of jobs, that a pause ended
	bill   protocol.Usage
	paid   protocol.Microdollars
	held   int64 // by jobs, in thousandths of a GPU times milliseconds
	ids    []string

	estimated bool // some of it was not metered
}

// addSegment adds the usage of one run segment that is over.
func (s *usageSum) addSegment(x history.RunSegment) {
	if x.Run.Paused {
		s.pauses++
	} else {
		s.jobs++
	}
	s.addDraw(x.Run.Cost, x.Run.Estimated)
	s.paid += x.Run.Settled.Paid
	s.held += int64(x.Job.TotalGPUMilli()) * int64(x.Run.Ended-x.Run.Started)
	if id := segmentLabel(x); id != "" {
		s.ids = append(s.ids, id)
	}
}

// addDraw adds what was drawn, by a job or beside jobs.
func (s *usageSum) addDraw(u protocol.Usage, estimated bool) {
	s.bill, s.estimated = s.bill.Plus(u), s.estimated || estimated
}

// addSum adds another sum, but not the decisions that it comes from.
func (s *usageSum) addSum(x usageSum) {
	s.jobs, s.pauses, s.paid, s.held = s.jobs+x.jobs, s.pauses+x.pauses, s.paid+x.paid, s.held+x.held
	s.addDraw(x.bill, x.estimated)
}

// endedPart says of how many jobs and parts of jobs a sum is.
func (s usageSum) endedPart(subject string) Part {
	jobs := countedPart(s.jobCount(subject), "job", "jobs")
	if s.pauses == 0 {
		return newSentence("%s ended", jobs)
	}
	return newSentence("%s and %s ended", jobs, countedPart(valueOf(subject, "parts", s.pauses, s.ids...), "part of a paused job", "parts of paused jobs"))
}

// noteEstimate says that a sum is not all measured.
func (r *Result) noteEstimate(s usageSum) {
	if s.estimated {
		r.addSentence("Part of that was not metered, and is an estimate of the site's.")
	}
}

func (s usageSum) jobCount(subject string) Figure {
	return valueOf(subject, "jobs", s.jobs, s.ids...)
}

// figureOf returns a sum by one metric; cost is what is shown of none.
func (s usageSum) figureOf(subject, metric string) Figure {
	switch metric {
	case "carbon":
		return valueOf(subject, metric, s.bill.Carbon, s.ids...)
	case "energy":
		return valueOf(subject, metric, s.bill.Energy, s.ids...)
	case "paid":
		return valueOf(subject, metric, s.paid, s.ids...)
	}
	return valueOf(subject, "cost", s.bill.Money, s.ids...)
}

// usageParts returns what a sum is of, as sentences list it: energy, carbon and cost.
func (s usageSum) usageParts(subject string) []Part {
	return []Part{s.figureOf(subject, "energy"), s.figureOf(subject, "carbon"), s.figureOf(subject, "cost")}
}

// allFigures returns all that is known of a sum.
func (s usageSum) allFigures(subject string) []Figure {
	return append(figuresIn(s.usageParts(subject)...), append(figuresIn(s.endedPart(subject)), s.figureOf(subject, "paid"))...)
}

// partOfRun returns what a part of the sum of a run took, under names of its own.
func (s usageSum) partOfRun(part string) (all []Part) {
	for _, f := range figuresIn(s.usageParts("run")...) {
		all = append(all, Figure{f.Subject, part + "-" + f.Name, f.Value, f.Unit, nil})
	}
	return all
}

// usageOf sums up all parts of a job that are over.
func usageOf(r history.JobRecord) (all usageSum) {
	for _, x := range r.RunSegments() {
		if x.Over {
			all.addSegment(x)
		}
	}
	return all
}

// describeBillOf says what one job took, each of its parts if it was paused.
func (r *Result) describeBillOf(l *Dataset, rec history.JobRecord) {
	all, job, id := usageOf(rec), jobSubject(rec.Job.ID), namePart(rec.Job.ID)
	if len(all.ids) == 0 {
		all.ids = l.caseOfDecision(rec, l.currentDecision(rec)).citedDecisions()
	}
	ranIn, paid := valueOf(job, "ran-in", all.jobs+all.pauses, all.ids...), all.figureOf(job, "paid")
	switch {
	case ranIn.Value == 0:
		r.addSentence("Job %s has not ended, so nothing was measured; it is %s.", id, recordedText(l.stateOf(rec)))
	case all.pauses == 0:
		r.addSentence("Job %s took %s, measured with the facility's share. %s was paid %s.", id, newSentence("%s, %s CO2e and %s for energy", all.usageParts(job)...), namePart(rec.Run.Site), paid)
	default:
		until := newSentence("so far; it is %s", recordedText(l.stateOf(rec)))
		if all.jobs > 0 {
			until = newSentence("in all")
		}
		r.addSentence("Job %s was paused, and ran in %s. They took %s %s, measured with the facility's share. %s was paid for them.",
			id, countedPart(ranIn, "part", "parts"), newSentence("%s, %s CO2e and %s for energy", all.usageParts(job)...), until, paid)
	}
	if d := rec.CurrentAward(); d != nil && all.pauses == 0 {
		bid := d.Option
		r.addSentence("The bid of %s was %s, %s CO2e and %s for energy.", namePart(d.Site), valueOf(job, "energy-bid", bid.Energy, all.ids...),
			valueOf(job, "carbon-bid", bid.Carbon, all.ids...), valueOf(job, "cost-bid", bid.Money, all.ids...))
	}
	if ranIn.Value > 0 {
		r.noteEstimate(all)
		r.addFigures(append(all.allFigures(job), ranIn)...)
	}
}

// partsOf lists the parts of a job that was paused; nothing of one that was not.
func (r *Result) partsOf(rec history.JobRecord) {
	if usageOf(rec).pauses == 0 {
		return
	}
	r.Head = []string{"site", "decision", "from", "to", "kWh", "kg CO2e", "energy $", "paid $"}
	for i, x := range rec.RunSegments() {
		if !x.Over {
			continue
		}
		part, one := fmt.Sprintf("part/%d", i+1), new(usageSum)
		one.addSegment(x)
		cells := []Part{namePart(x.Run.Site), recordedText(segmentLabel(x)), valueOf(part, "from", x.Run.Started, one.ids...), valueOf(part, "to", x.Run.Ended, one.ids...)}
		r.addRow(append(append(cells, one.usageParts(part)...), one.figureOf(part, "paid"))...)
		r.citeNamed(segmentLabel(x))
	}
}

// usageIn sums up the usage of jobs, the idle draw of sites, and both.
func (l *Dataset) usageIn(q ask.Query) (jobs, idle, both usageSum) {
	for _, x := range l.segmentsIn(q) {
		jobs.addSegment(x)
	}
	for _, m := range l.idleIn(q) {
		idle.addDraw(m.Idle, m.Estimated)
	}
	both = jobs
	both.addSum(idle)
	return jobs, idle, both
}

// answerBill sums up what jobs and sites took.
func (l *Dataset) answerBill(q ask.Query) (r Result) {
	if q.Job != "" || q.Decision != 0 {
		m := l.caseOf(q)
		r.citeDecision(m.decision)
		r.describeBillOf(l, m.job)
		r.partsOf(m.job)
		return r
	}
	r.assumeWindow(l, q, "jobs count where they ended in that time, idle draw by its hours; UTC")
	jobs, idle, both := l.usageIn(q)
	r.Cites = slices.Compact(slices.Clone(jobs.ids))
	if q.By != "" {
		r.listGroups(q, l.tallyGroups(q), &groupTally{usage: both})
		r.describeSplit(q, both)
		return r
	}
	subject, hourly := subjectOf(q), q
	hourly.By = "hour"
	r.Chart = hourChart(l.tallyGroups(hourly), cmp.Or(q.Metric, "carbon"))
	if q.Metric != "" {
		r.addSentence("%s "+map[string]string{"carbon": "CO2e", "energy": "of energy", "cost": "for energy", "paid": "paid to sites for jobs"}[q.Metric]+" in all.", both.figureOf(subject, q.Metric))
	}
	if q.Only == "idle" {
		r.addSentence("Idle draw beside jobs took %s, %s CO2e and %s.", both.usageParts(subject)...)
		r.noteEstimate(idle)
		r.addFigures(both.allFigures(subject)...)
		return r
	}
	r.addSentence("%s, and took %s, %s CO2e and %s for energy.", append([]Part{both.endedPart(subject)}, jobs.partOfRun("jobs")...)...)
	r.noteEstimate(jobs)
	if countsIdle(q) {
		r.addSentence("Idle draw beside jobs took %s, %s and %s.", idle.partOfRun("idle")...)
		r.noteEstimate(idle)
		r.addSentence("Together: %s, %s CO2e, %s. %s was paid for jobs.", append(both.usageParts(subject), both.figureOf(subject, "paid"))...)
	} else {
		r.addSentence("For these jobs %s was paid. Idle draw of the sites belongs to no tenant and no job, and is not counted.", both.figureOf(subject, "paid"))
	}
	r.addFigures(both.allFigures(subject)...)
	return r
}

// describeSplit says what the groups of a bill have in all.
func (r *Result) describeSplit(q ask.Query, all usageSum) {
	metric := cmp.Or(q.Metric, "cost")
	total := all.figureOf("run", metric)
	r.addFigures(all.allFigures("run")...)
	r.noteEstimate(all)
	switch {
	case metric == "paid":
		r.addSentence("In all: %s was paid to sites for jobs.", total)
	case !countsIdle(q):
		r.addSentence("In all: %s of %s. Idle draw of the sites belongs to no tenant and is not counted.", total, plainText(metric))
	default:
		r.addSentence("In all: %s of %s, idle draw of the sites included.", total, plainText(metric))
	}
	if q.By == "hour" {
		r.addSentence("Jobs count in the hour in which they ended.")
	}
}

// answerEnergyMix computes the mean carbon intensity of all energy used.
func (l *Dataset) answerEnergyMix(q ask.Query) (r Result) {
	r.assumeWindow(l, q, "jobs count where they ended in that time, idle draw by its hours; UTC")
	_, _, all := l.usageIn(q)
	r.Cites = all.ids
	if all.bill.Energy == 0 {
		r.addSentence("No energy was used.")
		return r
	}
	perKWh := int64(float64(all.bill.Carbon)/all.bill.Energy.InKWh() + 0.5)
	r.addSentence("%s: %s CO2e over %s, idle draw included.", valueOf("run", "carbon-intensity", milligramsPerKWh(perKWh), all.ids...), all.figureOf("run", "carbon"), all.figureOf("run", "energy"))
	r.noteEstimate(all)
	r.addFigures(all.allFigures("run")...)
	return r
}

// answerSummary says what was used, and how many jobs were late and decisions were made.
func (l *Dataset) answerSummary(q ask.Query) Result {
	r := l.answerBill(q)
	r.addSentence("%s late.", countedPart(valueOf("run", "late", len(l.jobsOf(q, "ended", "late"))), "job was", "jobs were"))
	if s, ok := l.lateByNow(q); ok {
		r.Sentences = append(r.Sentences, s)
	}
	rounds := 0
	for _, x := range l.history.RoundRecords() {
		if inWindow(q, x.Called.At) {
			rounds++
		}
	}
	_, kinds := l.decisionsIn(q)
	r.addSentence("The coordinator called %s and said %s: %s, %s and %s.", append([]Part{countedPart(valueOf("run", "rounds", rounds), "round", "rounds")}, decisionCounts(kinds)...)...)
	return r
}

// decisionsIn returns the decisions of a query's window, and how many there are of each kind: of a
// site, those that name it.
func (l *Dataset) decisionsIn(q ask.Query) (all []history.DecisionRef, kinds map[string]int) {
	kinds = make(map[string]int)
	for _, d := range l.history.AllDecisions() {
		if inWindow(q, d.At) && (q.Site == "" || d.Site == q.Site) && (q.Tenant == "" || l.jobOfDecision(d).Job.Tenant == q.Tenant) {
			all = append(all, d)
			kinds[d.Kind]++
		}
	}
	return all, kinds
}

// decisionCounts returns how many decisions there were, and how many of each kind.
func decisionCounts(kinds map[string]int, cites ...string) []Part {
	all, parts := 0, []Part(nil)
	for _, k := range [][3]string{{"award", "award", "awards"}, {"hold", "hold", "holds"}, {"refuse", "refusal", "refusals"}} {
		all += kinds[k[0]]
		parts = append(parts, countedPart(valueOf("run", k[0]+"s", kinds[k[0]]), k[1], k[2]))
	}
	return append([]Part{countedPart(valueOf("run", "decisions", all, cites...), "decision", "decisions")}, parts...)
}

// firstSegment returns a job's first run segment; false if it never ran.
func firstSegment(r history.JobRecord) (history.RunSegment, bool) {
	if all := r.RunSegments(); len(all) > 0 {
		return all[0], true
	}
	return history.RunSegment{}, false
}

// segmentLabel returns the decision that awarded a run segment, or "".
func segmentLabel(s history.RunSegment) string {
	if a := s.Award(); a != nil {
		return decisionLabel(decisionNumber(*a))
	}
	return ""
}
