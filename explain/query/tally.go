package query

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// A group is what one or two splits of a query tell apart: sites, tenants or hours. A name that no
// site and no tenant has begins with [nameless].
type group [2]string

// nameless begins the names of groups that are neither a site's nor a tenant's.
const nameless = "\x00"

// Groups of what has no site or no tenant.
const (
	nobody   = nameless + "(none)"
	idleDraw = nameless + "(idle draw of sites)"
)

// A groupTally is what one group of a split has.
type groupTally struct {
	usage  usageSum
	jobs   int
	values []Figure // of a measure, sorted
}

// tallyOf returns the values of those of some jobs that have one.
func tallyOf(l *Dataset, q ask.Query, jobs []history.JobRecord) (t groupTally) {
	for _, r := range jobs {
		t.addMeasured(l, q, r)
	}
	return t
}

// meanWait returns the mean wait of those of some jobs that started; a dash if none did.
func (l *Dataset) meanWait(jobs []history.JobRecord, subject string) Part {
	q := ask.Query{Metric: "wait", Statistic: "mean"}
	if t := tallyOf(l, q, jobs); len(t.values) > 0 {
		return t.statistic(q, subject)
	}
	return plainText("–")
}

// addMeasured adds the value of a job.
func (t *groupTally) addMeasured(l *Dataset, q ask.Query, r history.JobRecord) {
	t.jobs++
	if q.Metric != "" {
		if f, ok := l.boundedQuantity(ask.Query{Bounded: q.Metric}, r); ok {
			t.values = append(t.values, f)
		}
	}
	if q.Per != "" {
		t.usage.addSum(usageOf(r))
	}
}

// statistic returns a statistic of the values.
func (t *groupTally) statistic(q ask.Query, subject string) Figure {
	slices.SortStableFunc(t.values, func(x, y Figure) int { return cmp.Compare(x.Value, y.Value) })
	f, n := Figure{subject, q.Statistic + "-" + q.Metric, 0, "", nil}, int64(len(t.values))
	for _, v := range t.values {
		f.Value, f.Unit = f.Value+v.Value, v.Unit
	}
	percent := map[string]int64{"median": 50, "p95": 95}[q.Statistic]
	switch {
	case n == 0:
		f.Unit = quantityUnits[q.Metric]
	case q.Statistic == "longest":
		f.Value = t.values[n-1].Value
	case q.Statistic == "mean":
		f.Value = (2*f.Value + n) / (2 * n)
	case percent > 0: // the nearest rank: the smallest value that so many per cent do not exceed
		f.Value = t.values[max(0, (n*percent+99)/100-1)].Value
	}
	return f
}

// quantityUnits are the units of the figures of a quantity of jobs.
var quantityUnits = map[string]string{"wait": "ms", "run": "ms", "slack": "ms", "lateness": "ms", "carbon": "milligrams", "energy": "millijoules", "cost": "microdollars", "paid": "microdollars", "gpus": "thousandths", "slowdown": "thousandths", "gpu-hours": "gpu-ms", "times-held": "count"}

// groupOf returns the group of a query's splits that something belongs to.
func groupOf(q ask.Query, tenant, site string, at protocol.Time) (key group) {
	for i, by := range []string{q.By, q.Then} {
		key[i] = map[string]string{"site": cmp.Or(site, nobody), "tenant": cmp.Or(tenant, nobody), "hour": at.Floor(time.Hour).String()}[by]
	}
	return key
}

// subjectIn returns what the figures of a group are about: "site/oslo".
func (g group) subjectIn(q ask.Query) string {
	return strings.ReplaceAll(strings.TrimSuffix(q.By+"/"+g[0]+"/"+g[1], "/"), nameless, "")
}

// groupName returns the name of a site, a tenant or an hour of a group.
func groupName(name string) Part { return namePart(strings.TrimPrefix(name, nameless)) }

