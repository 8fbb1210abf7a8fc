package query

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

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
	totalCost     = 1
	totalCarbon   = 2
	totalEnergy   = 3
	totalLate     = 4
	totalUnplaced = 5
)

// totalsCells returns the totals of a run: a cell for each of [totalsHead].
func totalsCells(subject string, t history.Totals) []Part {
	return []Part{
		withDecimals(valueOf(subject, "objective", protocol.Microdollars(math.Round(t.ObjectiveUSD*1e6))), 1e6, 2),
		withDecimals(valueOf(subject, "cost", protocol.Microdollars(math.Round(t.CostUSD*1e6))), 1e6, 2),
		withDecimals(valueOf(subject, "carbon", protocol.Milligrams(math.Round(t.CarbonKg*1e6))), 1e6, 1),
		withDecimals(valueOf(subject, "energy", protocol.Millijoules(math.Round(t.EnergyKWh*3.6e9))), 3.6e9, 1),
		valueOf(subject, "late", t.Late), valueOf(subject, "unplaced", t.Unplaced),
		valueOf(subject, "mean-wait", time.Duration(t.WaitS.Mean*float64(time.Second))),
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
	r.Chart = barChart("compare", "carbon of each run", figuresIn(x[totalCarbon], y[totalCarbon]))
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
	d := DayChange{Down: q.Site, Drained: q.Ask == "day-drained", From: q.From, To: q.To, Carbon: -1}
	during := func(what string) Sentence {
		return newSentence("with %s "+what+" from %s to %s", namePart(q.Site), valueOf("run", "from", q.From), valueOf("run", "to", q.To))
	}
	label, after := newSentence("without %s", namePart(q.Site)), "A site that is away draws nothing, idle or not."
	switch {
	case d.Drained:
		if label = newSentence("with %s drained throughout", namePart(q.Site)); q.To != 0 {
			label = during("drained")
		}
		after = "A drained site gets no more jobs and finishes what it has. Figures are of the whole run."
		r.addAssumption("the site takes no new jobs in that time, and finishes those that it has; figures are of the whole run")
	case l.isPartOfRun(q):
		label, after = during("down"), "What ran there when it went down was lost. Figures are of the whole run."
		r.addAssumption("the site is down in that time alone; figures are of the whole run")
	default:
		d.From, d.To = 0, 0
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
	r, m := l.resultAndCase(q)
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
	if free.HasEnded() && was.HasEnded() {
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
	by := valueOf("run", what+"-change", protocol.Milli(math.Round(1000*(now/was-1))))
	return formattedFigure{by, func(v int64) string { return fmt.Sprintf("%+.1f %%", float64(v)/10) }}
}

// answerPolicies compares the totals of policies over the same jobs.
func (l *Dataset) answerPolicies(q ask.Query) (r Result) {
	if q.To != 0 && !r.coversWholeRun(l, q) {
		return r
	}
	if len(q.Policies) == 1 && q.Policies[0] != "auction" && q.Metric != "late" && q.Metric != "wait" {
		q.Policies = append([]string{"auction"}, q.Policies...) // to compare it with
	}
	all, ok := r.totalsOf(l, q.Policies)
	if !ok {
		return r
	}
	r.Head = append([]string{"policy"}, slices.Delete(slices.Clone(totalsHead), totalUnplaced, totalUnplaced+1)...)
	var drawn []Figure
	for _, t := range all {
		cells := totalsCells("policy/"+t.Policy, t)
		drawn = append(drawn, figuresIn(cells[totalCarbon])...)
		r.addRow(append([]Part{namePart(t.Policy)}, slices.Delete(cells, totalUnplaced, totalUnplaced+1)...)...)
	}
	r.Chart = barChart("compare", "carbon of each policy", drawn)
	if q.Metric != "" {
		r.describeMetric(q, all)
	}
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

// describeMetric says the one metric that a question about policies asks for, of each.
func (r *Result) describeMetric(q ask.Query, all []history.Totals) {
	for _, t := range all {
		subject := "policy/" + t.Policy
		switch cells := totalsCells(subject, t); q.Metric {
		case "wait":
			seconds := func(what string, s history.Spread) Part {
				return valueOf(subject, what, time.Duration(s.Mean*float64(time.Second)))
			}
			r.addSentence("Under %s jobs waited %s on average: those that may be deferred %s, the others %s.", namePart(t.Policy),
				cells[len(cells)-1], seconds("mean-wait-deferrable", t.WaitDeferrableS), seconds("mean-wait-urgent", t.WaitUrgentS))
		case "late":
			r.addSentence("Under %s %s late, of %s.", namePart(t.Policy), countedPart(valueOf(subject, "late", t.Late), "job was", "jobs were"), valueOf(subject, "jobs", t.Jobs))
		case "carbon", "energy", "cost":
			at := map[string]int{"cost": totalCost, "carbon": totalCarbon, "energy": totalEnergy}[q.Metric]
			r.addSentence("Under %s: %s %s.", namePart(t.Policy), cells[at], plainText(map[string]string{"cost": "dollars for energy", "carbon": "kg CO2e", "energy": "kWh"}[q.Metric]))
		}
	}
}

// objectiveTerms are the terms of which the objective of a run is the sum.
var objectiveTerms = []struct {
	name string
	of   func(history.Totals) float64
}{
	{"energy", func(t history.Totals) float64 { return t.CostUSD }}, {"carbon", func(t history.Totals) float64 { return t.CarbonUSD }},
	{"transfer", func(t history.Totals) float64 { return t.TransferUSD }}, {"waiting", func(t history.Totals) float64 { return t.DelayUSD }},
	{"lateness", func(t history.Totals) float64 { return t.LateUSD }},
}

// answerPolicyWhy says by which terms of the objective one policy is better than another.
func (l *Dataset) answerPolicyWhy(q ask.Query) (r Result) {
	if len(q.Policies) != 2 || q.To != 0 && !r.coversWholeRun(l, q) {
		if len(q.Policies) != 2 {
			r.Kind = "ambiguous"
			r.addSentence("Two policies are compared: name both.")
		}
		return r
	}
	all, ok := r.totalsOf(l, q.Policies)
	if !ok {
		return r
	}
	dollars := func(subject, what string, v float64) Figure {
		return valueOf(subject, what, protocol.Microdollars(math.Round(v*1e6)))
	}
	x, y := all[0], all[1]
	gap := dollars("run", "objective-difference", x.ObjectiveUSD-y.ObjectiveUSD)
	word := func(f Figure) plainText { return map[bool]plainText{true: "more", false: "less"}[f.Value > 0] }
	switch nameX, nameY := namePart(x.Policy), namePart(y.Policy); {
	case gap.Value < 0:
		r.addSentence("%s is better by the objective: %s less than %s.", nameX, withoutSign(gap), nameY)
	case gap.Value > 0:
		r.addSentence("It is not: by the objective %s has %s more than %s.", nameX, gap, nameY)
	default:
		r.addSentence("Neither is better: %s and %s have the same objective.", nameX, nameY)
	}
	r.Head = []string{"term, $", x.Policy, y.Policy, "difference"}
	var terms []Part
	for _, term := range objectiveTerms {
		fx, fy := dollars("policy/"+x.Policy, term.name, term.of(x)), dollars("policy/"+y.Policy, term.name, term.of(y))
		by := dollars("run", term.name+"-difference", term.of(x)-term.of(y))
		r.addRow(plainText(term.name), fx, fy, by)
		if by.Value != 0 {
			terms = append(terms, newSentence("%s %s for %s", withoutSign(by), word(by), plainText(term.name)))
		}
	}
	r.addRow(plainText("objective"), dollars("policy/"+x.Policy, "objective", x.ObjectiveUSD), dollars("policy/"+y.Policy, "objective", y.ObjectiveUSD), gap)
	if len(terms) > 0 {
		r.addSentence("Under %s it is %s.", namePart(x.Policy), partList(terms))
	}
	r.describeMetric(ask.Query{Metric: "wait"}, all)
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
