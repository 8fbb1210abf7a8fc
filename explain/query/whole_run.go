package query

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
)

// aboutReplays are the questions that replay the whole run with one change.
var aboutReplays = map[string]evaluator{
	"day-without": (*Dataset).answerDayWithout, "day-carbon": (*Dataset).answerDayCarbon, "unbound": (*Dataset).answerUnbound, "policies": (*Dataset).answerPolicies,
}

// replayWith replays the whole run without and then with a change. If that fails, the result
// is a refusal that says why.
func (r *Result) replayWith(l *Dataset, d DayChange, what Part) (as, now DayReplay, ok bool) {
	if err := l.replayUnchanged(); err != nil {
		r.refuseBecause("That takes another replay of the whole run, which cannot be had: %s.", recordedText(err.Error()))
		return as, now, false
	}
	now, err := l.setup.Replay(d)
	if err != nil {
		r.refuseBecause("The replay with that change failed: %s.", recordedText(err.Error()))
		return as, now, false
	}
	as = *l.unchanged
	r.addSentence("The run was replayed unchanged first, and each of its %s ran as the ledger says. Then it was replayed %s: sites and coordinator decided afresh.",
		countedPart(valueOf("run", "jobs", len(as.History.JobIDs())), "job", "jobs"), what)
	return as, now, true
}

// refuseBecause makes the result a refusal with a reason.
func (r *Result) refuseBecause(form string, parts ...Part) {
	r.Kind = "refused"
	r.addSentence(form, parts...)
}

// totalsHead names the cells that [totalsCells] returns; the constants below are indexes.
var totalsHead = []string{"objective $", "cost $", "carbon kg", "energy kWh", "late", "unplaced", "mean wait"}

const (
	totalCarbon   = 2
	totalLate     = 4
	totalUnplaced = 5
)

// totalsCells returns the totals of a run: a cell for each of [totalsHead].
func totalsCells(subject string, t history.Totals) []Part {
	of := func(what string, value float64, unit string) Figure {
		return Figure{subject, what, int64(math.Round(value)), unit, nil}
	}
	return []Part{
		withDecimals(of("objective", t.ObjectiveUSD*1e6, "microdollars"), 1e6, 2), withDecimals(of("cost", t.CostUSD*1e6, "microdollars"), 1e6, 2),
		withDecimals(of("carbon", t.CarbonKg*1e6, "milligrams"), 1e6, 1), withDecimals(of("energy", t.EnergyKWh*3.6e9, "millijoules"), 3.6e9, 1),
		of("late", float64(t.Late), "count"), of("unplaced", float64(t.Unplaced), "count"),
		of("mean-wait", float64(time.Duration(t.WaitS.Mean*float64(time.Second)).Milliseconds()), "ms"),
	}
}

// withDecimals shows a figure divided by per, with that many decimal places.
func withDecimals(f Figure, per float64, places int) Part {
	return formattedFigure{f, func(v int64) string { return strconv.FormatFloat(float64(v)/per, 'f', places, 64) }}
}

// listBoth lists two runs side by side, and returns the totals of both.
func (r *Result) listBoth(was, now history.Totals, label Part) (x, y []Part) {
	x, y = totalsCells("run/as recorded", was), totalsCells("run/"+label.renderText(), now)
	r.Head = append([]string{"run"}, totalsHead...)
	r.addRow(append([]Part{plainText("as recorded")}, x...)...)
	r.addRow(append([]Part{label}, y...)...)
	r.Chart = barChart("compare", "carbon of each run", partList{x[totalCarbon], y[totalCarbon]}.citedFigures())
	return x, y
}

// isPartOfRun reports whether a query has a window that is not the whole record.
func (l *Dataset) isPartOfRun(q ask.Query) bool {
	return q.To != 0 && (q.From > l.firstTime() || q.To <= l.lastTime())
}

