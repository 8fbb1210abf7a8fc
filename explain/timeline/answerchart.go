package timeline

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/chart"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/query"
)

// ChartOfAnswer returns the chart of an answer; false if it has none. For the bids of a
// decision that the answer cites it draws the chart of that decision, which has more.
func (d *Timeline) ChartOfAnswer(a query.Answer) (chart.Chart, bool) {
	switch {
	case a.Chart == nil || len(a.Chart.Series) == 0:
		return nil, false
	case a.Chart.Kind == "bids" && len(a.Cites) > 0:
		if c, err := d.offersChart(Drawing{Decision: a.Cites[0]}); err == nil {
			return c, true // it also shows why sites without an offer have none
		}
	}
	return SketchAnswer(a)
}

// SketchAnswer returns the chart of an answer from its own data; false if it has none. Points
// with a time make lines, alternatives one bar each, and other labels stacked bars.
func SketchAnswer(a query.Answer) (chart.Chart, bool) {
	if a.Chart == nil || len(a.Chart.Series) == 0 {
		return nil, false
	}
	if slices.ContainsFunc(a.Chart.Series, func(s query.Series) bool { return s.Points[0].At != 0 }) {
		return overTime(*a.Chart), true
	}
	if a.Chart.Kind == "sweep" && len(a.Chart.Series) > 1 {
		return alternativesChart(*a.Chart), true
	}
	return labelsChart(*a.Chart), true
}

// alternativesChart draws a chart of alternatives: a bar for each, since alternatives do not add
// up, and those of one label together. Above 40 bars it takes every second label.
func alternativesChart(c query.Chart) chart.BarChart {
	by, unit, decimals := scaleOfUnit(c.Unit)
	b := chart.BarChart{Title: format.CleanText(c.Title), Unit: unit, Decimals: decimals}
	labels, every := len(c.Series[0].Points), 1
	if labels*len(c.Series) > 40 {
		every = 2
	}
	for i := 0; i < labels; i += every {
		for _, s := range c.Series {
			if i < len(s.Points) {
				b.Rows = append(b.Rows, chart.BarRow{Name: format.CleanText(s.Points[i].Label + " · " + s.Name), Values: []float64{float64(s.Points[i].Value) / by}})
			}
		}
	}
	return b
}

// unitScales says how the integer units of answers are shown: divided by how much, under which
// name, and with how many decimals.
var unitScales = map[string]struct {
	by       float64
	name     string
	decimals int
}{
	"microdollars":         {1e6, "dollars", 4},
	"milligrams":           {1e6, "kg CO2e", 3},
	"millijoules":          {3.6e9, "kWh", 3},
	"ms":                   {60_000, "minutes", 1},
	"thousandths":          {1000, "", 1},
	"milligrams-per-kwh":   {1000, "grams of CO2e per kWh", 0},
	"microdollars-per-kwh": {1000, "dollars per MWh", 1},
}

// scaleOfUnit returns how a unit is shown; an unknown one as it is, without decimals.
func scaleOfUnit(unit string) (by float64, name string, decimals int) {
	if s, ok := unitScales[unit]; ok {
		return s.by, s.name, s.decimals
	}
	return 1, format.CleanText(unit), 0
}

// labelsChart draws a chart of labels as bars, a row for each label in the order in which labels
// first appear, and a part for each series. Rows above most are only counted.
func labelsChart(c query.Chart) chart.BarChart {
	by, unit, decimals := scaleOfUnit(c.Unit)
	b := chart.BarChart{Title: format.CleanText(c.Title), Unit: unit, Decimals: decimals}
	// Row of each label.
	place := make(map[string]int)
	for i, s := range c.Series {
		b.Parts = append(b.Parts, format.CleanText(s.Name))
		for _, p := range s.Points {
			k, ok := place[p.Label]
			if !ok {
				k = len(b.Rows)
				place[p.Label] = k
				b.Rows = append(b.Rows, chart.BarRow{Name: format.CleanText(p.Label), Values: make([]float64, len(c.Series))})
			}
			b.Rows[k].Values[i] += float64(p.Value) / by
		}
	}
	const most = 40
	if n := len(b.Rows); n > most {
		b.Rows = append(b.Rows[:most], chart.BarRow{Name: "…", Note: fmt.Sprintf("%d more", n-most)})
	}
	return b
}

// overTime draws a chart of instants as lines of hourly values: an hour without a point is a gap.
func overTime(c query.Chart) chart.LineChart {
	by, unit, decimals := scaleOfUnit(c.Unit)
	l := chart.LineChart{Title: format.CleanText(c.Title), Unit: unit + "; UTC", Decimals: decimals}
	for _, s := range c.Series {
		for _, p := range s.Points {
			if l.Start == 0 || p.At < l.Start {
				l.Start = p.At.Floor(time.Hour)
			}
			l.End = max(l.End, p.At.Floor(time.Hour).Add(time.Hour))
		}
	}
	// At most the last 31 days: each hour is a point of each line.
	l.Start = max(l.Start, l.End.Add(-31*24*time.Hour))
	for _, s := range c.Series {
		v := chart.LineSeries{Name: format.CleanText(s.Name), Of: make([]float64, int(l.End.Sub(l.Start)/time.Hour))}
		for i := range v.Of {
			v.Of[i] = math.NaN()
		}
		for _, p := range s.Points {
			if p.At >= l.Start {
				v.Of[int(p.At.Sub(l.Start)/time.Hour)] = float64(p.Value) / by
			}
		}
		l.Series = append(l.Series, v)
	}
	return l
}

// answerChart draws the chart of the answer to a question.
func (d *Timeline) answerChart(question string) (chart.Chart, error) {
	if c, ok := d.ChartOfAnswer(d.AskQuestion(question, "")); ok {
		return c, nil
	}
	return nil, fmt.Errorf("timeline: the answer to that question has no chart")
}
