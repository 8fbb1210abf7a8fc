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
	"bill": (*Log).bill, "top": (*Log).top, "mix": (*Log).mix, "summary": (*Log).summary,
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// within reports whether a time lies in a query's window; all times do without
// one.
func within(q ask.Query, t protocol.Time) bool { return q.To == 0 || t >= q.From && t < q.To }

// concerns reports whether a job is one that a query is about.
func concerns(q ask.Query, r history.JobRecord) bool {
	return (q.Tenant == "" || r.Job.Tenant == q.Tenant) && (q.Site == "" || ran(r) == q.Site)
}

// ended returns the jobs that a query is about and that ended in its window.
func (l *Log) ended(q ask.Query) (all []history.JobRecord) {
	for _, r := range l.records() {
		if r.State == history.Ended && concerns(q, r) && within(q, r.Run.Ended) {
			all = append(all, r)
		}
	}
	return all
}

// over returns the stints that a query is about and that ended in its window.
func (l *Log) over(q ask.Query) (all []stint) {
	for _, r := range l.records() {
		for _, s := range stints(r) {
			if s.Over && (q.Tenant == "" || r.Job.Tenant == q.Tenant) && (q.Site == "" || s.Run.Site == q.Site) && within(q, s.Run.Ended) {
				all = append(all, s)
			}
		}
	}
	return all
}

// A sum is what jobs, and sites beside them, took.
type sum struct {
	jobs   int // that ended
	pauses int // parts of jobs, that a pause ended
	bill   protocol.Usage
	paid   protocol.Microdollars
	ids    []string

	estimated bool // some of it was not metered
}

func (s *sum) add(x stint) {
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
	if id := x.cite(); id != "" {
		s.ids = append(s.ids, id)
	}
}

// ended says of how many jobs and parts of jobs a sum is.
func (s sum) ended(subject string) Part {
	jobs := counted(s.jobCount(subject), "job", "jobs")
	if s.pauses == 0 {
		return sentence("%s ended", jobs)
	}
	return sentence("%s and %s ended", jobs, counted(Figure{subject, "parts", int64(s.pauses), "count", s.ids}, "part of a paused job", "parts of paused jobs"))
}

// sayIfEstimated says that a sum is not all measured.
func (r *Result) sayIfEstimated(s sum) {
	if s.estimated {
		r.say("Part of that was not metered, and is an estimate of the site's.")
	}
}

// idle adds what sites drew beside jobs.
func (s *sum) idle(b protocol.Usage, estimated bool) {
	s.estimated = s.estimated || estimated
	s.bill.Energy += b.Energy
	s.bill.Carbon += b.Carbon
	s.bill.Money += b.Money
}

func (s sum) jobCount(subject string) Figure {
	return Figure{subject, "jobs", int64(s.jobs), "count", s.ids}
}

