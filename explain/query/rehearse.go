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

// aboutReplays are the questions that take another replay of the run.
var aboutReplays = map[string]evaluator{
	"day-without": (*Log).dayWithout, "day-carbon": (*Log).dayCarbon, "unbound": (*Log).unbound, "policies": (*Log).policies,
}

// rehearse replays the whole run with a change, after it was replayed as
// recorded. If it cannot be, the result says why.
func (r *Result) rehearse(l *Log, d Day, what Part) (as, now Rehearsal, ok bool) {
	if err := l.rehearsed(); err != nil {
		r.refuse("That takes another replay of the whole run, which cannot be had: %s.", recorded(err.Error()))
		return as, now, false
	}
	now, err := l.stage.Play(d)
	if err != nil {
		r.refuse("The replay with that change failed: %s.", recorded(err.Error()))
		return as, now, false
	}
	as = *l.as
	r.say("The run was replayed unchanged first, and each of its %s ran as the ledger says. Then it was replayed %s: sites and coordinator decided afresh.",
		counted(valueOf("run", "jobs", len(as.Book.JobIDs())), "job", "jobs"), what)
	return as, now, true
}

// refuse says why there is no answer.
func (r *Result) refuse(form string, parts ...Part) {
	r.Kind = "refused"
	r.say(form, parts...)
}

// What the cells of [totals] hold.
var totalsHead = []string{"objective $", "cost $", "carbon kg", "energy kWh", "late", "unplaced", "mean wait"}

const (
	totalCarbon   = 2
	totalLate     = 4
	totalUnplaced = 5
)

// totals returns what a run came to: a cell for each of [totalsHead].
func totals(subject string, t history.Totals) []Part {
	of := func(what string, value float64, unit string) Figure {
		return Figure{subject, what, int64(math.Round(value)), unit, nil}
	}
	return []Part{
		decimals(of("objective", t.ObjectiveUSD*1e6, "microdollars"), 1e6, 2), decimals(of("cost", t.CostUSD*1e6, "microdollars"), 1e6, 2),
		decimals(of("carbon", t.CarbonKg*1e6, "milligrams"), 1e6, 1), decimals(of("energy", t.EnergyKWh*3.6e9, "millijoules"), 3.6e9, 1),
		of("late", float64(t.Late), "count"), of("unplaced", float64(t.Unplaced), "count"),
		of("mean-wait", float64(time.Duration(t.WaitS.Mean*float64(time.Second)).Milliseconds()), "ms"),
	}
}

// decimals shows a figure in a unit of so many of its own.
func decimals(f Figure, per float64, places int) Part {
	return shownAs{f, func(v int64) string { return strconv.FormatFloat(float64(v)/per, 'f', places, 64) }}
}

// listBoth lists two runs side by side, and returns the totals of both.
func (r *Result) listBoth(was, now history.Totals, label Part) (x, y []Part) {
	x, y = totals("run/as recorded", was), totals("run/"+label.words(), now)
	r.Head = append([]string{"run"}, totalsHead...)
	r.row(append([]Part{phrase("as recorded")}, x...)...)
	r.row(append([]Part{label}, y...)...)
	r.Chart = bars("compare", "carbon of each run", listed{x[totalCarbon], y[totalCarbon]}.figures())
	return x, y
}

// partly reports whether a query has a window that is not the whole record.
func (l *Log) partly(q ask.Query) bool { return q.To != 0 && (q.From > l.first() || q.To <= l.last()) }

// wholly answers for a what-if that holds from a run's start to its end. A window
// in which every job was submitted stands for the run; of another one the answer
// is the question about the whole run, to be asked instead.
func (r *Result) wholly(l *Log, q ask.Query) bool {
	if !l.partly(q) {
		r.assume("the whole run")
		return true
	}
	for _, rec := range l.records() {
		if !within(ask.Query{From: q.From, To: q.To}, rec.Job.Arrival) {
			q.At, q.From, q.To = 0, 0, 0
			r.Kind, r.Readings = "ambiguous", []string{q.String()}
			r.say("That change is played for a whole run only, from %s to %s, and the question is about a part of it. For the whole run it would be:", begin(l), end(l))
			return false
		}
	}
	r.assume("the whole run: every job was submitted in that time, and figures are of all of them")
	return true
}

// dayWithout replays the run without a site, or with it dark in a window.
func (l *Log) dayWithout(q ask.Query) (r Result) {
	d, label := Day{Down: q.Site, Carbon: -1}, sentence("without %s", called(q.Site))
	after := "A site that is away draws nothing, idle or not."
	if l.partly(q) {
		d.From, d.To = q.From, q.To
		label = sentence("with %s down from %s to %s", called(q.Site), valueOf("run", "from", q.From), valueOf("run", "to", q.To))
		after = "What ran there when it went down was lost. Figures are of the whole run."
		r.assume("the site is down in that time alone; figures are of the whole run")
	} else {
		r.assume("the site is away in the whole run")
	}
	if as, now, ok := r.rehearse(l, d, label); ok {
		x, y := r.listBoth(as.Totals, now.Totals, label)
		r.say("Carbon %s, cost %s; %s jobs late against %s, %s without a place against %s. "+after, change("carbon", now.Totals.CarbonKg, as.Totals.CarbonKg),
			change("cost", now.Totals.CostUSD, as.Totals.CostUSD), y[totalLate], x[totalLate], y[totalUnplaced], x[totalUnplaced])
	}
	return r
}

