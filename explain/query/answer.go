package query

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// An Answer is the reply to a question. Its JSON is part of the interface: docs/ask.md.
type Answer struct {
	Kind     string     `json:"kind"`              // "answer", "absent", "ambiguous", "unclear", "not-found", "refused"
	Read     string     `json:"read"`              // how the question was read; "" if it was not
	ReadBy   string     `json:"read_by,omitempty"` // "model NAME" if a model, and not the grammar, made the query
	Query    *ask.Query `json:"query,omitempty"`
	Text     []string   `json:"text"` // sentences, for people
	Table    *Table     `json:"table,omitempty"`
	Figures  []Figure   `json:"figures,omitempty"`
	Chart    *Chart     `json:"chart,omitempty"`
	Cites    []string   `json:"cites,omitempty"`    // decisions that it comes from
	Readings []string   `json:"readings,omitempty"` // questions to ask instead
	Command  string     `json:"command,omitempty"`  // that repeats the answer
	Draw     string     `json:"draw,omitempty"`     // a command that draws the chart
	More     []Answer   `json:"more,omitempty"`     // answers to the other questions of the same text

	result *Result // what it was rendered from; nil where nothing was computed: help, and clarifications

	Flags string `json:"-"` // that name the run, for the commands of readings
}

// A Table is rows of cells under their heads. Cells are for people; figures
// are in Figures.
type Table struct {
	Head []string   `json:"head"`
	Rows [][]string `json:"rows"`
}

// A Figure is one value of an answer.
type Figure struct {
	Subject string   `json:"subject"` // "run", "job/NAME", "site/NAME", "tenant/NAME", ...
	Name    string   `json:"name"`
	Value   int64    `json:"value"`
	Unit    string   `json:"unit"` // "microdollars", "millijoules", "milligrams", "ms", "instant", "count", ...
	From    []string `json:"from,omitempty"`
}

// maxCited bounds the ids that are shown; all are in the JSON.
const maxCited = 6

// ReadLine says how the question was read. It names the model if a model made the query, so
// that the person can judge whether it is what was asked.
func (a Answer) ReadLine() string {
	if a.ReadBy != "" {
		return "I understood: " + a.Read + " (read by " + a.ReadBy + ")"
	}
	return "read as: " + a.Read
}

// WriteText writes the answer for people: plain text, in lines of at most 100
// columns where names allow it.
func (a Answer) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	if a.Read != "" {
		format.WrapText(out, a.ReadLine())
		fmt.Fprintln(out)
	}
	for _, s := range a.Text {
		format.WrapText(out, s)
	}
	if a.Table != nil && len(a.Table.Rows) > 0 {
		fmt.Fprintln(out)
		a.Table.writeText(out)
	}
	for i, r := range a.Readings {
		if i == 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "  %s%s\n", askCommand(r), a.Flags)
	}
	if n := len(a.Cites); n > 0 {
		more := ""
		if n > maxCited {
			more = fmt.Sprintf(", and %d more (--json has all)", n-maxCited)
		}
		fmt.Fprintln(out)
		format.WrapText(out, "from "+strings.Join(a.Cites[:min(n, maxCited)], ", ")+more)
	}
	if a.Command != "" {
		if len(a.Cites) == 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "again: %s\n", a.Command)
	}
	if a.Draw != "" {
		fmt.Fprintf(out, "chart: %s\n", a.Draw)
	}
	for _, more := range a.More {
		fmt.Fprintln(out)
		if err := more.WriteText(out); err != nil {
			return err
		}
	}
	return out.Flush()
}

// writeText lines columns up: the first, reasons and long cells to the left, others to the right.
func (t Table) writeText(out *bufio.Writer) {
	format.WriteColumns(out, "  ", append([][]string{t.Head}, t.Rows...), func(row []string, i int) (widens, left bool) {
		isLong := len(row[i]) > 40
		return i < len(t.Head)-1 || i == 0 || !isLong, i == 0 || isLong || t.Head[i] == "why"
	})
}

// askCommand returns the command line that asks a question, or "" if it holds
// what a shell or a terminal would not show as it is.
func askCommand(question string) string { return commandOf("ask", question) }

// commandOf returns a gridbid command with a question as its quoted argument.
func commandOf(verb, question string) string {
	if format.CleanText(question) != question {
		return "(a name here cannot be typed; use --json)"
	}
	return "gridbid " + verb + " " + format.ShellQuoted(question)
}

// cleanName returns a name from outside as people may see it.
func cleanName[T ~string](s T) string { return format.CleanText(string(s)) }

// jobSubject returns what a figure of a job is about.
func jobSubject(id protocol.JobID) string { return "job/" + string(id) }

// A Chart is the data of a picture, without any drawing. Names in it are as the run has them,
// so the code that draws must escape them.
type Chart struct {
	Kind   string   `json:"kind"` // "bids": stacked bars; "forecast", "day", "sweep": lines; "sites", "jobs", "compare": bars
	Title  string   `json:"title"`
	Unit   string   `json:"unit"` // of all values, as of a Figure
	Series []Series `json:"series"`

	Rows []ChartRow `json:"rows,omitempty"` // of bars, in their order; without, the labels of the points
}

// A ChartRow is a bar with a note, or a note on why there is none.
type ChartRow struct {
	Label  string `json:"label"`
	Note   string `json:"note"`
	Chosen bool   `json:"chosen,omitempty"`
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
	if len(c.Series)+len(c.Rows) == 0 {
		return nil
	}
	return c
}

// bidsChart draws what each site's offer costs, cause by cause.
func (m jobCase) bidsChart() *Chart {
	c := &Chart{Kind: "bids", Title: "What each site offered for " + string(m.job.Job.ID) + ", by cause", Unit: "microdollars"}
	for _, s := range m.answersByCost() {
		row := ChartRow{Label: s.Site, Chosen: s.Site == m.site}
		if p, ok := m.cheapestOption(s.Site); ok {
			row.Note = "from " + format.FormatInstant(p.Start)
		} else {
			row.Note = m.noOffer(s.Site).renderText()
		}
		c.Rows = append(c.Rows, row)
	}
	for _, term := range narrate.CostCauses() {
		points, any := []Point(nil), false
		for _, s := range c.Rows {
			if p, ok := m.cheapestOption(s.Label); ok {
				v := int64(term.Of(p.Terms))
				points, any = append(points, Point{Label: s.Label, Value: v}), any || v != 0
			}
		}
		if any {
			c.Series = append(c.Series, Series{term.Label, points})
		}
	}
	return c.orNil()
}

// forecastChart draws the forecasts that sites had made at an instant, or what was published since.
func (l *Dataset) forecastChart(only string, price, published bool, at, until protocol.Time) *Chart {
	what, unit := "carbon intensity", "milligrams-per-kwh"
	if price {
		what, unit = "price of electricity", "microdollars-per-kwh"
	}
	c := &Chart{Kind: "forecast", Title: what + map[bool]string{true: ", published, or as said at ", false: ", as said at "}[published] + min(at, l.lastTime()).String(), Unit: unit}
	for s, site := range l.sitesIn(ask.Query{Site: only}) {
		o, _ := site.ForecastAt(at)
		for h := at.Floor(time.Hour); h < until; h = h.Add(time.Hour) {
			v, ok := gridAt(o, price, h)
			if published {
				v, _, ok = l.gridKnown(s, price, at, h)
			}
			if ok {
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