// tallyGroups adds up what a query asks, for each group of its splits.
func (l *Dataset) tallyGroups(q ask.Query) map[group]*groupTally {
	all := make(map[group]*groupTally)
	of := func(tenant, site string, at protocol.Time) *groupTally {
		return entryOf(all, groupOf(q, tenant, site, at))
	}
	switch q.Ask {
	case "pending":
		at := cmp.Or(q.At, l.lastTime())
		for _, r := range l.pendingJobs(q, at) {
			of(r.Job.Tenant, l.givenTo(r, at), r.Job.Arrival).jobs++
		}
	case "measure":
		if q.IsOfDecisions() {
			for _, d := range l.measuredDecisions(q) {
				of(l.jobOfDecision(d).Job.Tenant, d.Site, d.At).jobs++
			}
			break
		}
		for _, r := range l.measuredJobs(q) {
			key := groupOf(q, r.Job.Tenant, l.siteInState(q, r), l.timeOfEvent(q, r))
			for i, by := range []string{q.By, q.Then} {
				if name, ok := map[string]string{"model": modelOf(r), "urgency": r.Job.Urgency.String(), "home": r.Job.Home, "gpus": format.FormatThousandths(r.Job.TotalGPUMilli())}[by]; ok {
					key[i] = cmp.Or(name, nobody)
				} else if opposite := ask.OppositeOf[by]; opposite != "" {
					key[i] = nobody
					for _, condition := range []string{by, opposite} {
						if l.meetsCondition(q, condition, r) {
							key[i] = condition
						}
					}
				}
			}
			entryOf(all, key).addMeasured(l, q, r)
		}
	default: // a bill
		for _, x := range l.segmentsIn(q) {
			of(x.Job.Tenant, x.Run.Site, x.Run.Ended).usage.addSegment(x)
		}
		for site, m := range l.idleIn(q) {
			of(idleDraw, site, m.Hour).usage.addDraw(m.Idle, m.Estimated)
		}
	}
	maps.DeleteFunc(all, func(_ group, t *groupTally) bool { return t.divisor(q.Per) <= 0 }) // "per GPU-hour" of jobs without GPUs
	return all
}

// figureFor returns what a query asks of a group, or of all.
func (t *groupTally) figureFor(q ask.Query, subject string) Figure {
	switch q.Ask {
	case "bill":
		return t.ratio(t.usage.figureOf(subject, cmp.Or(q.Metric, "cost")), q.Per)
	case "measure":
		if q.Metric != "" {
			return t.ratio(t.statistic(q, subject), q.Per)
		} else if q.IsOfDecisions() {
			return valueOf(subject, q.Event, t.jobs)
		}
	}
	return valueOf(subject, "jobs", t.jobs)
}

// divisor is how much a group has of what a query says that a sum is per.
func (t *groupTally) divisor(per string) float64 {
	return map[string]float64{"": 1, "job": float64(t.usage.jobs), "gpu-hour": float64(t.usage.held) / 3.6e9, "kwh": t.usage.bill.Energy.InKWh(), "dollar": float64(t.usage.bill.Money) / 1e6}[per]
}

// ratio divides a figure by that; it is 0 where there is none.
func (t *groupTally) ratio(f Figure, per string) Figure {
	if per == "" {
		return f
	}
	if f.Name += "-per-" + per; t.divisor(per) <= 0 {
		f.Value = 0
	} else {
		f.Value = int64(float64(f.Value)/t.divisor(per) + 0.5)
	}
	if per == "kwh" && f.Unit == "milligrams" {
		f.Unit = "milligrams-per-kwh"
	}
	return f
}

// sortedGroups returns the groups by name.
func sortedGroups(all map[group]*groupTally) []group {
	return slices.SortedFunc(maps.Keys(all), compareGroups)
}

func compareGroups(a, b group) int { return slices.Compare(a[:], b[:]) }

// sumGroups returns what all groups have together.
func sumGroups(all map[group]*groupTally) *groupTally {
	sum := new(groupTally)
	for _, k := range sortedGroups(all) {
		sum.jobs += all[k].jobs
		sum.usage.addSum(all[k].usage)
		sum.values = append(sum.values, all[k].values...)
	}
	return sum
}

