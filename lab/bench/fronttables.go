package bench

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gridbid/gridbid/internal/atomicfile"
	"github.com/gridbid/gridbid/internal/chart"
)

// frontNote explains a front above its table.
const frontNote = "Savings of the jobs' own energy against home-fifo, at each price of waiting of a standard job whose run is an hour (free: no price and no limit but the deadline). Mean of the days, with the range. The clairvoyant is the best schedule that a search with full knowledge found at the same prices. Knee: the price whose savings, cost and carbon together, lie farthest above the straight line between the ends of the auction's curve, waits and savings each as a part of their range."

// WriteFront writes a front into a folder: front.md, front.csv (by day), front.json, and the
// charts front-mean.svg and front-median.svg. Each file is replaced as a whole.
func WriteFront(dir string, days []FrontDay) error {
	points := FrontPoints(days)
	var table, lines, object bytes.Buffer
	if err := WriteFrontMarkdown(&table, points); err != nil {
		return err
	}
	if err := writeFrontCSV(&lines, days); err != nil {
		return err
	}
	if err := writeFrontJSON(&object, days); err != nil {
		return err
	}
	files := []struct {
		name string
		text []byte
	}{
		{"front.md", table.Bytes()}, {"front.csv", lines.Bytes()}, {"front.json", object.Bytes()},
		{"front-mean.svg", frontChart("mean", points, func(p FrontPoint) Distribution { return p.WaitMin }).ComputeLayout(frontChartWidth).EncodeSVG()},
		{"front-median.svg", frontChart("median", points, func(p FrontPoint) Distribution { return p.MedianMin }).ComputeLayout(frontChartWidth).EncodeSVG()},
	}
	for _, x := range files {
		if err := atomicfile.ReplaceFile(filepath.Join(dir, x.name), x.text, 0o644); err != nil {
			return fmt.Errorf("bench: %s: %w", x.name, err)
		}
	}
	return nil
}

// frontChartWidth is the width of a front's charts, in pixels.
const frontChartWidth = 720

// frontChart draws the savings of both curves against a wait.
func frontChart(which string, points []FrontPoint, wait func(FrontPoint) Distribution) chart.CurveChart {
	c := chart.CurveChart{
		Title: "What waiting saves", XUnit: which + " wait in minutes", YUnit: "per cent less than home-fifo, mean of the days", XDecimals: 1, YDecimals: 1,
	}
	figures := []struct {
		name  string
		value func(FrontPoint) Distribution
	}{
		{"cost", func(p FrontPoint) Distribution { return p.Cost }},
		{"carbon", func(p FrontPoint) Distribution { return p.Carbon }},
	}
	for _, curve := range []string{FrontAuction, FrontClairvoyant} {
		for _, f := range figures {
			line := chart.Curve{Name: curve + ", " + f.name, Dashed: curve == FrontClairvoyant}
			for _, p := range points {
				if p.Curve != curve || f.value(p).N == 0 {
					continue
				}
				name := p.Price.String()
				if p.Knee {
					name = "knee " + name
				}
				line.Points = append(line.Points, chart.NamedPoint{Name: name, X: wait(p).Mean, Y: -100 * f.value(p).Mean, Highlighted: p.Knee})
			}
			if len(line.Points) > 0 {
				c.Curves = append(c.Curves, line)
			}
		}
	}
	return c
}

// WriteFrontMarkdown writes the points of a front as a table.
func WriteFrontMarkdown(w io.Writer, points []FrontPoint) error {
	b := new(strings.Builder)
	fmt.Fprintf(b, "# Savings against waiting\n\n%s\n\n", frontNote)
	writeTableHead(b, []string{"curve", "waiting, $ per GPU-h", "days", "cost %", "carbon %", "both %", "wait min", "median wait min", "late", "above the bound %", ""})
	for _, p := range points {
		knee, late := "", p.Late.meanWithRange(1, 1)
		if p.Knee {
			knee = "knee"
		}
		if p.Curve == FrontClairvoyant {
			late = "–"
		}
		writeTableLine(b, []string{
			p.Curve, strings.TrimPrefix(p.Price.String(), "$"), strconv.Itoa(p.Days), p.Cost.meanWithRange(100, 1), p.Carbon.meanWithRange(100, 1), p.Both.meanWithRange(100, 1),
			p.WaitMin.meanWithRange(1, 0), p.MedianMin.meanWithRange(1, 0), late, p.OverBound.meanWithRange(100, 1), knee,
		})
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// meanWithRange returns the mean and, of several values, the range; each times scale.
func (s Distribution) meanWithRange(scale float64, places int) string {
	f := func(v float64) string { return strconv.FormatFloat(scale*v, 'f', places, 64) }
	switch s.N {
	case 0:
		return "–"
	case 1:
		return f(s.Mean)
	}
	return fmt.Sprintf("%s [%s..%s]", f(s.Mean), f(s.Low), f(s.High))
}

// writeFrontCSV writes one line for each day, price and curve.
func writeFrontCSV(w io.Writer, days []FrontDay) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"scenario", "seed", "curve", "price_usd", "free", "cost", "carbon", "both", "wait_min", "median_min", "late", "over_bound"}); err != nil {
		return err
	}
	for _, d := range days {
		number := func(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }
		change := func(v float64) string {
			if d.NoRatio {
				return ""
			}
			return number(v)
		}
		if err := out.Write([]string{
			d.Scenario, strconv.FormatUint(d.Seed, 10), d.Curve, strconv.FormatFloat(d.Price.USD, 'f', -1, 64), strconv.FormatBool(d.Price.Free),
			change(d.Cost), change(d.Carbon), change(d.Both), number(d.WaitMin), number(d.MedianMin), number(d.Late), number(d.OverBound),
		}); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// A FrontReport is the points of a front and its days, schema version 1.
type FrontReport struct {
	Schema int          `json:"schema"`
	Points []FrontPoint `json:"points"`
	Days   []FrontDay   `json:"days"`
}

// FrontReportOf returns the report of a front's days.
func FrontReportOf(days []FrontDay) FrontReport { return FrontReport{1, FrontPoints(days), days} }

// writeFrontJSON writes the report of a front.
func writeFrontJSON(w io.Writer, days []FrontDay) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(FrontReportOf(days))
}
