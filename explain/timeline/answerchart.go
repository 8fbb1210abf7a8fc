package timeline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/internal/chart"
	"github.com/gridbid/gridbid/internal/format"
)

// ChartOfAnswer returns the chart of an answer; false if it has none.
// Points with a time make lines, alternatives one bar each, and other labels stacked bars.
func (d *Timeline) ChartOfAnswer(a query.Answer) (chart.Chart, bool) {
	if a.Chart == nil {
		return nil, false
	}
	if slices.ContainsFunc(a.Chart.Series, func(s query.Series) bool { return s.Points[0].At != 0 }) {
		return overTime(*a.Chart), true
	}
	return barsOfAnswer(*a.Chart), true
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

// barsOfAnswer draws a chart of labels as bars: a row for each label in the order in which labels
// first appear, and a part for each series. Alternatives do not add up, so each has a bar of its own
// beside the others of its label; above 40 bars every second label is left out. Of other labels the
// rows above 40 are only counted.
func barsOfAnswer(c query.Chart) chart.BarChart {
	const most = 40
	by, unit, decimals := scaleOfUnit(c.Unit)
	b := chart.BarChart{Title: format.CleanText(c.Title), Unit: unit, Decimals: decimals}
	if c.Kind == "sweep" && len(c.Series) > 1 {
		labels, every := len(c.Series[0].Points), 1
		if labels*len(c.Series) > most {
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
	place := make(map[string]int) // row of each label
	for i, x := range c.Rows {
		place[x.Label] = i
		b.Rows = append(b.Rows, chart.BarRow{Name: format.CleanText(x.Label), Note: format.CleanText(x.Note), Highlighted: x.Chosen})
	}
	for i, s := range c.Series {
		b.Parts = append(b.Parts, format.CleanText(s.Name))
		for _, p := range s.Points {
			k, ok := place[p.Label]
			if !ok {
				k = len(b.Rows)
				place[p.Label] = k
				b.Rows = append(b.Rows, chart.BarRow{Name: format.CleanText(p.Label)})
			}
			if b.Rows[k].Values == nil {
				b.Rows[k].Values = make([]float64, len(c.Series))
			}
			b.Rows[k].Values[i] += float64(p.Value) / by
		}
	}
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
		v := chart.LineSeries{Name: format.CleanText(s.Name), Of: slices.Repeat([]float64{math.NaN()}, int(l.End.Sub(l.Start)/time.Hour))}
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
func (d *Timeline) answerChart(w Drawing) (chart.Chart, error) {
	if c, ok := d.ChartOfAnswer(d.AskQuestion(w.Question, "")); ok {
		return c, nil
	}
	return nil, errors.New("timeline: the answer to that question has no chart")
}