// tallyNoun words what a tally is of.
func tallyNoun(q ask.Query) string {
	switch q.Ask {
	case "bill":
		return strings.TrimSpace(strings.TrimSuffix(q.Only, "jobs")+" "+cmp.Or(q.Metric, "cost")) + perWords(q.Per)
	case "pending":
		return "waiting jobs"
	}
	if q.IsOfDecisions() {
		return q.Event
	}
	if q.Metric != "" {
		return strings.TrimSpace(strings.Join(q.Where, " ")+" "+strings.Replace(q.Statistic, "mean", "average", 1)) + " " + q.Metric + perWords(q.Per)
	}
	return strings.TrimSpace(strings.Join(append([]string{q.State}, q.Where...), " ") + " jobs")
}

// perWords words what a sum is divided by.
func perWords(per string) string {
	if per == "" {
		return ""
	}
	return " per " + strings.NewReplacer("gpu-hour", "GPU-hour", "kwh", "kWh").Replace(per)
}

// needsTally reports whether the operators of a query ask for groups, a ratio or a comparison.
func needsTally(q ask.Query) bool {
	split := q.By != "" && (q.Ask == "measure" || q.Ask == "pending")
	return q.Then != "" || q.Per != "" || q.Against != "" && listedSites[q.Ask] == 0 || q.Pick == "share" || split || q.Bound != "" && q.Bounded == "" && listedSites[q.Ask] == 0 && !strings.HasSuffix(q.Ask, "-hours")
}

// answerTally answers a query with such operators.
func (l *Dataset) answerTally(q ask.Query) (r Result) {
	switch q.Ask {
	case "pending":
		r.instantOf(l, q)
	case "measure":
		r.assumeMeasure(l, q)
	default:
		r.assumeWindow(l, q, "jobs count where they ended in that time, idle draw by its hours; UTC")
	}
	if q.Ask == "bill" && (q.Per == "job" || q.Per == "gpu-hour") {
		r.addAssumption("of jobs alone, without idle draw")
	}
	switch {
	case q.Against != "":
		r.compareTwo(l, q)
	case q.Pick == "share" && q.By == "" && (q.Site+q.Tenant+q.Only != "" || q.Ask == "measure"):
		r.shareOfWhole(l, q)
	case q.By == "" && q.Pick == "share":
		q.By = "site"
		fallthrough
	case q.By != "":
		groups := l.tallyGroups(q)
		sum := sumGroups(groups)
		r.listGroups(q, groups, sum)
		r.addSentence("In all: %s.", sum.figureFor(q, "run"))
		if q.Ask == "measure" && q.Metric == "" && q.By == "hour" && q.Then == "" && len(groups) > 0 {
			r.addSentence("On average %s in each of %s that had some.", Figure{"run", "mean", int64(sum.jobs) * 1000 / int64(len(groups)), "thousandths", nil}, countedPart(valueOf("run", "hours", len(groups)), "hour", "hours"))
		}
	case q.Bound != "":
		sum, not := sumGroups(l.tallyGroups(q)).figureFor(q, subjectOf(q)), plainText("")
		if !meetsBound(q, sum.Value) {
			not = "not "
		}
		r.addSentence("%s: %s, which is %s%s.", plainText(tallyNoun(q)), sum, not, boundText(q))
	default:
		r.addSentence("%s: %s.", plainText(tallyNoun(q)), sumGroups(l.tallyGroups(q)).figureFor(q, subjectOf(q)))
	}
	return r
}

