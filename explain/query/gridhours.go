package query

import (
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/protocol"
)

// answerGridHours says of every site what a quantity of its grid was in the hours of a window: its mean, its
// least and most with their hours, and the hours within a bound.
func (l *Dataset) answerGridHours(q ask.Query) (r Result) {
	price := gridQuestions[q.Ask].price
	if q.To == 0 {
		q.From, q.To = l.firstTime().Floor(time.Hour), l.lastTime()
	}
	r.addAssumption("the hours from %s to %s UTC, as published", valueOf("run", "from", q.From), valueOf("run", "to", q.To))
	r.Head = []string{"site", "hours", "mean", "least", "in the hour of", "most", "in the hour of"}
	for name := range l.sitesIn(q) {
		var values, within []Figure
		var hours []protocol.Time
		sum := int64(0)
		for at := max(q.From, l.firstTime()).Floor(time.Hour); at < min(q.To, l.lastTime()); at = at.Add(time.Hour) {
			v, _, ok := l.gridKnown(name, price, at, at)
			if !ok {
				continue
			}
			values, hours, sum = append(values, gridFigure(name, price, v)), append(hours, at), sum+v
			if meetsBound(q, v) {
				within = append(within, valueOf("site/"+name, "hour", at))
			}
		}
		n := int64(len(values))
		if n == 0 {
			continue
		}
		least, most := 0, 0
		for i, v := range values {
			if v.Value < values[least].Value {
				least = i
			}
			if v.Value > values[most].Value {
				most = i
			}
		}
		hour := func(i int) Figure { return valueOf("site/"+name, "hour", hours[i]) }
		mean := gridFigure(name, price, (2*sum+n)/(2*n))
		mean.Name = "mean-" + mean.Name
		r.addRow(namePart(name), valueOf("site/"+name, "hours", len(values)), mean, values[least], hour(least), values[most], hour(most))
		if q.Bound != "" {
			var all partList
			for _, f := range within {
				all = append(all, f)
			}
			r.addSentence("%s: %s of %s with %s: %s.", namePart(name), valueOf("site/"+name, "hours-within", len(within)), countedPart(valueOf("site/"+name, "hours", len(values)), "hour", "hours"), boundText(q), all)
		} else if q.Site != "" {
			r.addSentence("%s: the mean is %s, the least %s in the hour of %s, the most %s in that of %s.", namePart(name), mean, values[least], hour(least), values[most], hour(most))
		}
	}
	if len(r.Rows) > 1 && q.Bound == "" {
		of := func(way func(a, b Figure) bool, column int) (at []Part) {
			at = r.Rows[0]
			for _, cells := range r.Rows {
				if way(cells[column].(Figure), at[column].(Figure)) {
					at = cells
				}
			}
			return []Part{at[column], at[0], at[column+1]}
		}
		least := of(func(a, b Figure) bool { return a.Value < b.Value }, 3)
		most := of(func(a, b Figure) bool { return a.Value > b.Value }, 5)
		r.addSentence("The least of all: %s at %s in the hour of %s; the most: %s at %s in that of %s.", append(least, most...)...)
	}
	if len(r.Rows) == 0 {
		r.addSentence("No site had said it by then.")
	}
	return r
}