// coversWholeRun reports whether a what-if about the whole run answers the query. A window in
// which every job was submitted counts as the run. For any other window the result offers
// the question about the whole run.
func (r *Result) coversWholeRun(l *Dataset, q ask.Query) bool {
	if !l.isPartOfRun(q) {
		r.addAssumption("the whole run")
		return true
	}
	for _, rec := range l.allInstances() {
		if !inWindow(ask.Query{From: q.From, To: q.To}, rec.Job.Arrival) {
			q.At, q.From, q.To = 0, 0, 0
			r.Kind, r.Readings = "ambiguous", []string{q.String()}
			r.addSentence("That change is played for a whole run only, from %s to %s, and the question is about a part of it. For the whole run it would be:", firstTimeFigure(l), lastTimeFigure(l))
			return false
		}
	}
	r.addAssumption("the whole run: every job was submitted in that time, and figures are of all of them")
	return true
}

// answerDayWithout replays the run without a site, or with it dark in a window.
func (l *Dataset) answerDayWithout(q ask.Query) (r Result) {
	d, label := DayChange{Down: q.Site, Carbon: -1}, newSentence("without %s", namePart(q.Site))
	after := "A site that is away draws nothing, idle or not."
	if l.isPartOfRun(q) {
		d.From, d.To = q.From, q.To
		label = newSentence("with %s down from %s to %s", namePart(q.Site), valueOf("run", "from", q.From), valueOf("run", "to", q.To))
		after = "What ran there when it went down was lost. Figures are of the whole run."
		r.addAssumption("the site is down in that time alone; figures are of the whole run")
	} else {
		r.addAssumption("the site is away in the whole run")
	}
	if as, now, ok := r.replayWith(l, d, label); ok {
		x, y := r.listBoth(as.Totals, now.Totals, label)
		r.addSentence("Carbon %s, cost %s; %s jobs late against %s, %s without a place against %s. "+after, changePart("carbon", now.Totals.CarbonKg, as.Totals.CarbonKg),
			changePart("cost", now.Totals.CostUSD, as.Totals.CostUSD), y[totalLate], x[totalLate], y[totalUnplaced], x[totalUnplaced])
	}
	return r
}

// answerDayCarbon replays the run at another price of carbon.
func (l *Dataset) answerDayCarbon(q ask.Query) (r Result) {
	if r.refuseHighPrice(q) || !r.coversWholeRun(l, q) {
		return r
	}
	label := newSentence("at $%s per tonne", priceAsked(q))
	if as, now, ok := r.replayWith(l, DayChange{Carbon: q.Number}, label); ok {
		r.listBoth(as.Totals, now.Totals, label)
		r.addSentence("Carbon %s, cost of energy %s. The objective counts carbon at another price, so objectives are not to be compared.",
			changePart("carbon", now.Totals.CarbonKg, as.Totals.CarbonKg), changePart("cost", now.Totals.CostUSD, as.Totals.CostUSD))
	}
	return r
}