// compareSummaries compares two sites or two tenants by the main measures of their jobs.
func (r *Result) compareSummaries(l *Dataset, kind string, q, other ask.Query) {
	r.Head = []string{kind, "jobs", "late", "mean wait", "GPU-hours", "energy", "carbon", "cost of energy", "paid"}
	var counts []Part
	for _, of := range []ask.Query{q, other} {
		jobs, subject := l.measuredJobs(of), subjectOf(of)
		counts = append(counts, namePart(cmp.Or(of.Site, of.Tenant)), countedPart(valueOf(subject, "jobs", len(jobs)), "job", "jobs"))
		cells := []Part{namePart(cmp.Or(of.Site, of.Tenant)), valueOf(subject, "jobs", len(jobs)), valueOf(subject, "late", countLate(jobs)), l.meanWait(jobs, subject)}
		for _, metric := range []string{"gpu-hours", "energy", "carbon", "cost", "paid"} {
			m := ask.Query{Metric: metric, Statistic: "total"}
			t := tallyOf(l, m, jobs)
			cells = append(cells, t.statistic(m, subject))
		}
		r.addRow(cells...)
	}
	r.addSentence("%s had %s, %s had %s; by the main measures:", counts...)
}

// compareTwo compares two sites or two tenants.
func (r *Result) compareTwo(l *Dataset, q ask.Query) {
	other, kind := q, "site"
	if q.Site != "" {
		other.Site = q.Against
	} else {
		kind, other.Tenant = "tenant", q.Against
	}
	q.Against, other.Against = "", ""
	if q.Statistic == "summary" {
		r.compareSummaries(l, kind, q, other)
		return
	}
	x, y := sumGroups(l.tallyGroups(q)), sumGroups(l.tallyGroups(other))
	fx, fy := x.figureFor(q, subjectOf(q)), y.figureFor(other, subjectOf(other))
	first, second := namePart(cmp.Or(q.Site, q.Tenant)), namePart(cmp.Or(other.Site, other.Tenant))
	r.Head = []string{kind, tallyNoun(q)}
	r.addRow(first, fx)
	r.addRow(second, fy)
	r.compareFigures(first, second, fx, fy)
	if q.Ask == "bill" && q.Metric == "" {
		r.addFigures(append(x.usage.allFigures(subjectOf(q)), y.usage.allFigures(subjectOf(other))...)...)
	}
	r.Chart = barChart("compare", tallyNoun(q)+" of both", []Figure{fx, fy})
}

// differenceOf returns which of two has more, which less, and by how much.
func differenceOf(a, b Part, x, y Figure) (more, less Part, by Figure) {
	if x.Value < y.Value {
		a, b, x, y = b, a, y, x
	}
	return a, b, Figure{"run", "difference", x.Value - y.Value, x.Unit, nil}
}

// compareFigures says how much more one has than the other.
func (r *Result) compareFigures(a, b Part, x, y Figure) {
	more, less, by := differenceOf(a, b, x, y)
	switch low := min(x.Value, y.Value); {
	case by.Value == 0:
		r.addSentence("%s and %s have the same, %s.", a, b, x)
		r.addFigures(by)
	case low > 0:
		r.addSentence("%s has %s more than %s, which is %s more.", more, by, less, percentPart("run", "difference-share", by.Value, low))
	default:
		r.addSentence("%s has %s more than %s.", more, by, less)
	}
}

// shareOfWhole says which part of the whole a site or a tenant has, or which part of the jobs was late.
func (r *Result) shareOfWhole(l *Dataset, q ask.Query) {
	part := sumGroups(l.tallyGroups(q)).figureFor(q, subjectOf(q))
	all := q
	whole, noun := Figure{}, Part(nil)
	if conditions := q.Bounded != "" || len(q.Where) > 0; q.Ask == "measure" {
		all.Bounded, all.Bound, all.Amount, all.Where, all.Pick = "", "", "", nil, ""
		if !conditions || q.Home != "" {
			all.Site, all.Tenant, all.Model = "", "", ""
		}
		whole, noun = sumGroups(l.tallyGroups(all)).figureFor(all, "whole"), newSentence("the %s%s", plainText(tallyNoun(all)), describeJobs(all))
	} else {
		if all.Only = ""; q.Only == "" {
			all.Site, all.Tenant = "", ""
		}
		noun = plainText("the " + tallyNoun(all))
		whole = sumGroups(l.tallyGroups(all)).figureFor(all, "run")
	}
	r.addSentence("%s of %s: %s of %s.", part, whole, percentPart(subjectOf(q), "share", part.Value, whole.Value), noun)
}

