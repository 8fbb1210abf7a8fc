package query

import (
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/protocol"
)

// A Chart is what an answer shows as a picture: data alone, for whoever draws.
// Names in it are as the run has them, so who draws quotes them.
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

// add puts a point into a series, and makes the series if there is none.
func (c *Chart) add(series string, p Point) {
	for i := range c.Series {
		if c.Series[i].Name == series {
			c.Series[i].Points = append(c.Series[i].Points, p)
			return
		}
	}
	c.Series = append(c.Series, Series{series, []Point{p}})
}

// drawn returns the chart if there is something in it.
func (c *Chart) drawn() *Chart {
	if len(c.Series) == 0 {
		return nil
	}
	return c
}

// bids draws what each site's offer costs, term by term.
func (m matter) bids() *Chart {
	c := &Chart{Kind: "bids", Title: "cost of each site's offer, by term", Unit: "microdollars"}
	for _, term := range narrate.CostCauses() {
		points, any := []Point(nil), false
		for _, s := range m.h.Answers {
			if p, ok := m.option(s.Site); ok {
				v := int64(term.Of(p.Terms))
				points, any = append(points, Point{Label: s.Site, Value: v}), any || v != 0
			}
		}
		if any {
			c.Series = append(c.Series, Series{term.Label, points})
		}
	}
	return c.drawn()
}

// outlooks draws what sites said at an instant of the hours ahead.
func (l *Log) outlooks(only string, price bool, at, until protocol.Time) *Chart {
	c := &Chart{Kind: "forecast", Title: "carbon intensity, as said at " + min(at, l.last()).String(), Unit: "milligrams-per-kwh"}
	if price {
		c.Title, c.Unit = "price of electricity, as said at "+min(at, l.last()).String(), "microdollars-per-kwh"
	}
	for _, s := range l.book.ReportingSiteNames() {
		o, ok := seen(l.book.ReportingSite(s), at)
		if only != "" && s != only || !ok {
			continue
		}
		for h := at.Floor(time.Hour); h < until; h = h.Add(time.Hour) {
			if v, ok := o.metric(price, h); ok {
				c.add(s, Point{At: h, Value: v})
			}
		}
	}
	return c.drawn()
}

// bars draws figures of one name, a bar each, by their subjects.
func bars(kind, title string, all []Figure) *Chart {
	c := &Chart{Kind: kind, Title: title}
	for _, f := range all {
		_, label, _ := strings.Cut(f.Subject, "/")
		c.Unit = f.Unit
		c.add(f.Name, Point{Label: label, Value: f.Value})
	}
	return c.drawn()
}

// byHour draws a metric of what was used in each hour.
func byHour(by map[string]*sum, metric string) *Chart {
	c := &Chart{Kind: "day", Title: metric + " by hour"}
	for _, hour := range sorted(by) {
		if at, err := time.Parse(time.RFC3339, hour); err == nil {
			f := by[hour].of("", metric)
			c.Unit = f.Unit
			c.add(metric, Point{At: protocol.FromStdTime(at), Value: f.Value})
		}
	}
	return c.drawn()
}
