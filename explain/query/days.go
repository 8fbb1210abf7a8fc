package query

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A tally is what one day, or a part of it, has.
type tally struct {
	from    protocol.Time
	arrived int
	ended   int
	late    int
	kinds   map[string]int // of decisions
	wait    int64          // the mean, in ms
	started int
	bill    sum
}

// aboutDays are the questions that compare days.
var aboutDays = map[string]evaluator{"no-day-before": (*Log).dayBefore}

// dayBefore compares a day with the one before it, both up to the same hour if
// the day is not over.
func (l *Log) dayBefore(q ask.Query) (r Result) {
	const day = 24 * time.Hour
	if q.To == 0 {
		q.From, q.To = l.today(), l.today().Add(day)
		if today := asDate(valueOf("run", "from", q.From)); l.book.Coverage().Live {
			r.assume("today is %s; UTC", today)
		} else {
			r.assume("today is the day on which the last jobs came, %s; UTC", today)
		}
	}
	if q.To.Sub(q.From) > day {
		r.Kind = "refused"
		r.say("One day is compared with the one before; that is %s.", lasting("window", q.To.Sub(q.From)))
		return r
	}
	if q.To > l.last()+1 { // what sites drew is told by whole hours
		if q.To = l.last().Floor(time.Hour); q.To <= q.From {
			q.To = l.last() + 1
		}
		r.assume("the record ends at %s, so both days count up to %s", end(l), valueOf("run", "to", q.To))
	}
	was := q
	was.From, was.To = q.From.Add(-day), q.To.Add(-day)
	begins := valueOf("run", "begins", l.begins())
	if was.To <= l.begins() {
		r.Kind = "absent"
		r.say("That cannot be compared: the record begins at %s, and nothing of the day before is in it. A record of two days has both; a replay of another day lies in a folder of its own: `gridbid ask summary --run FOLDER`.", begins)
		return r
	} else if was.From < l.begins() {
		r.assume("the record begins at %s, so the day before is not whole", begins)
	}
	r.listDays(q, l.tally(was), l.tally(q))
	return r
}

// asDate shows an instant as its day.
func asDate(f Figure) Part {
	return shownAs{f, func(v int64) string { return date(protocol.Time(v)) }}
}

func date(t protocol.Time) string { return t.StdTime().Format("2006-01-02") }

// tally counts what happened in a query's window.
func (l *Log) tally(q ask.Query) tally {
	t := tally{from: q.From, kinds: make(map[string]int)}
	for _, r := range l.records() {
		if q.Tenant != "" && r.Job.Tenant != q.Tenant {
			continue
		}
		first, ran := begun(r)
		if within(q, r.Job.Arrival) && (q.Site == "" || ran && first.Run.Site == q.Site) {
			t.arrived++
		}
		if wait, ok := r.WaitTime(); ok && within(q, first.Run.Started) && (q.Site == "" || first.Run.Site == q.Site) {
			t.started++
			t.wait += wait.Milliseconds()
		}
		if r.State == history.Ended && concerns(q, r) && within(q, r.Run.Ended) {
			t.ended++
			if r.EndedLate() {
				t.late++
			}
		}
	}
	t.wait /= max(int64(t.started), 1)
	for _, d := range l.book.AllDecisions() {
		if within(q, d.At) && (q.Site == "" || d.Site == q.Site) && (q.Tenant == "" || l.decidedOn(d).Job.Tenant == q.Tenant) {
			t.kinds[d.Kind]++
		}
	}
	for _, x := range l.over(q) {
		t.bill.add(x)
	}
	if idle := l.idleBy(q, func(string, protocol.Time) string { return "" })[""]; idle != nil {
		t.bill.idle(idle.bill, idle.estimated)
	}
	return t
}

// figures lists what a day has, in the order of its table.
func (t tally) figures() []Figure {
	day, bill := "day/"+date(t.from), t.bill.bill
	return []Figure{
		valueOf(day, "jobs that arrived", t.arrived), valueOf(day, "jobs that ended", t.ended), valueOf(day, "late jobs", t.late),
		valueOf(day, "awards", t.kinds["award"]), valueOf(day, "holds", t.kinds["hold"]), valueOf(day, "refusals", t.kinds["refuse"]),
		{day, "mean wait", t.wait, "ms", nil},
		valueOf(day, "carbon", bill.Carbon), valueOf(day, "energy", bill.Energy), valueOf(day, "cost", bill.Money), valueOf(day, "paid", t.bill.paid),
	}
}

// listDays lists two days side by side.
func (r *Result) listDays(q ask.Query, was, now tally) {
	r.Head = []string{"what", date(was.from), date(now.from), "change"}
	for i, before := range was.figures() {
		after := now.figures()[i]
		by := change(after.Name, float64(after.Value), float64(before.Value))
		r.row(phrase(after.Name), before, after, by)
		if after.Name == cmp.Or(q.Metric, "carbon") {
			r.say("%s: %s on %s against %s on %s (%s).", phrase(after.Name), after, asDate(valueOf("run", "from", now.from)), before, asDate(valueOf("run", "from-before", was.from)), by)
			r.Chart = bars("compare", after.Name+" of both days", []Figure{before, after})
		}
	}
	r.Cites = slices.Compact(append(slices.Clone(was.bill.ids), now.bill.ids...))
	if q.Tenant == "" {
		r.say("Idle draw of the sites is included.")
	}
	now.bill.estimated = now.bill.estimated || was.bill.estimated
	r.sayIfEstimated(now.bill)
}
