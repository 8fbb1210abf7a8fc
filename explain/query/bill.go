package query

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// aboutUse are the questions about what was used, and paid for it.
var aboutUse = map[string]evaluator{
	"bill": (*Dataset).answerBill, "top": (*Dataset).answerTopJobs, "mix": (*Dataset).answerEnergyMix, "summary": (*Dataset).answerSummary,
}

// sortedKeys returns the keys of a map in order, so that answers are deterministic.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// inWindow reports whether a time lies in a query's window; all times do without
// one.
func inWindow(q ask.Query, t protocol.Time) bool { return q.To == 0 || t >= q.From && t < q.To }

// isAbout reports whether a job is one that a query is about.
func isAbout(q ask.Query, r history.JobRecord) bool {
	return (q.Tenant == "" || r.Job.Tenant == q.Tenant) && (q.Site == "" || siteOfRun(r) == q.Site)
}

// endedJobs returns the jobs that a query is about and that ended in its window.
func (l *Dataset) endedJobs(q ask.Query) (all []history.JobRecord) {
	for _, r := range l.allInstances() {
		if r.State == history.Ended && isAbout(q, r) && inWindow(q, r.Run.Ended) {
			all = append(all, r)
		}
	}
	return all
}

// segmentsIn returns the run segments that a query is about and that ended in its window.
func (l *Dataset) segmentsIn(q ask.Query) (all []runSegment) {
	for _, r := range l.allInstances() {
		for _, s := range segmentsOf(r) {
			if s.Over && (q.Tenant == "" || r.Job.Tenant == q.Tenant) && (q.Site == "" || s.Run.Site == q.Site) && inWindow(q, s.Run.Ended) {
				all = append(all, s)
			}
		}
	}
	return all
}

// A usageSum adds up energy, carbon and cost of jobs, and of the idle draw of sites.
type usageSum struct {
	jobs   int // that ended
	pauses int // parts of jobs, that a pause ended
	bill   protocol.Usage
	paid   protocol.Microdollars
	ids    []string

	estimated bool // some of it was not metered
}

// addSegment adds the usage of one run segment that is over.
func (s *usageSum) addSegment(x runSegment) {
	if x.Run.Paused {
		s.pauses++
	} else {
		s.jobs++
	}
	s.bill.Energy += x.Run.Cost.Energy
	s.bill.Carbon += x.Run.Cost.Carbon
	s.bill.Money += x.Run.Cost.Money
	s.paid += x.Run.Settled.Paid
	s.estimated = s.estimated || x.Run.Estimated
	if id := x.awardLabel(); id != "" {
		s.ids = append(s.ids, id)
	}
}

// endedPart says of how many jobs and parts of jobs a sum is.
func (s usageSum) endedPart(subject string) Part {
	jobs := countedPart(s.jobCount(subject), "job", "jobs")
	if s.pauses == 0 {
		return newSentence("%s ended", jobs)
	}
	return newSentence("%s and %s ended", jobs, countedPart(Figure{subject, "parts", int64(s.pauses), "count", s.ids}, "part of a paused job", "parts of paused jobs"))
}

// noteEstimate says that a sum is not all measured.
func (r *Result) noteEstimate(s usageSum) {
	if s.estimated {
		r.addSentence("Part of that was not metered, and is an estimate of the site's.")
	}
}

// addIdle adds the idle draw of sites.
func (s *usageSum) addIdle(b protocol.Usage, estimated bool) {
	s.estimated = s.estimated || estimated
	s.bill.Energy += b.Energy
	s.bill.Carbon += b.Carbon
	s.bill.Money += b.Money
}

func (s usageSum) jobCount(subject string) Figure {
	return Figure{subject, "jobs", int64(s.jobs), "count", s.ids}
}

// figureOf returns a sum by one metric; cost is what is shown of none.
func (s usageSum) figureOf(subject, metric string) Figure {
	switch metric {
	case "carbon":
		return Figure{subject, metric, int64(s.bill.Carbon), "milligrams", s.ids}
	case "energy":
		return Figure{subject, metric, int64(s.bill.Energy), "millijoules", s.ids}
	case "paid":
		return Figure{subject, metric, int64(s.paid), "microdollars", s.ids}
	}
	return Figure{subject, "cost", int64(s.bill.Money), "microdollars", s.ids}
}

// usageParts returns what a sum is of, as sentences list it: energy, carbon and cost.
func (s usageSum) usageParts(subject string) []Part {
	return []Part{s.figureOf(subject, "energy"), s.figureOf(subject, "carbon"), s.figureOf(subject, "cost")}
}

