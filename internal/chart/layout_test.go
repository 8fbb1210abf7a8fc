package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

var pictures = flag.String("pictures", "", "write the charts of the tests into this folder")

const midnight protocol.Time = 1_649_808_000_000 // 2022-04-13T00:00:00Z

func bars() BarChart {
	return BarChart{
		Title: "What sites offered for job-0042", Unit: "dollars, by cause", Decimals: 4,
		Parts: []string{"energy", "carbon", "transfer", "delay"},
		Rows: []BarRow{
			{Name: "hydro-north", Values: []float64{0.011, 0.002, 0.004, 0}, Note: "from 03:00", Highlighted: true},
			{Name: "coal-plains", Values: []float64{0.008, 0.031, 0, 0.001}},
			{Name: "wind-coast", Values: []float64{-0.004, 0.006, 0.001, 0}},
			{Name: "mixed-grid", Note: "its data may not leave the regions that it names"},
		},
	}
}

func lines() LineChart {
	l := LineChart{
		Title: "Carbon intensity", Unit: "grams of CO2e per kWh; hours in UTC", Start: midnight, End: midnight.Add(24 * time.Hour),
		Bands: []TimeBand{{midnight.Add(2 * time.Hour), midnight.Add(5*time.Hour + 20*time.Minute), "runs at hydro-north", SeriesInk(2)}},
		Rules: []TimeMarker{{midnight.Add(90 * time.Minute), "arrived"}, {midnight.Add(20 * time.Hour), "due"}},
	}
	for i, name := range []string{"hydro-north", "coal-plains", "wind-coast"} {
		v := LineSeries{Name: name}
		for h := range 24 {
			v.Of = append(v.Of, 60+220*float64(i%2)+40*math.Sin(float64(h+4*i)/24*2*math.Pi))
		}
		l.Series = append(l.Series, v)
	}
	l.Series[2].Of[7] = math.NaN()
	return l
}

func stacked() LineChart {
	l := lines()
	l.Title, l.Unit, l.Stacked, l.Bands, l.Rules = "GPUs held", "by site, stacked", true, nil, nil
	return l
}

