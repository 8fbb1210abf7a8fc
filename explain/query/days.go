package query

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
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

// dayBefore compares a day with the one before it, both up to the same hour if
// the day is not over.
func (l *Log) dayBefore(q ask.Query, a *Answer) {
	const day = 24 * time.Hour
	if q.To == 0 {
		q.From, q.To = l.today(), l.today().Add(day)
		if l.book.Coverage().Live {
			a.assume("today is " + date(q.From) + "; UTC")
		} else {
			a.assume("today is the day on which the last jobs came, " + date(q.From) + "; UTC")
		}
	}
	if q.To.Sub(q.From) > day {
		a.Kind = "refused"
		a.say("One day is compared with the one before; that is %s.", format.FormatDuration(q.To.Sub(q.From)))
		return
	}
	if q.To > l.last()+1 { // what sites drew is told by whole hours
		if q.To = l.last().Floor(time.Hour); q.To <= q.From {
			q.To = l.last() + 1
		}
		a.assume("the record ends at " + format.FormatInstant(l.last()) + ", so both days count up to " + format.FormatInstant(q.To))
	}
	was := q
	was.From, was.To = q.From.Add(-day), q.To.Add(-day)
	a.figure("run", "from", int64(q.From), "instant")
	a.figure("run", "from-before", int64(was.From), "instant")
	if begins := l.begins(); was.To <= begins {
		a.Kind = "absent"
		a.say("That cannot be compared: the record begins at %s, and nothing of the day before is in it. A record of two days has both; a replay of another day lies in a folder of its own: `gridbid ask summary --run FOLDER`.", format.FormatInstant(begins))
		return
	} else if was.From < begins {
		a.assume("the record begins at " + format.FormatInstant(begins) + ", so the day before is not whole")
	}
	l.twoDays(q, l.tally(was), l.tally(q), a)
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

// twoDays lists two days side by side.
func (l *Log) twoDays(q ask.Query, was, now tally, a *Answer) {
	x, y := date(was.from), date(now.from)
	a.Table = &Table{Head: []string{"what", x, y, "change"}}
	for _, line := range []struct {
		what, unit string
		of         func(tally) int64
		show       func(int64) string
	}{
		{"jobs that arrived", "count", func(t tally) int64 { return int64(t.arrived) }, plain},
		{"jobs that ended", "count", func(t tally) int64 { return int64(t.ended) }, plain},
		{"late jobs", "count", func(t tally) int64 { return int64(t.late) }, plain},
		{"awards", "count", func(t tally) int64 { return int64(t.kinds["award"]) }, plain},
		{"holds", "count", func(t tally) int64 { return int64(t.kinds["hold"]) }, plain},
		{"refusals", "count", func(t tally) int64 { return int64(t.kinds["refuse"]) }, plain},
		{"mean wait", "ms", func(t tally) int64 { return t.wait }, func(v int64) string { return format.FormatDuration(time.Duration(v) * time.Millisecond) }},
		{"carbon", "milligrams", func(t tally) int64 { return int64(t.bill.bill.Carbon) }, func(v int64) string { return kg(protocol.Milligrams(v)) }},
		{"energy", "millijoules", func(t tally) int64 { return int64(t.bill.bill.Energy) }, func(v int64) string { return kWh(protocol.Millijoules(v)) }},
		{"cost", "microdollars", func(t tally) int64 { return int64(t.bill.bill.Money) }, func(v int64) string { return format.FormatDollars(protocol.Microdollars(v)) }},
		{"paid", "microdollars", func(t tally) int64 { return int64(t.bill.paid) }, func(v int64) string { return format.FormatDollars(protocol.Microdollars(v)) }},
	} {
		before, after := line.of(was), line.of(now)
		a.figure("day/"+x, line.what, before, line.unit)
		a.figure("day/"+y, line.what, after, line.unit)
		change := a.change(line.what, float64(after), float64(before))
		a.row(line.what, line.show(before), line.show(after), change)
		if line.what == cmp.Or(q.Metric, "carbon") {
			a.say("%s: %s on %s against %s on %s (%s).", line.what, line.show(after), y, line.show(before), x, change)
			a.Chart = a.bars("compare", line.what+" of both days", line.what, "day/")
		}
	}
	a.Cites = slices.Compact(append(slices.Clone(was.bill.ids), now.bill.ids...))
	if q.Tenant == "" {
		a.say("Idle draw of the sites is included.")
	}
	now.bill.estimated = now.bill.estimated || was.bill.estimated
	now.bill.marked(a)
}

func plain(v int64) string { return fmt.Sprint(v) }
