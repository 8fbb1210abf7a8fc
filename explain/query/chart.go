package query

import (
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/protocol"
)

// A Chart is the data of a picture, without any drawing. Names in it are as the run has them,
// so the code that draws must escape them.
type Chart struct {
	Kind   string   `json:"kind"` // "bids": stacked bars; "forecast", "day", "sweep": lines; "sites", "jobs", "compare": bars
	Title  string   `json:"title"`
	Unit   string   `json:"unit"` // of all values, as of a Figure
	Series []Series `json:"series"`
}

// A Series is one line, or one part of each bar.
type Series struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// A Point stands at a label or, on a time axis, at an instant.
type Point struct {
	Label string        `json:"label,omitempty"`
	At    protocol.Time `json:"at,omitempty"`
	Value int64         `json:"value"`
}

// addPoint appends a point to a series, and creates the series if the chart lacks it.
func (c *Chart) addPoint(series string, p Point) {
	for i := range c.Series {
		if c.Series[i].Name == series {
			c.Series[i].Points = append(c.Series[i].Points, p)
			return
		}
	}
	c.Series = append(c.Series, Series{series, []Point{p}})
}

// orNil returns the chart, or nil if it is empty.
func (c *Chart) orNil() *Chart {
	if len(c.Series) == 0 {
		return nil
	}
	return c
}

// bidsChart draws what each site's offer costs, term by term.
func (m jobCase) bidsChart() *Chart {
	c := &Chart{Kind: "bids", Title: "cost of each site's offer, by term", Unit: "microdollars"}
	for _, term := range narrate.CostCauses() {
		points, any := []Point(nil), false
		for _, s := range m.round.Answers {
			if p, ok := m.cheapestOption(s.Site); ok {
				v := int64(term.Of(p.Terms))
				points, any = append(points, Point{Label: s.Site, Value: v}), any || v != 0
			}
		}
		if any {
			c.Series = append(c.Series, Series{term.Label, points})
		}
	}
	return c.orNil()
}

// forecastChart draws the forecasts that sites had published at an instant.
func (l *Dataset) forecastChart(only string, price bool, at, until protocol.Time) *Chart {
	what, unit := "carbon intensity", "milligrams-per-kwh"
	if price {
		what, unit = "price of electricity", "microdollars-per-kwh"
	}
	c := &Chart{Kind: "forecast", Title: what + ", as said at " + min(at, l.lastTime()).String(), Unit: unit}
	for s, site := range l.sitesIn(ask.Query{Site: only}) {
		o, _ := site.ForecastAt(at)
		for h := at.Floor(time.Hour); h < until; h = h.Add(time.Hour) {
			if v, ok := gridAt(o, price, h); ok {
				c.addPoint(s, Point{At: h, Value: v})
			}
		}
	}
	return c.orNil()
}

// barChart draws figures of one name, a bar each, by their subjects.
func barChart(kind, title string, all []Figure) *Chart {
	c := &Chart{Kind: kind, Title: title}
	for _, f := range all {
		_, label, _ := strings.Cut(f.Subject, "/")
		c.Unit = f.Unit
		c.addPoint(f.Name, Point{Label: label, Value: f.Value})
	}
	return c.orNil()
}

// hourChart draws a metric of what was used in each hour.
func hourChart(by map[group]*groupTally, metric string) *Chart {
	c := &Chart{Kind: "day", Title: metric + " by hour"}
	for _, hour := range sortedGroups(by) {
		if at, err := time.Parse(time.RFC3339, hour[0]); err == nil {
			f := by[hour].usage.figureOf("", metric)
			c.Unit = f.Unit
			c.addPoint(metric, Point{At: protocol.FromStdTime(at), Value: f.Value})
		}
	}
	return c.orNil()
}
