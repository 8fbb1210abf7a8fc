package query

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
)

// rehearse replays the whole run with a change, after it was replayed as
// recorded. If it cannot be, the answer says why.
func (l *Log) rehearse(d Day, what string, a *Answer) (as, now Rehearsal, ok bool) {
	a.Command = cmp.Or(a.Command, "")
	if err := l.rehearsed(); err != nil {
		a.Kind = "refused"
		a.say("That takes another replay of the whole run, which cannot be had: %s.", name(err.Error()))
		return as, now, false
	}
	now, err := l.stage.Play(d)
	if err != nil {
		a.Kind = "refused"
		a.say("The replay with that change failed: %s.", name(err.Error()))
		return as, now, false
	}
	as = *l.as
	a.say("The run was replayed unchanged first, and each of its %s ran as the ledger says. Then it was replayed %s: sites and coordinator decided afresh.",
		format.CountWithNoun(len(as.Book.JobIDs()), "job", "jobs"), what)
	a.figure("run", "jobs", int64(len(as.Book.JobIDs())), "count")
	return as, now, true
}

// both lists two runs side by side.
func (a *Answer) both(was, now history.Totals, label string) {
	a.Table = &Table{Head: []string{"run", "objective $", "cost $", "carbon kg", "energy kWh", "late", "unplaced", "mean wait"}}
	for _, x := range []struct {
		label string
		t     history.Totals
	}{{"as recorded", was}, {label, now}} {
		a.row(x.label, fmt.Sprintf("%.2f", x.t.ObjectiveUSD), fmt.Sprintf("%.2f", x.t.CostUSD), fmt.Sprintf("%.1f", x.t.CarbonKg),
			fmt.Sprintf("%.1f", x.t.EnergyKWh), fmt.Sprint(x.t.Late), fmt.Sprint(x.t.Unplaced), format.FormatDuration(meanWait(x.t)))
		a.total(x.label, x.t)
	}
	a.Chart = a.bars("compare", "carbon of each run", "carbon", "run/")
}

func (a *Answer) total(label string, t history.Totals) {
	a.figure("run/"+label, "objective", millionths(t.ObjectiveUSD), "microdollars")
	a.figure("run/"+label, "cost", millionths(t.CostUSD), "microdollars")
	a.figure("run/"+label, "carbon", millionths(t.CarbonKg), "milligrams")
	a.figure("run/"+label, "energy", int64(math.Round(t.EnergyKWh*3.6e9)), "millijoules")
	a.figure("run/"+label, "late", int64(t.Late), "count")
	a.figure("run/"+label, "unplaced", int64(t.Unplaced), "count")
	a.figure("run/"+label, "mean-wait", meanWait(t).Milliseconds(), "ms")
}

func meanWait(t history.Totals) time.Duration {
	return time.Duration(t.WaitS.Mean * float64(time.Second))
}

// partly reports whether a query has a window that is not the whole record.
func (l *Log) partly(q ask.Query) bool { return q.To != 0 && (q.From > l.first() || q.To <= l.last()) }

// wholly answers for a what-if that holds from a run's start to its end. A window
// in which every job was submitted stands for the run; of another one the answer
// is the question about the whole run, to be asked instead.
func (l *Log) wholly(q ask.Query, a *Answer) bool {
	if !l.partly(q) {
		a.assume("the whole run")
		return true
	}
	for _, r := range l.records() {
		if !within(ask.Query{From: q.From, To: q.To}, r.Job.Arrival) {
			q.At, q.From, q.To = 0, 0, 0
			a.Kind, a.Command, a.Readings = "ambiguous", "", []string{q.String()}
			a.say("That change is played for a whole run only, from %s to %s, and the question is about a part of it. For the whole run it would be:", format.FormatInstant(l.first()), format.FormatInstant(l.last()))
			return false
		}
	}
	a.assume("the whole run: every job was submitted in that time, and figures are of all of them")
	return true
}

// dayWithout replays the run without a site, or with it dark in a window.
func (l *Log) dayWithout(q ask.Query, a *Answer) {
	d, label := Day{Down: q.Site, Carbon: -1}, "without "+name(q.Site)
	after := "A site that is away draws nothing, idle or not."
	if l.partly(q) {
		d.From, d.To = q.From, q.To
		label = fmt.Sprintf("with %s down from %s to %s", name(q.Site), format.FormatInstant(q.From), format.FormatInstant(q.To))
		after = "What ran there when it went down was lost. Figures are of the whole run."
		a.assume("the site is down in that time alone; figures are of the whole run")
	} else {
		a.assume("the site is away in the whole run")
	}
	as, now, ok := l.rehearse(d, label, a)
	if !ok {
		return
	}
	a.both(as.Totals, now.Totals, label)
	a.say("Carbon %s, cost %s; %d jobs late against %d, %d without a place against %d. "+after,
		a.change("carbon", now.Totals.CarbonKg, as.Totals.CarbonKg), a.change("cost", now.Totals.CostUSD, as.Totals.CostUSD), now.Totals.Late, as.Totals.Late, now.Totals.Unplaced, as.Totals.Unplaced)
}

