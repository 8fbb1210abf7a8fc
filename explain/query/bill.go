package query

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// within reports whether a time lies in a query's window; all times do without
// one.
func within(q ask.Query, t protocol.Time) bool { return q.To == 0 || t >= q.From && t < q.To }

// whole says which time counts when none was named.
func (l *Log) whole(q ask.Query, a *Answer, counted string) {
	if q.To == 0 {
		a.assume(fmt.Sprintf("no time was named, so the whole record, %s to %s UTC", format.FormatInstant(l.first()), format.FormatInstant(l.last())))
	} else {
		a.assume(counted)
	}
	l.partial(q, a)
}

// partial says of a time that reaches back before its coordinator began that not all of
// it is on record.
func (l *Log) partial(q ask.Query, a *Answer) {
	if l.book.Coverage().Since > l.first() && (q.To == 0 || q.From < l.book.Coverage().Since) {
		a.assume(fmt.Sprintf("its coordinator began at %s; of before this record has the jobs that the books kept, and neither idle draw nor rounds", format.FormatInstant(l.book.Coverage().Since)))
	}
}

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

// counted says of how many jobs and parts of jobs a sum is.
func (s sum) counted() string {
	if s.pauses == 0 {
		return format.CountWithNoun(s.jobs, "job", "jobs") + " ended"
	}
	return format.CountWithNoun(s.jobs, "job", "jobs") + " and " + format.CountWithNoun(s.pauses, "part of a paused job", "parts of paused jobs") + " ended"
}

// marked says that a sum is not all measured.
func (s sum) marked(a *Answer) {
	if s.estimated {
		a.say("Part of that was not metered, and is an estimate of the site's.")
	}
}

// idle adds what sites drew beside jobs.
func (s *sum) idle(b protocol.Usage, estimated bool) {
	s.estimated = s.estimated || estimated
	s.bill.Energy += b.Energy
	s.bill.Carbon += b.Carbon
	s.bill.Money += b.Money
}

func (s sum) figures(a *Answer, subject string) {
	a.figure(subject, "energy", int64(s.bill.Energy), "millijoules", s.ids...)
	a.figure(subject, "carbon", int64(s.bill.Carbon), "milligrams", s.ids...)
	a.figure(subject, "cost", int64(s.bill.Money), "microdollars", s.ids...)
	a.figure(subject, "paid", int64(s.paid), "microdollars", s.ids...)
	a.figure(subject, "jobs", int64(s.jobs), "count", s.ids...)
	if s.pauses > 0 {
		a.figure(subject, "parts", int64(s.pauses), "count", s.ids...)
	}
}

// parts notes what a sum is put together of.
func (s sum) parts(a *Answer, of string) {
	a.figure("run", of+"-energy", int64(s.bill.Energy), "millijoules")
	a.figure("run", of+"-carbon", int64(s.bill.Carbon), "milligrams")
	a.figure("run", of+"-cost", int64(s.bill.Money), "microdollars")
}

