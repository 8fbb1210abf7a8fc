package query

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/protocol"
)

// A dayTally is what one day, or a part of it, has.
type dayTally struct {
	from    protocol.Time
	arrived int
	ended   int
	late    int
	kinds   map[string]int // of decisions
	wait    int64          // the mean, in ms
	bill    usageSum
}

// answerDayBefore compares a day with the one before it, both up to the same hour if
// the day is not over.
func (l *Dataset) answerDayBefore(q ask.Query) (r Result) {
	const day = 24 * time.Hour
	if q.To == 0 {
		q.From, q.To = l.todayMidnight(), l.todayMidnight().Add(day)
		if today := asDate(valueOf("run", "from", q.From)); l.history.Coverage().Live {
			r.addAssumption("today is %s; UTC", today)
		} else {
			r.addAssumption("today is the day on which the last jobs came, %s; UTC", today)
		}
	}
	if q.To.Sub(q.From) > day {
		r.Kind = "refused"
		r.addSentence("One day is compared with the one before; that is %s.", durationFigure("window", q.To.Sub(q.From)))
		return r
	}
	if q.To > l.lastTime()+1 { // sites report their draw by whole hours
		if q.To = l.lastTime().Floor(time.Hour); q.To <= q.From {
			q.To = l.lastTime() + 1
		}
		r.addAssumption("the record ends at %s, so both days count up to %s", lastTimeFigure(l), valueOf("run", "to", q.To))
	}
	// The day before has the same length, also if q is cut at the end of the record.
	was := q
	was.From, was.To = q.From.Add(-day), q.To.Add(-day)
	begins := valueOf("run", "begins", l.completeSince())
	if was.To <= l.completeSince() {
		r.Kind = "absent"
		r.addSentence("That cannot be compared: the record begins at %s, and nothing of the day before is in it. A record of two days has both; a replay of another day lies in a folder of its own: `gridbid ask summary --run FOLDER`.", begins)
		return r
	} else if was.From < l.completeSince() {
		r.addAssumption("the record begins at %s, so the day before is not whole", begins)
	}
	r.listDays(q, l.tallyDay(was), l.tallyDay(q))
	return r
}

// asDate shows an instant as its day.
func asDate(f Figure) Part {
	return formattedFigure{f, func(v int64) string { return dateText(protocol.Time(v)) }}
}

// dateText returns the UTC date of an instant.
func dateText(t protocol.Time) string { return t.StdTime().Format("2006-01-02") }

// tallyDay counts what happened in a query's window.
func (l *Dataset) tallyDay(q ask.Query) dayTally {
	t := dayTally{from: q.From, arrived: len(l.jobsOf(q, "arrived")), ended: len(l.jobsOf(q, "ended")), late: len(l.jobsOf(q, "ended", "late"))}
	waits := ask.Query{Metric: "wait", Statistic: "mean"}
	started := tallyOf(l, waits, l.jobsOf(q, "started"))
	t.wait = started.statistic(waits, "").Value
	_, t.kinds = l.decisionsIn(q)
	_, _, t.bill = l.usageIn(q)
	return t
}

// allFigures lists what a day has, in the order of its table.
func (t dayTally) allFigures() []Figure {
	day, bill := "day/"+dateText(t.from), t.bill.bill
	return []Figure{
		valueOf(day, "jobs that arrived", t.arrived), valueOf(day, "jobs that ended", t.ended), valueOf(day, "late jobs", t.late),
		valueOf(day, "awards", t.kinds["award"]), valueOf(day, "holds", t.kinds["hold"]), valueOf(day, "refusals", t.kinds["refuse"]),
		valueOf(day, "mean wait", milliseconds(t.wait)),
		valueOf(day, "carbon", bill.Carbon), valueOf(day, "energy", bill.Energy), valueOf(day, "cost", bill.Money), valueOf(day, "paid", t.bill.paid),
	}
}

// listDays lists two days side by side.
func (r *Result) listDays(q ask.Query, was, now dayTally) {
	r.Head = []string{"what", dateText(was.from), dateText(now.from), "change"}
	for i, before := range was.allFigures() {
		after := now.allFigures()[i]
		by := changePart(after.Name, float64(after.Value), float64(before.Value))
		r.addRow(plainText(after.Name), before, after, by)
		if after.Name == cmp.Or(q.Metric, "carbon") {
			r.addSentence("%s: %s on %s against %s on %s (%s).", plainText(after.Name), after, asDate(valueOf("run", "from", now.from)), before, asDate(valueOf("run", "from-before", was.from)), by)
			r.Chart = barChart("compare", after.Name+" of both days", []Figure{before, after})
		}
	}
	r.Cites = slices.Compact(append(slices.Clone(was.bill.ids), now.bill.ids...))
	if q.Tenant == "" {
		r.addSentence("Idle draw of the sites is included.")
	}
	now.bill.estimated = now.bill.estimated || was.bill.estimated
	r.noteEstimate(now.bill)
}