// dayCarbon replays the run at another price of carbon.
func (l *Log) dayCarbon(q ask.Query, a *Answer) {
	if q.Number > mostDollars {
		a.Kind = "refused"
		a.say("A price of carbon goes up to %d dollars per tonne here.", mostDollars)
		return
	}
	if !l.wholly(q, a) {
		return
	}
	label := fmt.Sprintf("at $%d per tonne", q.Number)
	as, now, ok := l.rehearse(Day{Carbon: q.Number}, label, a)
	if !ok {
		return
	}
	a.both(as.Totals, now.Totals, label)
	a.say("Carbon %s, cost of energy %s. The objective counts carbon at another price, so objectives are not to be compared.",
		a.change("carbon", now.Totals.CarbonKg, as.Totals.CarbonKg), a.change("cost", now.Totals.CostUSD, as.Totals.CostUSD))
}

// unbound replays the run with one job's data free to go anywhere.
func (l *Log) unbound(q ask.Query, a *Answer) {
	m := l.matter(q)
	a.cite(m.id)
	id := m.rec.Job.ID
	if len(m.rec.Job.Regions) == 0 {
		a.say("No residency rule binds job %s: its data may be anywhere, so nothing would change.", name(id))
		return
	}
	as, now, ok := l.rehearse(Day{Free: id, Carbon: -1}, "with the data of job "+name(id)+" free to go anywhere", a)
	if !ok {
		return
	}
	r, _ := now.Book.LatestJob(id)
	was, _ := as.Book.LatestJob(id)
	verdict := "It"
	if q.Site != "" {
		verdict = "Not at " + name(q.Site) + ": it"
		if ran(r) == q.Site {
			verdict = "At " + name(q.Site) + ": it"
		}
	}
	if ran(r) == "" {
		a.say("%s would not have run.", verdict)
		return
	}
	a.figure(ofJob(id), "started", int64(r.Run.Started), "instant")
	if was.Run == nil { // it may be for its rule that it found no place
		a.say("%s would have run at %s from %s; as recorded it does not run.", verdict, name(ran(r)), format.FormatInstant(r.Run.Started))
		return
	}
	a.figure(ofJob(id), "started-as-recorded", int64(was.Run.Started), "instant", m.cited()...)
	a.say("%s would have run at %s from %s, as against %s from %s.", verdict, name(ran(r)), format.FormatInstant(r.Run.Started), name(ran(was)), format.FormatInstant(was.Run.Started))
	if r.State == history.Ended && was.State == history.Ended {
		x, y := spent(r), spent(was)
		a.say("It would have taken %s of carbon against %s, and %s of energy against %s.",
			kg(x.bill.Carbon), kg(y.bill.Carbon), format.FormatDollars(x.bill.Money), format.FormatDollars(y.bill.Money))
		x.figures(a, ofJob(id))
		y.figures(a, ofJob(id))
		a.figure(ofJob(id), "carbon-difference", int64(x.bill.Carbon-y.bill.Carbon), "milligrams", m.cited()...)
		a.figure(ofJob(id), "cost-difference", int64(x.bill.Money-y.bill.Money), "microdollars", m.cited()...)
	}
}

// change prints how far a value lies from another, and notes it: "+3.1 %". Of nothing
// or less, as a cost is where prices are negative, there are no parts.
func (a *Answer) change(what string, now, was float64) string {
	if was <= 0 {
		return "not comparable"
	}
	by := int64(math.Round(1000 * (now/was - 1)))
	a.figure("run", what+"-change", by, "thousandths")
	return fmt.Sprintf("%+.1f %%", float64(by)/10)
}

// totalsOf returns the totals of the policies that a question names, replaying
// those that were not replayed yet.
func (l *Log) totalsOf(names []string, a *Answer) (all []history.Totals, ok bool) {
	if len(names) == 0 {
		return l.totals, true
	}
	for _, n := range names {
		if i := slices.IndexFunc(l.totals, func(t history.Totals) bool { return t.Policy == n }); i >= 0 {
			all = append(all, l.totals[i])
			continue
		}
		_, now, ok := l.rehearse(Day{Policy: n, Carbon: -1}, "under policy "+name(n), a)
		if !ok {
			return nil, false
		}
		all = append(all, now.Totals)
	}
	return all, true
}