// shown returns a sum by one metric; cost is what is shown of none.
func (s sum) shown(metric string) (int64, string) {
	switch metric {
	case "carbon":
		return int64(s.bill.Carbon), kg(s.bill.Carbon)
	case "energy":
		return int64(s.bill.Energy), kWh(s.bill.Energy)
	}
	if metric == "paid" {
		return int64(s.paid), format.FormatDollars(s.paid)
	}
	return int64(s.bill.Money), format.FormatDollars(s.bill.Money)
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

// billOf tells what one job took, each of its parts if it was paused.
func (l *Log) billOf(r history.JobRecord, a *Answer) {
	all := spent(r)
	switch {
	case all.jobs+all.pauses == 0:
		a.say("Job %s has not ended, so nothing was measured; it is %s.", name(r.Job.ID), r.State)
		return
	case all.pauses == 0:
		a.say("Job %s took %s, %s CO2e and %s for energy, measured with the facility's share. %s was paid %s.",
			name(r.Job.ID), kWh(all.bill.Energy), kg(all.bill.Carbon), format.FormatDollars(all.bill.Money), name(r.Run.Site), format.FormatDollars(all.paid))
	default:
		until := "so far; it is " + string(r.State)
		if all.jobs > 0 {
			until = "in all"
		}
		a.say("Job %s was paused, and ran in %s. They took %s, %s CO2e and %s for energy %s, measured with the facility's share. %s was paid for them.",
			name(r.Job.ID), format.CountWithNoun(all.jobs+all.pauses, "part", "parts"), kWh(all.bill.Energy), kg(all.bill.Carbon), format.FormatDollars(all.bill.Money), until, format.FormatDollars(all.paid))
		a.partsOf(r)
	}
	all.marked(a)
	if len(all.ids) == 0 {
		all.ids = l.about(r, l.deciding(r)).cited()
	}
	all.figures(a, ofJob(r.Job.ID))
	a.figure(ofJob(r.Job.ID), "ran-in", int64(all.jobs+all.pauses), "count", all.ids...)
}

// partsOf lists the parts of a job that was paused.
func (a *Answer) partsOf(r history.JobRecord) {
	a.Table = &Table{Head: []string{"site", "decision", "from", "to", "kWh", "kg CO2e", "energy $", "paid $"}}
	for i, x := range stints(r) {
		if !x.Over {
			continue
		}
		c, id := x.Run.Cost, x.cite()
		a.cited(id)
		a.row(name(x.Run.Site), id, format.FormatInstant(x.Run.Started), format.FormatInstant(x.Run.Ended), kWh(c.Energy), kg(c.Carbon), format.FormatDollars(c.Money), format.FormatDollars(x.Run.Settled.Paid))
		of := fmt.Sprintf("part/%d", i+1)
		one := sum{bill: c, paid: x.Run.Settled.Paid, ids: []string{id}}
		one.figures(a, of)
		a.figure(of, "from", int64(x.Run.Started), "instant", id)
		a.figure(of, "to", int64(x.Run.Ended), "instant", id)
	}
}

// bill sums up what jobs and sites took.
func (l *Log) bill(q ask.Query, a *Answer) {
	if q.Job != "" || q.Decision != 0 {
		m := l.matter(q)
		a.cite(m.id)
		l.billOf(m.rec, a)
		return
	}
	l.whole(q, a, "jobs count where they ended in that time, idle draw by its hours; UTC")
	all := new(sum)
	for _, x := range l.over(q) {
		all.add(x)
	}
	idle := l.idleBy(q, func(string, protocol.Time) string { return "" })[""]
	if idle == nil {
		idle = new(sum)
	}
	a.Cites = slices.Compact(slices.Clone(all.ids))
	both := *all
	both.idle(idle.bill, idle.estimated)
	subject := "run"
	switch {
	case q.Tenant != "":
		subject = "tenant/" + q.Tenant
	case q.Site != "":
		subject = "site/" + q.Site
	}
	if q.By == "" {
		a.Chart = l.hours(q, cmp.Or(q.Metric, "carbon"))
		both.figures(a, subject)
		all.parts(a, "jobs")
		idle.parts(a, "idle")
		l.sayBill(q, a, *all, *idle, both)
		return
	}
	l.billBy(q, a, both)
}

func (l *Log) sayBill(q ask.Query, a *Answer, jobs, idle, both sum) {
	_, asked := both.shown(q.Metric)
	if q.Metric != "" {
		a.say("%s %s in all.", asked, map[string]string{"carbon": "CO2e", "energy": "of energy", "cost": "for energy", "paid": "paid to sites for jobs"}[q.Metric])
	}
	a.say("%s, and took %s, %s CO2e and %s for energy.", jobs.counted(), kWh(jobs.bill.Energy), kg(jobs.bill.Carbon), format.FormatDollars(jobs.bill.Money))
	jobs.marked(a)
	if q.Tenant != "" {
		a.say("For its jobs %s was paid. Idle draw of the sites belongs to no tenant and is not counted.", format.FormatDollars(jobs.paid))
		return
	}
	a.say("Idle draw beside jobs took %s, %s and %s.", kWh(idle.bill.Energy), kg(idle.bill.Carbon), format.FormatDollars(idle.bill.Money))
	idle.marked(a)
	a.say("Together: %s, %s CO2e, %s. %s was paid for jobs.", kWh(both.bill.Energy), kg(both.bill.Carbon), format.FormatDollars(both.bill.Money), format.FormatDollars(jobs.paid))
}

// nobodys is the row of what sites drew beside jobs, in a bill by tenant. Its
// first byte keeps it apart from any tenant's name.
const nobodys = "\x00(idle draw of sites)"

// billBy lists a bill by site, tenant or hour; idle draw has no tenant.
func (l *Log) billBy(q ask.Query, a *Answer, all sum) {
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
	keys := sorted(by)
	if q.By != "hour" {
		slices.SortStableFunc(keys, func(x, y string) int {
			vx, _ := by[x].shown(q.Metric)
			vy, _ := by[y].shown(q.Metric)
			if x == nobodys || y == nobodys { // it is no tenant, and stands last
				if x == nobodys {
					return 1
				}
				return -1
			}
			if q.Pick == "least" {
				return cmp.Compare(vx, vy)
			}
			return cmp.Compare(vy, vx)
		})
	}
	total, inAll := all.shown(q.Metric)
	a.Table = &Table{Head: []string{q.By, "jobs", "kWh", "kg CO2e", "energy $"}}
	if q.Metric == "paid" {
		a.Table.Head = append(a.Table.Head, "paid $")
	}
	a.Table.Head = append(a.Table.Head, "share of "+cmp.Or(q.Metric, "cost"))
	for i, k := range keys {
		v, value := by[k].shown(q.Metric)
		shown := strings.TrimPrefix(k, "\x00")
		label := cmp.Or(name(shown), "(none)") // jobs need not say whose they are
		cells := []string{label, fmt.Sprint(by[k].jobs), kWh(by[k].bill.Energy), kg(by[k].bill.Carbon), format.FormatDollars(by[k].bill.Money)}
		if q.Metric == "paid" {
			cells = append(cells, value)
		}
		a.row(append(cells, a.percent(q.By+"/"+shown, "share", v, total))...)
		by[k].figures(a, q.By+"/"+shown)
		if i == 0 && q.Pick != "" {
			a.say("The %s of %s: %s, with %s.", q.Pick, cmp.Or(q.Metric, "cost"), label, value)
		}
	}
	if q.By != "hour" {
		a.Chart = a.bars("sites", cmp.Or(q.Metric, "cost")+" by "+q.By, cmp.Or(q.Metric, "cost"), q.By+"/")
	} else {
		a.Chart = hourly(a.Figures, cmp.Or(q.Metric, "cost"))
	}
	all.figures(a, "run")
	all.marked(a)
	switch {
	case q.Metric == "paid":
		a.say("In all: %s was paid to sites for jobs.", inAll)
	case q.Tenant != "":
		a.say("In all: %s of %s. Idle draw of the sites belongs to no tenant and is not counted.", inAll, cmp.Or(q.Metric, "cost"))
	default:
		a.say("In all: %s of %s, idle draw of the sites included.", inAll, cmp.Or(q.Metric, "cost"))
	}
	if q.By == "hour" {
		a.say("Jobs count in the hour in which they ended.")
	}
}

// top lists the jobs with the most of something.
func (l *Log) top(q ask.Query, a *Answer) {
	l.whole(q, a, "jobs count where they ended in that time; UTC")
	value := func(r history.JobRecord) (int64, string, string) {
		if q.Metric == "wait" {
			wait, _ := r.WaitTime()
			return wait.Milliseconds(), format.FormatDuration(wait), "ms"
		}
		v, shown := spent(r).shown(q.Metric)
		return v, shown, map[string]string{"carbon": "milligrams", "energy": "millijoules", "cost": "microdollars"}[q.Metric]
	}
	all := l.ended(q)
	slices.SortStableFunc(all, func(x, y history.JobRecord) int {
		vx, _, _ := value(x)
		vy, _, _ := value(y)
		return cmp.Or(cmp.Compare(vy, vx), cmp.Compare(x.Job.ID, y.Job.ID))
	})
	n := int(min(q.Number, int64(len(all)), 1000))
	a.say("%d of %s that ended, those with the most %s first.", n, format.CountWithNoun(len(all), "job", "jobs"), q.Metric)
	a.Table = &Table{Head: []string{"job", q.Metric, "tenant", "site", "decision"}}
	for _, r := range all[:n] {
		v, shown, unit := value(r)
		id := l.deciding(r)
		a.row(name(r.Job.ID), shown, name(r.Job.Tenant), name(r.Run.Site), cite(id))
		a.figure(ofJob(r.Job.ID), q.Metric, v, unit, cite(id))
		a.cite(id)
	}
	a.figure("run", "ended", int64(len(all)), "count")
	a.figure("run", "shown", int64(n), "count")
	a.Chart = a.bars("jobs", q.Metric+" of the first jobs", q.Metric, "job/")
}

// mix tells the carbon intensity of all energy used.
func (l *Log) mix(q ask.Query, a *Answer) {
	l.whole(q, a, "jobs count where they ended in that time, idle draw by its hours; UTC")
	all := new(sum)
	for _, x := range l.over(q) {
		all.add(x)
	}
	if idle := l.idleBy(q, func(string, protocol.Time) string { return "" })[""]; idle != nil {
		all.idle(idle.bill, idle.estimated)
	}
	a.Cites = all.ids
	if all.bill.Energy == 0 {
		a.say("No energy was used.")
		return
	}
	perKWh := protocol.Milligrams(float64(all.bill.Carbon)/all.bill.Energy.InKWh() + 0.5)
	a.say("%s: %s CO2e over %s, idle draw included.", grams(perKWh), kg(all.bill.Carbon), kWh(all.bill.Energy))
	all.marked(a)
	a.figure("run", "carbon-intensity", int64(perKWh), "milligrams-per-kwh", all.ids...)
	all.figures(a, "run")
}

func (l *Log) summary(q ask.Query, a *Answer) {
	l.bill(q, a)
	late := 0
	for _, r := range l.ended(q) {
		if r.EndedLate() {
			late++
		}
	}
	a.say("%s late.", format.CountWithNoun(late, "job was", "jobs were"))
	if s, ok := l.lateByNow(q); ok {
		a.tell(s)
	}
	rounds, decisions, kinds := 0, 0, make(map[string]int)
	for _, r := range l.book.RoundRecords() {
		if within(q, r.Called.At) {
			rounds++
		}
	}
	for _, d := range l.book.AllDecisions() {
		if within(q, d.At) {
			decisions++
			kinds[d.Kind]++
		}
	}
	a.say("The coordinator called %s and said %s: %s, %s and %s.", format.CountWithNoun(rounds, "round", "rounds"), format.CountWithNoun(decisions, "decision", "decisions"),
		format.CountWithNoun(kinds["award"], "award", "awards"), format.CountWithNoun(kinds["hold"], "hold", "holds"), format.CountWithNoun(kinds["refuse"], "refusal", "refusals"))
	for _, k := range []string{"award", "hold", "refuse"} {
		a.figure("run", k+"s", int64(kinds[k]), "count")
	}
	a.figure("run", "late", int64(late), "count")
	a.figure("run", "decisions", int64(decisions), "count")
	a.figure("run", "rounds", int64(rounds), "count")
}