// mostGroups bounds the groups of a tally that are shown. A bill in full shows all.
const mostGroups = 100

// listGroups lists the groups of a query's splits, with the part that each has of a sum: of a bill that is
// split once all that a group used, and otherwise the figure that is asked for.
func (r *Result) listGroups(q ask.Query, all map[group]*groupTally, sum *groupTally) {
	full, bounded, metric := !needsTally(q), q.Bound != "" && q.Bounded == "", cmp.Or(q.Metric, "cost")
	figure := func(k group) Figure { return all[k].figureFor(q, k.subjectIn(q)) }
	keys := sortedGroups(all)
	if q.Pick != "" || q.By != "hour" && q.Then == "" {
		slices.SortStableFunc(keys, func(a, b group) int {
			x, y := figure(a).Value, figure(b).Value
			switch {
			case a[0] == idleDraw && b[0] != idleDraw: // it belongs to no tenant, and comes last
				return 1
			case b[0] == idleDraw && a[0] != idleDraw:
				return -1
			case q.Pick == "least":
				return cmp.Compare(x, y)
			}
			return cmp.Compare(y, x)
		})
	}
	before := len(keys)
	if bounded {
		keys = slices.DeleteFunc(keys, func(k group) bool { return !meetsBound(q, figure(k).Value) })
	}
	if q.Number != 0 {
		keys = keys[:min(len(keys), int(min(q.Number, mostGroups)))]
	}
	measured := q.Ask == "measure" && q.Metric != ""
	columns, share, adds := []string{tallyNoun(q)}, "share", q.Per == "" && (q.Statistic == "" || q.Statistic == "total")
	if full {
		columns, share = []string{"jobs", "kWh", "kg CO2e", "energy $"}, "share of "+metric
		if metric == "paid" {
			columns = append(columns, "paid $")
		}
	}
	if adds {
		columns = append(columns, share)
	}
	if measured {
		columns = append(columns, "jobs")
	}
	r.Head = append(slices.DeleteFunc([]string{q.By, q.Then}, func(by string) bool { return by == "" }), columns...)
	whole := sum.figureFor(q, "run").Value
	var drawn []Figure
	for i, k := range keys {
		f, subject, usage := figure(k), k.subjectIn(q), all[k].usage
		drawn = append(drawn, f)
		if i >= mostGroups && !full {
			r.addFigures(f)
			continue
		}
		cells := []Part{groupName(k[0])}
		if q.Then != "" {
			cells = append(cells, groupName(k[1]))
		}
		if full {
			cells = append(append(cells, usage.jobCount(subject)), usage.usageParts(subject)...)
			r.addFigures(usage.allFigures(subject)...)
		}
		if !full || metric == "paid" {
			cells = append(cells, f)
		}
		if adds {
			cells = append(cells, percentPart(subject, "share", f.Value, whole))
		}
		if measured {
			cells = append(cells, valueOf(subject, "jobs", all[k].jobs))
		}
		r.addRow(cells...)
	}
	if q.Then == "" {
		r.Chart = barChart("sites", tallyNoun(q)+" by "+q.By, drawn)
	}
	if full && q.By == "hour" {
		r.Chart = hourChart(all, metric)
	}
	switch {
	case bounded:
		r.addSentence("%s of %s: %s %s.", valueOf("run", "groups", len(keys)), countedPart(valueOf("run", "groups-in-all", before), "group", "groups"), plainText(tallyNoun(q)), boundText(q))
	case len(keys) > 0 && full && q.Pick != "":
		r.addSentence("The %s of %s: %s, with %s.", plainText(q.Pick), plainText(metric), groupName(keys[0][0]), drawn[0])
	case len(keys) > 0 && (q.Pick == "most" || q.Pick == "least"):
		r.addSentence("The %s: %s, with %s.", plainText(q.Pick), groupName(keys[0][0]), drawn[0])
	}
	if len(keys) > mostGroups && !full {
		r.addSentence("The first %s are shown.", valueOf("run", "shown", mostGroups))
	}
}