// dayCarbon replays the run at another price of carbon.
func (l *Log) dayCarbon(q ask.Query) (r Result) {
	if r.tooDear(q) || !r.wholly(l, q) {
		return r
	}
	label := sentence("at $%s per tonne", priceAsked(q))
	if as, now, ok := r.rehearse(l, Day{Carbon: q.Number}, label); ok {
		r.listBoth(as.Totals, now.Totals, label)
		r.say("Carbon %s, cost of energy %s. The objective counts carbon at another price, so objectives are not to be compared.",
			change("carbon", now.Totals.CarbonKg, as.Totals.CarbonKg), change("cost", now.Totals.CostUSD, as.Totals.CostUSD))
	}
	return r
}

// unbound replays the run with one job's data free to go anywhere.
func (l *Log) unbound(q ask.Query) (r Result) {
	m := l.matter(q)
	r.cite(m.id)
	id := m.rec.Job.ID
	if len(m.rec.Job.Regions) == 0 {
		r.say("No residency rule binds job %s: its data may be anywhere, so nothing would change.", called(id))
		return r
	}
	as, now, ok := r.rehearse(l, Day{Free: id, Carbon: -1}, sentence("with the data of job %s free to go anywhere", called(id)))
	if !ok {
		return r
	}
	free, _ := now.Book.LatestJob(id)
	was, _ := as.Book.LatestJob(id)
	verdict := sentence("It")
	switch {
	case q.Site != "" && ran(free) == q.Site:
		verdict = sentence("At %s: it", called(q.Site))
	case q.Site != "":
		verdict = sentence("Not at %s: it", called(q.Site))
	}
	if ran(free) == "" {
		r.say("%s would not have run.", verdict)
		return r
	}
	started := valueOf(ofJob(id), "started", free.Run.Started)
	if was.Run == nil { // it may be for its rule that it found no place
		r.say("%s would have run at %s from %s; as recorded it does not run.", verdict, called(ran(free)), started)
		return r
	}
	r.say("%s would have run at %s from %s, as against %s from %s.", verdict, called(ran(free)), started,
		called(ran(was)), jobValue(m, "started-as-recorded", was.Run.Started))
	if free.State == history.Ended && was.State == history.Ended {
		x, y, job := spent(free), spent(was), ofJob(id)
		r.say("It would have taken %s of carbon against %s, and %s of energy against %s.", x.of(job, "carbon"), y.of(job, "carbon"), x.of(job, "cost"), y.of(job, "cost"))
		r.also(append(x.figures(job), y.figures(job)...)...)
		r.also(jobValue(m, "carbon-difference", x.bill.Carbon-y.bill.Carbon), jobValue(m, "cost-difference", x.bill.Money-y.bill.Money))
	}
	return r
}

// change returns how far a value lies from another: "+3.1 %". Of nothing or less, as a
// cost is where prices are negative, there are no parts.
func change(what string, now, was float64) Part {
	if was <= 0 {
		return phrase("not comparable")
	}
	by := ofRun(what+"-change", int64(math.Round(1000*(now/was-1))), "thousandths")
	return shownAs{by, func(v int64) string { return fmt.Sprintf("%+.1f %%", float64(v)/10) }}
}

// policies compares what was replayed over the same jobs.
func (l *Log) policies(q ask.Query) (r Result) {
	if q.To != 0 && !r.wholly(l, q) {
		return r
	}
	all, ok := r.totalsOf(l, q.Policies)
	if !ok {
		return r
	}
	r.Head = append([]string{"policy"}, slices.Delete(slices.Clone(totalsHead), totalUnplaced, totalUnplaced+1)...)
	var drawn []Figure
	for _, t := range all {
		cells := totals("policy/"+t.Policy, t)
		drawn = append(drawn, cells[totalCarbon].figures()...)
		r.row(append([]Part{called(t.Policy)}, slices.Delete(cells, totalUnplaced, totalUnplaced+1)...)...)
	}
	r.Chart = bars("compare", "carbon of each policy", drawn)
	switch len(all) {
	case 0:
		r.Kind = "absent"
		r.say("The totals of a replay are not at hand. `gridbid replay --policy auction,home-fifo` writes them beside the ledgers.")
	case 1:
		r.say("One policy; idle draw of the sites is included. To compare, replay several: `gridbid replay --policy auction,home-fifo`.")
	default:
		r.say("The same jobs under each policy; idle draw of the sites is included.")
		if slices.ContainsFunc(all, func(t history.Totals) bool { return !t.HasDefaultKnowledge() }) {
			r.say("After a slash stands what sites knew ahead of time, where it was not the usual.")
		}
	}
	return r
}

// totalsOf returns the totals of the policies that a question names, replaying
// those that were not replayed yet.
func (r *Result) totalsOf(l *Log, names []string) (all []history.Totals, ok bool) {
	if len(names) == 0 {
		return l.totals, true
	}
	for _, n := range names {
		if i := slices.IndexFunc(l.totals, func(t history.Totals) bool { return t.Policy == n }); i >= 0 {
			all = append(all, l.totals[i])
			continue
		}
		_, now, ok := r.rehearse(l, Day{Policy: n, Carbon: -1}, sentence("under policy %s", called(n)))
		if !ok {
			return nil, false
		}
		all = append(all, now.Totals)
	}
	return all, true
}