// answerUnbound replays the run with one job's data free to go anywhere.
func (l *Dataset) answerUnbound(q ask.Query) (r Result) {
	m := l.caseOf(q)
	r.citeDecision(m.decision)
	id := m.job.Job.ID
	if len(m.job.Job.Regions) == 0 {
		r.addSentence("No residency rule binds job %s: its data may be anywhere, so nothing would change.", namePart(id))
		return r
	}
	as, now, ok := r.replayWith(l, DayChange{Free: id, Carbon: -1}, newSentence("with the data of job %s free to go anywhere", namePart(id)))
	if !ok {
		return r
	}
	free, _ := now.History.LatestJob(id)
	was, _ := as.History.LatestJob(id)
	verdict := newSentence("It")
	switch {
	case q.Site != "" && siteOfRun(free) == q.Site:
		verdict = newSentence("At %s: it", namePart(q.Site))
	case q.Site != "":
		verdict = newSentence("Not at %s: it", namePart(q.Site))
	}
	if siteOfRun(free) == "" {
		r.addSentence("%s would not have run.", verdict)
		return r
	}
	started := valueOf(jobSubject(id), "started", free.Run.Started)
	if was.Run == nil { // it may be for its rule that it found no place
		r.addSentence("%s would have run at %s from %s; as recorded it does not run.", verdict, namePart(siteOfRun(free)), started)
		return r
	}
	r.addSentence("%s would have run at %s from %s, as against %s from %s.", verdict, namePart(siteOfRun(free)), started,
		namePart(siteOfRun(was)), jobValue(m, "started-as-recorded", was.Run.Started))
	if free.State == history.Ended && was.State == history.Ended {
		x, y, job := usageOf(free), usageOf(was), jobSubject(id)
		r.addSentence("It would have taken %s of carbon against %s, and %s of energy against %s.", x.figureOf(job, "carbon"), y.figureOf(job, "carbon"), x.figureOf(job, "cost"), y.figureOf(job, "cost"))
		r.addFigures(append(x.allFigures(job), y.allFigures(job)...)...)
		r.addFigures(jobValue(m, "carbon-difference", x.bill.Carbon-y.bill.Carbon), jobValue(m, "cost-difference", x.bill.Money-y.bill.Money))
	}
	return r
}

// changePart returns the relative change from was to now: "+3.1 %". It is not defined if was
// is zero or negative, as a cost is under negative prices.
func changePart(what string, now, was float64) Part {
	if was <= 0 {
		return plainText("not comparable")
	}
	by := runFigure(what+"-change", int64(math.Round(1000*(now/was-1))), "thousandths")
	return formattedFigure{by, func(v int64) string { return fmt.Sprintf("%+.1f %%", float64(v)/10) }}
}

// answerPolicies compares the totals of policies over the same jobs.
func (l *Dataset) answerPolicies(q ask.Query) (r Result) {
	if q.To != 0 && !r.coversWholeRun(l, q) {
		return r
	}
	all, ok := r.totalsOf(l, q.Policies)
	if !ok {
		return r
	}
	r.Head = append([]string{"policy"}, slices.Delete(slices.Clone(totalsHead), totalUnplaced, totalUnplaced+1)...)
	var drawn []Figure
	for _, t := range all {
		cells := totalsCells("policy/"+t.Policy, t)
		drawn = append(drawn, cells[totalCarbon].citedFigures()...)
		r.addRow(append([]Part{namePart(t.Policy)}, slices.Delete(cells, totalUnplaced, totalUnplaced+1)...)...)
	}
	r.Chart = barChart("compare", "carbon of each policy", drawn)
	switch len(all) {
	case 0:
		r.Kind = "absent"
		r.addSentence("The totals of a replay are not at hand. `gridbid replay --policy auction,home-fifo` writes them beside the ledgers.")
	case 1:
		r.addSentence("One policy; idle draw of the sites is included. To compare, replay several: `gridbid replay --policy auction,home-fifo`.")
	default:
		r.addSentence("The same jobs under each policy; idle draw of the sites is included.")
		if slices.ContainsFunc(all, func(t history.Totals) bool { return !t.HasDefaultKnowledge() }) {
			r.addSentence("After a slash stands what sites knew ahead of time, where it was not the usual.")
		}
	}
	return r
}

// totalsOf returns the totals of the policies that a question names, replaying
// those that were not replayed yet.
func (r *Result) totalsOf(l *Dataset, names []string) (all []history.Totals, ok bool) {
	if len(names) == 0 {
		return l.totals, true
	}
	for _, n := range names {
		if i := slices.IndexFunc(l.totals, func(t history.Totals) bool { return t.Policy == n }); i >= 0 {
			all = append(all, l.totals[i])
			continue
		}
		_, now, ok := r.replayWith(l, DayChange{Policy: n, Carbon: -1}, newSentence("under policy %s", namePart(n)))
		if !ok {
			return nil, false
		}
		all = append(all, now.Totals)
	}
	return all, true
}