// of returns a sum by one metric; cost is what is shown of none.
func (s sum) of(subject, metric string) Figure {
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

// taken returns what a sum is of, as sentences list it: energy, carbon and cost.
func (s sum) taken(subject string) []Part {
	return []Part{s.of(subject, "energy"), s.of(subject, "carbon"), s.of(subject, "cost")}
}

// figures returns all that is known of a sum.
func (s sum) figures(subject string) []Figure {
	return append(listed(s.taken(subject)).figures(), append(s.ended(subject).figures(), s.of(subject, "paid"))...)
}

// partOfRun returns what a part of the sum of a run took, under names of its own.
func (s sum) partOfRun(part string) (all []Part) {
	for _, f := range listed(s.taken("run")).figures() {
		all = append(all, ofRun(part+"-"+f.Name, f.Value, f.Unit))
	}
	return all
}

// idleBy returns what sites drew beside jobs, in a query's window, by a key.
func (l *Log) idleBy(q ask.Query, key func(site string, hour protocol.Time) string) map[string]*sum {
	all := make(map[string]*sum)
	for _, s := range l.book.ReportingSiteNames() {
		if q.Site != "" && s != q.Site || q.Tenant != "" {
			continue
		}
		for _, m := range l.book.ReportingSite(s).Meters {
			if !within(q, m.Hour) {
				continue
			}
			k := key(s, m.Hour)
			if all[k] == nil {
				all[k] = new(sum)
			}
			all[k].idle(m.Idle, m.Estimated)
		}
	}
	return all
}

// spent sums up all parts of a job that are over.
func spent(r history.JobRecord) (all sum) {
	for _, x := range stints(r) {
		if x.Over {
			all.add(x)
		}
	}
	return all
}

// sayBillOf says what one job took, each of its parts if it was paused.
func (r *Result) sayBillOf(l *Log, rec history.JobRecord) {
	all, job, id := spent(rec), ofJob(rec.Job.ID), called(rec.Job.ID)
	if len(all.ids) == 0 {
		all.ids = l.about(rec, l.deciding(rec)).cited()
	}
	ranIn, paid := Figure{job, "ran-in", int64(all.jobs + all.pauses), "count", all.ids}, all.of(job, "paid")
	switch {
	case ranIn.Value == 0:
		r.say("Job %s has not ended, so nothing was measured; it is %s.", id, recorded(rec.State))
		return
	case all.pauses == 0:
		r.say("Job %s took %s, measured with the facility's share. %s was paid %s.", id, sentence("%s, %s CO2e and %s for energy", all.taken(job)...), called(rec.Run.Site), paid)
	default:
		until := sentence("so far; it is %s", recorded(rec.State))
		if all.jobs > 0 {
			until = sentence("in all")
		}
		r.say("Job %s was paused, and ran in %s. They took %s %s, measured with the facility's share. %s was paid for them.",
			id, counted(ranIn, "part", "parts"), sentence("%s, %s CO2e and %s for energy", all.taken(job)...), until, paid)
		r.partsOf(rec)
	}
	r.sayIfEstimated(all)
	r.also(append(all.figures(job), ranIn)...)
}

// partsOf lists the parts of a job that was paused.
func (r *Result) partsOf(rec history.JobRecord) {
	r.Head = []string{"site", "decision", "from", "to", "kWh", "kg CO2e", "energy $", "paid $"}
	for i, x := range stints(rec) {
		if !x.Over {
			continue
		}
		part, one := fmt.Sprintf("part/%d", i+1), new(sum)
		one.add(x)
		cells := []Part{called(x.Run.Site), recorded(x.cite()), Figure{part, "from", int64(x.Run.Started), "instant", one.ids}, Figure{part, "to", int64(x.Run.Ended), "instant", one.ids}}
		r.row(append(append(cells, one.taken(part)...), one.of(part, "paid"))...)
		r.citeNamed(x.cite())
	}
}

// used sums up what jobs took, and what sites drew beside them.
func (l *Log) used(q ask.Query) (jobs, idle, both sum) {
	for _, x := range l.over(q) {
		jobs.add(x)
	}
	if all := l.idleBy(q, func(string, protocol.Time) string { return "" })[""]; all != nil {
		idle = *all
	}
	both = jobs
	both.idle(idle.bill, idle.estimated)
	return jobs, idle, both
}

// bill sums up what jobs and sites took.
func (l *Log) bill(q ask.Query) (r Result) {
	if q.Job != "" || q.Decision != 0 {
		m := l.matter(q)
		r.cite(m.id)
		r.sayBillOf(l, m.rec)
		return r
	}
	r.whole(l, q, "jobs count where they ended in that time, idle draw by its hours; UTC")
	jobs, idle, both := l.used(q)
	r.Cites = slices.Compact(slices.Clone(jobs.ids))
	if q.By != "" {
		r.billBy(q, l.usedBy(q), both)
		return r
	}
	subject, hourly := subjectOf(q), q
	hourly.By = "hour"
	r.Chart = byHour(l.usedBy(hourly), cmp.Or(q.Metric, "carbon"))
	if q.Metric != "" {
		r.say("%s "+map[string]string{"carbon": "CO2e", "energy": "of energy", "cost": "for energy", "paid": "paid to sites for jobs"}[q.Metric]+" in all.", both.of(subject, q.Metric))
	}
	r.say("%s, and took %s, %s CO2e and %s for energy.", append([]Part{both.ended(subject)}, jobs.partOfRun("jobs")...)...)
	r.sayIfEstimated(jobs)
	if q.Tenant != "" {
		r.say("For its jobs %s was paid. Idle draw of the sites belongs to no tenant and is not counted.", both.of(subject, "paid"))
	} else {
		r.say("Idle draw beside jobs took %s, %s and %s.", idle.partOfRun("idle")...)
		r.sayIfEstimated(idle)
		r.say("Together: %s, %s CO2e, %s. %s was paid for jobs.", append(both.taken(subject), both.of(subject, "paid"))...)
	}
	r.also(both.figures(subject)...)
	return r
}

// nobodys is the row of what sites drew beside jobs, in a bill by tenant. Its
// first byte keeps it apart from any tenant's name.
const nobodys = "\x00(idle draw of sites)"

// usedBy sums up what was used by site, tenant or hour; idle draw has no tenant.
func (l *Log) usedBy(q ask.Query) map[string]*sum {
	key := func(x stint) string { return x.Run.Site }
	idle := func(site string, _ protocol.Time) string { return site }
	switch q.By {
	case "tenant":
		key = func(x stint) string { return x.rec.Job.Tenant }
		idle = func(string, protocol.Time) string { return nobodys }
	case "hour":
		key = func(x stint) string { return x.Run.Ended.Floor(time.Hour).String() }
		idle = func(_ string, hour protocol.Time) string { return hour.String() }
	}
	by := l.idleBy(q, idle)
	for _, x := range l.over(q) {
		k := key(x)
		if by[k] == nil {
			by[k] = new(sum)
		}
		by[k].add(x)
	}
	return by
}

// billBy lists a bill by site, tenant or hour.
func (r *Result) billBy(q ask.Query, by map[string]*sum, all sum) {
	metric := cmp.Or(q.Metric, "cost")
	keys := sorted(by)
	if q.By != "hour" {
		slices.SortStableFunc(keys, func(x, y string) int {
			vx, vy := by[x].of("", metric).Value, by[y].of("", metric).Value
			switch {
			case x == nobodys: // it is no tenant, and stands last
				return 1
			case y == nobodys:
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
	total := all.of("run", metric)
	var drawn []Figure
	for i, k := range keys {
		shown := strings.TrimPrefix(k, "\x00")
		subject, label := q.By+"/"+shown, called(cmp.Or(shown, "(none)")) // jobs need not say whose they are
		value := by[k].of(subject, metric)
		cells := append([]Part{label, by[k].jobCount(subject)}, by[k].taken(subject)...)
		if metric == "paid" {
			cells = append(cells, value)
		}
		r.row(append(cells, share(subject, "share", value.Value, total.Value))...)
		r.also(by[k].figures(subject)...)
		drawn = append(drawn, value)
		if i == 0 && q.Pick != "" {
			r.say("The %s of %s: %s, with %s.", phrase(q.Pick), phrase(metric), label, value)
		}
	}
	if q.By == "hour" {
		r.Chart = byHour(by, metric)
	} else {
		r.Chart = bars("sites", metric+" by "+q.By, drawn)
	}
	r.also(all.figures("run")...)
	r.sayIfEstimated(all)
	switch {
	case metric == "paid":
		r.say("In all: %s was paid to sites for jobs.", total)
	case q.Tenant != "":
		r.say("In all: %s of %s. Idle draw of the sites belongs to no tenant and is not counted.", total, phrase(metric))
	default:
		r.say("In all: %s of %s, idle draw of the sites included.", total, phrase(metric))
	}
	if q.By == "hour" {
		r.say("Jobs count in the hour in which they ended.")
	}
}

// top lists the jobs with the most of something.
func (l *Log) top(q ask.Query) (r Result) {
	r.whole(l, q, "jobs count where they ended in that time; UTC")
	value := func(rec history.JobRecord) Figure {
		if wait, _ := rec.WaitTime(); q.Metric == "wait" {
			return jobFigure(rec.Job.ID, "wait", wait.Milliseconds(), "ms", cite(l.deciding(rec)))
		}
		f := spent(rec).of(ofJob(rec.Job.ID), q.Metric)
		f.From = []string{cite(l.deciding(rec))}
		return f
	}
	all := l.ended(q)
	slices.SortStableFunc(all, func(x, y history.JobRecord) int {
		return cmp.Or(cmp.Compare(value(y).Value, value(x).Value), cmp.Compare(x.Job.ID, y.Job.ID))
	})
	n := int(min(q.Number, int64(len(all)), 1000))
	r.say("%s of %s that ended, those with the most %s first.", ofRun("shown", int64(n), "count"), counted(ofRun("ended", int64(len(all)), "count"), "job", "jobs"), phrase(q.Metric))
	r.Head = []string{"job", q.Metric, "tenant", "site", "decision"}
	var drawn []Figure
	for _, rec := range all[:n] {
		v, id := value(rec), l.deciding(rec)
		r.row(called(rec.Job.ID), v, called(rec.Job.Tenant), called(rec.Run.Site), citation(id))
		r.cite(id)
		drawn = append(drawn, v)
	}
	r.Chart = bars("jobs", q.Metric+" of the first jobs", drawn)
	return r
}

// mix tells the carbon intensity of all energy used.
func (l *Log) mix(q ask.Query) (r Result) {
	r.whole(l, q, "jobs count where they ended in that time, idle draw by its hours; UTC")
	_, _, all := l.used(q)
	r.Cites = all.ids
	if all.bill.Energy == 0 {
		r.say("No energy was used.")
		return r
	}
	perKWh := int64(float64(all.bill.Carbon)/all.bill.Energy.InKWh() + 0.5)
	r.say("%s: %s CO2e over %s, idle draw included.", ofRun("carbon-intensity", perKWh, "milligrams-per-kwh", all.ids...), all.of("run", "carbon"), all.of("run", "energy"))
	r.sayIfEstimated(all)
	r.also(all.figures("run")...)
	return r
}

// summary says what was used, and how many jobs were late and decisions were made.
func (l *Log) summary(q ask.Query) Result {
	r := l.bill(q)
	late := 0
	for _, rec := range l.ended(q) {
		if rec.EndedLate() {
			late++
		}
	}
	r.say("%s late.", counted(ofRun("late", int64(late), "count"), "job was", "jobs were"))
	if s, ok := l.lateByNow(q); ok {
		r.Said = append(r.Said, s)
	}
	rounds, kinds := 0, make(map[string]int)
	for _, x := range l.book.RoundRecords() {
		if within(q, x.Called.At) {
			rounds++
		}
	}
	for _, d := range l.book.AllDecisions() {
		if within(q, d.At) {
			kinds[d.Kind]++
		}
	}
	r.say("The coordinator called %s and said %s: %s, %s and %s.", append([]Part{counted(ofRun("rounds", int64(rounds), "count"), "round", "rounds")}, decisionCounts(kinds)...)...)
	return r
}

// decisionCounts returns how many decisions there were, and how many of each kind.
func decisionCounts(kinds map[string]int, cites ...string) []Part {
	all, parts := 0, []Part(nil)
	for _, k := range [][3]string{{"award", "award", "awards"}, {"hold", "hold", "holds"}, {"refuse", "refusal", "refusals"}} {
		all += kinds[k[0]]
		parts = append(parts, counted(ofRun(k[0]+"s", int64(kinds[k[0]]), "count"), k[1], k[2]))
	}
	return append([]Part{counted(ofRun("decisions", int64(all), "count", cites...), "decision", "decisions")}, parts...)
}