// elements returns the start of every element of a scene, each of which is
// read as XML.
func elements(t interface{ Fatalf(string, ...any) }, svg []byte) (all []xml.StartElement) {
	for dec := xml.NewDecoder(bytes.NewReader(svg)); ; {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
		if e, ok := tok.(xml.StartElement); ok {
			all = append(all, e)
		}
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func number(t *testing.T, e xml.StartElement, name string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(attr(e, name), 64)
	if err != nil {
		t.Fatalf("%s of <%s>: %v", name, e.Name.Local, err)
	}
	return v
}

// A bar's length equals its figure in the table.
func TestBarsAreAsLongAsTheirValues(t *testing.T) {
	b := bars()
	var got []float64
	for _, e := range elements(t, b.ComputeLayout(720).EncodeSVG()) {
		if e.Name.Local == "rect" && strings.HasPrefix(attr(e, "class"), "f-p") && number(t, e, "height") == barHeight {
			got = append(got, number(t, e, "width"))
		}
	}
	var want []float64
	for _, r := range b.Rows {
		for _, v := range r.Values {
			if v != 0 {
				want = append(want, math.Abs(v))
			}
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d bars are drawn; want %d", len(got), len(want))
	}
	scale := got[4] / want[4] // of the longest of all rows
	for i := range want {
		if math.Abs(got[i]-want[i]*scale) > 0.011 {
			t.Errorf("bar %d is %v px; want %v of %v px each", i, got[i], want[i], scale)
		}
	}
}

func TestPointsStandAtTheirValues(t *testing.T) {
	l := lines()
	l.Series = l.Series[:2]
	var rows [][]float64
	for _, e := range elements(t, l.ComputeLayout(720).EncodeSVG()) {
		if e.Name.Local != "polyline" || attr(e, "stroke-width") != "2" {
			continue
		}
		var ys []float64
		for i, p := range strings.Fields(attr(e, "points")) {
			_, y, _ := strings.Cut(p, ",")
			v, err := strconv.ParseFloat(y, 64)
			if err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				ys = append(ys, v)
			}
		}
		if len(ys) > 1 {
			rows = append(rows, ys)
		}
	}
	if len(rows) != 2 {
		t.Fatalf("%d lines are drawn; want 2", len(rows))
	}
	// Two points give the scale; every other has to stand on it.
	v, y := l.Series, rows
	perUnit := (y[1][0] - y[0][0]) / (v[1].Of[0] - v[0].Of[0])
	for s := range rows {
		for i := range rows[s] {
			if want := y[0][0] + perUnit*(v[s].Of[i]-v[0].Of[0]); math.Abs(rows[s][i]-want) > 0.05 {
				t.Errorf("%s at step %d stands at %v; want %v", v[s].Name, i, rows[s][i], want)
			}
		}
	}
}

func TestTheSameChartHasTheSameBytes(t *testing.T) {
	for name, c := range map[string]Chart{"bars": bars(), "lines": lines(), "stacked": stacked()} {
		a, b := c.ComputeLayout(720).EncodeSVG(), c.ComputeLayout(720).EncodeSVG()
		if !bytes.Equal(a, b) {
			t.Errorf("%s: SVG differs", name)
		}
		x, err := c.ComputeLayout(720).EncodePNG()
		if err != nil {
			t.Fatal(err)
		}
		y, _ := c.ComputeLayout(720).EncodePNG()
		if !bytes.Equal(x, y) {
			t.Errorf("%s: PNG differs", name)
		}
		if im, err := png.Decode(bytes.NewReader(x)); err != nil || im.Bounds().Dx() != 1440 {
			t.Errorf("%s: %v; want a picture 1440 pixels wide", name, err)
		}
		if *pictures != "" {
			for ext, data := range map[string][]byte{".svg": a, ".png": x} {
				if err := os.WriteFile(filepath.Join(*pictures, name+ext), data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// The picture is of the scene: the longest bar's ink is where the SVG has it.
func TestThePictureShowsTheScene(t *testing.T) {
	for _, c := range []Chart{bars(), stacked()} {
		s := c.ComputeLayout(720)
		raw, err := s.EncodePNG()
		if err != nil {
			t.Fatal(err)
		}
		im, err := png.Decode(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, m := range s.Marks {
			if x, y, w, h, ok := m.asRectangle(); ok && m.Ink >= InkSeries && w > 4 {
				r, g, b, _ := im.At(int((x+w/2)*pixelScale), int((y+h/2)*pixelScale)).RGBA()
				want := m.Ink.lightColor(false)
				if uint8(r>>8) != want.R || uint8(g>>8) != want.G || uint8(b>>8) != want.B {
					t.Errorf("a box of ink %s is %02x%02x%02x in the picture", m.Ink.className(), r>>8, g>>8, b>>8)
				}
				seen++
			}
		}
		if seen < 3 {
			t.Errorf("only %d boxes were looked at", seen)
		}
	}
}

func TestAnyChartIsDrawn(t *testing.T) {
	words := rapid.SampledFrom([]string{"", "oslo", "</text><script>alert(1)</script>", "\x1b[2J\u202e", strings.Repeat("long ", 60), "\xff\xfe", `"'&`})
	value := rapid.SampledFrom([]float64{0, 1, -3, 1e-9, 1e12, math.NaN(), math.Inf(1), math.Inf(-1), 42.5})
	rapid.Check(t, func(t *rapid.T) {
		b := BarChart{Title: words.Draw(t, "title"), Unit: words.Draw(t, "unit"), Parts: rapid.SliceOfN(words, 0, 9).Draw(t, "parts")}
		l := LineChart{
			Title: words.Draw(t, "title"), Unit: words.Draw(t, "unit"), Start: midnight, Stacked: rapid.Bool().Draw(t, "stacked"),
			End:   midnight.Add(time.Duration(rapid.SampledFrom([]int{-3, 0, 1, 24, 800}).Draw(t, "hours")) * time.Hour),
			Bands: []TimeBand{{midnight, midnight.Add(time.Hour), words.Draw(t, "band"), InkSeries}}, Rules: []TimeMarker{{midnight.Add(time.Minute), words.Draw(t, "rule")}},
		}
		curves := CurveChart{Title: words.Draw(t, "title"), XUnit: words.Draw(t, "x"), YUnit: words.Draw(t, "y")}
		for range rapid.IntRange(0, 10).Draw(t, "rows") {
			point := NamedPoint{Name: words.Draw(t, "point"), X: value.Draw(t, "px"), Y: value.Draw(t, "py"), Highlighted: rapid.Bool().Draw(t, "marked")}
			curves.Curves = append(curves.Curves, Curve{Name: words.Draw(t, "curve"), Points: []NamedPoint{point, {X: 1, Y: 2}}, Dashed: rapid.Bool().Draw(t, "dashed")})
			values := rapid.SliceOfN(value, 0, 12).Draw(t, "values")
			b.Rows = append(b.Rows, BarRow{Name: words.Draw(t, "name"), Values: values, Note: words.Draw(t, "note"), Highlighted: rapid.Bool().Draw(t, "chosen")})
			l.Series = append(l.Series, LineSeries{Name: words.Draw(t, "name"), Of: values})
		}
		for _, c := range []Chart{b, l, curves} {
			s := c.ComputeLayout(rapid.SampledFrom([]float64{240, 390, 1200}).Draw(t, "width"))
			for _, e := range elements(t, s.EncodeSVG()) {
				if e.Name.Local == "script" {
					t.Fatalf("a name became an element")
				}
				for _, a := range e.Attr {
					if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") && e.Name.Local != "svg" {
						t.Fatalf("<%s> has %s=%q", e.Name.Local, a.Name.Local, a.Value)
					}
				}
			}
			if s.W < 300 { // pictures take long
				if _, err := s.EncodePNG(); err != nil {
					t.Fatal(err)
				}
			}
			for _, row := range c.FigureTable().Rows {
				for _, cell := range row {
					if legibleText(cell) != cell {
						t.Fatalf("the figures hold %q", cell)
					}
				}
			}
		}
	})
}

func TestTicksAreFewAndInOrder(t *testing.T) {
	for _, hours := range []float64{1, 5, 24, 48, 169, 800} {
		from := midnight.Add(17 * time.Minute)
		to := from.Add(time.Duration(hours * float64(time.Hour)))
		all := timeTicks(from, to, 8)
		if len(all) > 9 {
			t.Errorf("ticks over %v hours are %d; want at most 9", hours, len(all))
		}
		for i, k := range all {
			if k.at < from || k.at > to || i > 0 && k.at <= all[i-1].at {
				t.Errorf("ticks over %v hours: tick %d is at %v", hours, i, k.at)
			}
		}
	}
	for _, tc := range []struct{ span, want float64 }{{4, 1}, {100, 50}, {90, 50}, {70, 20}, {0.3, 0.1}, {0, 1}, {math.NaN(), 1}} {
		if got := tickDistance(tc.span); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("tickDistance(%v) = %v; want %v", tc.span, got, tc.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, tc := range []struct {
		v        float64
		decimals int
		want     string
	}{
		{0, 2, "0.00"}, {-0.5, 2, "-0.50"}, {999.999, 2, "1,000.00"}, {1234567.891, 2, "1,234,567.89"},
		{-1234.5, 2, "-1,234.50"}, {-123.4, 2, "-123.40"}, {1e6, 0, "1,000,000"}, {12, 0, "12"},
	} {
		if got := FormatNumber(tc.v, tc.decimals); got != tc.want {
			t.Errorf("FormatNumber(%v, %d) = %q; want %q", tc.v, tc.decimals, got, tc.want)
		}
	}
}