// allFigures returns all that is known of a sum.
func (s usageSum) allFigures(subject string) []Figure {
	return append(partList(s.usageParts(subject)).citedFigures(), append(s.endedPart(subject).citedFigures(), s.figureOf(subject, "paid"))...)
}

// partOfRun returns what a part of the sum of a run took, under names of its own.
func (s usageSum) partOfRun(part string) (all []Part) {
	for _, f := range partList(s.usageParts("run")).citedFigures() {
		all = append(all, runFigure(part+"-"+f.Name, f.Value, f.Unit))
	}
	return all
}

// idleBy returns the idle draw of sites in a query's window, grouped by a key.
func (l *Dataset) idleBy(q ask.Query, key func(site string, hour protocol.Time) string) map[string]*usageSum {
	all := make(map[string]*usageSum)
	for _, s := range l.history.ReportingSiteNames() {
		if q.Site != "" && s != q.Site || q.Tenant != "" {
			continue
		}
		for _, m := range l.history.ReportingSite(s).Meters {
			if !inWindow(q, m.Hour) {
				continue
			}
			k := key(s, m.Hour)
			if all[k] == nil {
				all[k] = new(usageSum)
			}
			all[k].addIdle(m.Idle, m.Estimated)
		}
	}
	return all
}

// usageOf sums up all parts of a job that are over.
func usageOf(r history.JobRecord) (all usageSum) {
	for _, x := range segmentsOf(r) {
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
	ranIn, paid := Figure{job, "ran-in", int64(all.jobs + all.pauses), "count", all.ids}, all.figureOf(job, "paid")
	switch {
	case ranIn.Value == 0:
		r.addSentence("Job %s has not ended, so nothing was measured; it is %s.", id, recordedText(rec.State))
		return
	case all.pauses == 0:
		r.addSentence("Job %s took %s, measured with the facility's share. %s was paid %s.", id, newSentence("%s, %s CO2e and %s for energy", all.usageParts(job)...), namePart(rec.Run.Site), paid)
	default:
		until := newSentence("so far; it is %s", recordedText(rec.State))
		if all.jobs > 0 {
			until = newSentence("in all")
		}
		r.addSentence("Job %s was paused, and ran in %s. They took %s %s, measured with the facility's share. %s was paid for them.",
			id, countedPart(ranIn, "part", "parts"), newSentence("%s, %s CO2e and %s for energy", all.usageParts(job)...), until, paid)
		r.partsOf(rec)
	}
	r.noteEstimate(all)
	r.addFigures(append(all.allFigures(job), ranIn)...)
}

// partsOf lists the parts of a job that was paused.
func (r *Result) partsOf(rec history.JobRecord) {
	r.Head = []string{"site", "decision", "from", "to", "kWh", "kg CO2e", "energy $", "paid $"}
	for i, x := range segmentsOf(rec) {
		if !x.Over {
			continue
		}
		part, one := fmt.Sprintf("part/%d", i+1), new(usageSum)
		one.addSegment(x)
		cells := []Part{namePart(x.Run.Site), recordedText(x.awardLabel()), Figure{part, "from", int64(x.Run.Started), "instant", one.ids}, Figure{part, "to", int64(x.Run.Ended), "instant", one.ids}}
		r.addRow(append(append(cells, one.usageParts(part)...), one.figureOf(part, "paid"))...)
		r.citeNamed(x.awardLabel())
	}
}

// usageIn sums up the usage of jobs, the idle draw of sites, and both.
func (l *Dataset) usageIn(q ask.Query) (jobs, idle, both usageSum) {
	for _, x := range l.segmentsIn(q) {
		jobs.addSegment(x)
	}
	if all := l.idleBy(q, func(string, protocol.Time) string { return "" })[""]; all != nil {
		idle = *all
	}
	both = jobs
	both.addIdle(idle.bill, idle.estimated)
	return jobs, idle, both
}

// answerBill sums up what jobs and sites took.
func (l *Dataset) answerBill(q ask.Query) (r Result) {
	if q.Job != "" || q.Decision != 0 {
		m := l.caseOf(q)
		r.citeDecision(m.decision)
		r.describeBillOf(l, m.job)
		return r
	}
	r.assumeWindow(l, q, "jobs count where they ended in that time, idle draw by its hours; UTC")
	jobs, idle, both := l.usageIn(q)
	r.Cites = slices.Compact(slices.Clone(jobs.ids))
	if q.By != "" {
		r.billBy(q, l.usedBy(q), both)
		return r
	}
	subject, hourly := subjectOf(q), q
	hourly.By = "hour"
	r.Chart = hourChart(l.usedBy(hourly), cmp.Or(q.Metric, "carbon"))
	if q.Metric != "" {
		r.addSentence("%s "+map[string]string{"carbon": "CO2e", "energy": "of energy", "cost": "for energy", "paid": "paid to sites for jobs"}[q.Metric]+" in all.", both.figureOf(subject, q.Metric))
	}
	r.addSentence("%s, and took %s, %s CO2e and %s for energy.", append([]Part{both.endedPart(subject)}, jobs.partOfRun("jobs")...)...)
	r.noteEstimate(jobs)
	if q.Tenant != "" {
		r.addSentence("For its jobs %s was paid. Idle draw of the sites belongs to no tenant and is not counted.", both.figureOf(subject, "paid"))
	} else {
		r.addSentence("Idle draw beside jobs took %s, %s and %s.", idle.partOfRun("idle")...)
		r.noteEstimate(idle)
		r.addSentence("Together: %s, %s CO2e, %s. %s was paid for jobs.", append(both.usageParts(subject), both.figureOf(subject, "paid"))...)
	}
	r.addFigures(both.allFigures(subject)...)
	return r
}

// idleDrawRow is the row of the idle draw of sites in a bill by tenant. Its first byte
// keeps it apart from any tenant's name.
const idleDrawRow = "\x00(idle draw of sites)"

// usedBy sums up what was used by site, tenant or hour; idle draw has no tenant.
func (l *Dataset) usedBy(q ask.Query) map[string]*usageSum {
	key := func(x runSegment) string { return x.Run.Site }
	idle := func(site string, _ protocol.Time) string { return site }
	switch q.By {
	case "tenant":
		key = func(x runSegment) string { return x.rec.Job.Tenant }
		idle = func(string, protocol.Time) string { return idleDrawRow }
	case "hour":
		key = func(x runSegment) string { return x.Run.Ended.Floor(time.Hour).String() }
		idle = func(_ string, hour protocol.Time) string { return hour.String() }
	}
	// Idle draw comes first, so that a site without jobs has a sum too.
	by := l.idleBy(q, idle)
	for _, x := range l.segmentsIn(q) {
		k := key(x)
		if by[k] == nil {
			by[k] = new(usageSum)
		}
		by[k].addSegment(x)
	}
	return by
}

// billBy lists a bill by site, tenant or hour.
func (r *Result) billBy(q ask.Query, by map[string]*usageSum, all usageSum) {
	metric := cmp.Or(q.Metric, "cost")
	keys := sortedKeys(by)
	if q.By != "hour" {
		slices.SortStableFunc(keys, func(x, y string) int {
			vx, vy := by[x].figureOf("", metric).Value, by[y].figureOf("", metric).Value
			switch {
			case x == idleDrawRow: // idle draw belongs to no tenant, and comes last
				return 1
			case y == idleDrawRow:
				return -1
			case q.Pick == "least":
				return cmp.Compare(vx, vy)
			}
			return cmp.Compare(vy, vx)
		})
	}
	r.Head = []string{q.By, "jobs", "kWh", "kg CO2e", "energy $"}
	if metric == "paid" {
		r.Head = append(r.Head, "paid $")
	}
	r.Head = append(r.Head, "share of "+metric)
	total := all.figureOf("run", metric)
	var drawn []Figure
	for i, k := range keys {
		shown := strings.TrimPrefix(k, "\x00")
		subject, label := q.By+"/"+shown, namePart(cmp.Or(shown, "(none)")) // a job need not name a tenant
		value := by[k].figureOf(subject, metric)
		cells := append([]Part{label, by[k].jobCount(subject)}, by[k].usageParts(subject)...)
		if metric == "paid" {
			cells = append(cells, value)
		}
		r.addRow(append(cells, percentPart(subject, "share", value.Value, total.Value))...)
		r.addFigures(by[k].allFigures(subject)...)
		drawn = append(drawn, value)
		if i == 0 && q.Pick != "" {
			r.addSentence("The %s of %s: %s, with %s.", plainText(q.Pick), plainText(metric), label, value)
		}
	}
	if q.By == "hour" {
		r.Chart = hourChart(by, metric)
	} else {
		r.Chart = barChart("sites", metric+" by "+q.By, drawn)
	}
	r.addFigures(all.allFigures("run")...)
	r.noteEstimate(all)
	switch {
	case metric == "paid":
		r.addSentence("In all: %s was paid to sites for jobs.", total)
	case q.Tenant != "":
		r.addSentence("In all: %s of %s. Idle draw of the sites belongs to no tenant and is not counted.", total, plainText(metric))
	default:
		r.addSentence("In all: %s of %s, idle draw of the sites included.", total, plainText(metric))
	}
	if q.By == "hour" {
		r.addSentence("Jobs count in the hour in which they ended.")
	}
}

// answerTopJobs lists the jobs with the most of something.
func (l *Dataset) answerTopJobs(q ask.Query) (r Result) {
	r.assumeWindow(l, q, "jobs count where they ended in that time; UTC")
	value := func(rec history.JobRecord) Figure {
		if wait, _ := rec.WaitTime(); q.Metric == "wait" {
			return jobFigure(rec.Job.ID, "wait", wait.Milliseconds(), "ms", decisionLabel(l.currentDecision(rec)))
		}
		f := usageOf(rec).figureOf(jobSubject(rec.Job.ID), q.Metric)
		f.From = []string{decisionLabel(l.currentDecision(rec))}
		return f
	}
	all := l.endedJobs(q)
	slices.SortStableFunc(all, func(x, y history.JobRecord) int {
		return cmp.Or(cmp.Compare(value(y).Value, value(x).Value), cmp.Compare(x.Job.ID, y.Job.ID))
	})
	n := int(min(q.Number, int64(len(all)), 1000))
	r.addSentence("%s of %s that ended, those with the most %s first.", runFigure("shown", int64(n), "count"), countedPart(runFigure("ended", int64(len(all)), "count"), "job", "jobs"), plainText(q.Metric))
	r.Head = []string{"job", q.Metric, "tenant", "site", "decision"}
	var drawn []Figure
	for _, rec := range all[:n] {
		v, id := value(rec), l.currentDecision(rec)
		r.addRow(namePart(rec.Job.ID), v, namePart(rec.Job.Tenant), namePart(rec.Run.Site), decisionCitation(id))
		r.citeDecision(id)
		drawn = append(drawn, v)
	}
	r.Chart = barChart("jobs", q.Metric+" of the first jobs", drawn)
	return r
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
	r.addSentence("%s: %s CO2e over %s, idle draw included.", runFigure("carbon-intensity", perKWh, "milligrams-per-kwh", all.ids...), all.figureOf("run", "carbon"), all.figureOf("run", "energy"))
	r.noteEstimate(all)
	r.addFigures(all.allFigures("run")...)
	return r
}

// answerSummary says what was used, and how many jobs were late and decisions were made.
func (l *Dataset) answerSummary(q ask.Query) Result {
	r := l.answerBill(q)
	late := 0
	for _, rec := range l.endedJobs(q) {
		if rec.EndedLate() {
			late++
		}
	}
	r.addSentence("%s late.", countedPart(runFigure("late", int64(late), "count"), "job was", "jobs were"))
	if s, ok := l.lateByNow(q); ok {
		r.Sentences = append(r.Sentences, s)
	}
	rounds, kinds := 0, make(map[string]int)
	for _, x := range l.history.RoundRecords() {
		if inWindow(q, x.Called.At) {
			rounds++
		}
	}
	for _, d := range l.history.AllDecisions() {
		if inWindow(q, d.At) {
			kinds[d.Kind]++
		}
	}
	r.addSentence("The coordinator called %s and said %s: %s, %s and %s.", append([]Part{countedPart(runFigure("rounds", int64(rounds), "count"), "round", "rounds")}, decisionCounts(kinds)...)...)
	return r
}

// decisionCounts returns how many decisions there were, and how many of each kind.
func decisionCounts(kinds map[string]int, cites ...string) []Part {
	all, parts := 0, []Part(nil)
	for _, k := range [][3]string{{"award", "award", "awards"}, {"hold", "hold", "holds"}, {"refuse", "refusal", "refusals"}} {
		all += kinds[k[0]]
		parts = append(parts, countedPart(runFigure(k[0]+"s", int64(kinds[k[0]]), "count"), k[1], k[2]))
	}
	return append([]Part{countedPart(runFigure("decisions", int64(all), "count", cites...), "decision", "decisions")}, parts...)
}
