package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A bar is as high as its share of the lane and lies over its time; bars of a lane never overlap.
func TestGanttBarsShowTimeAndShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := GanttLane{Name: "oslo", Note: "8 GPUs", Ink: SeriesInk(0), Capacity: 64}
		for i := range rapid.IntRange(1, 30).Draw(t, "bars") {
			from := midnight.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "from")) * time.Hour)
			to := from.Add(time.Duration(rapid.IntRange(1, 4).Draw(t, "hours")) * time.Hour)
			l.Bars = append(l.Bars, GanttBar{Name: fmt.Sprint(i), From: from, To: to, Sure: to, Units: rapid.IntRange(1, 16).Draw(t, "units"), Ref: fmt.Sprintf("decision D-%d", i)})
		}
		rows, used := l.packBars()
		for i, a := range l.Bars {
			for k, b := range l.Bars[:i] {
				if a.From < b.To && b.From < a.To && rows[i] < rows[k]+b.Units && rows[k] < rows[i]+a.Units {
					t.Fatalf("bars %d and %d overlap: %+v in row %d, %+v in row %d", i, k, a, rows[i], b, rows[k])
				}
			}
		}
		g := GanttChart{Title: "Jobs", Start: midnight, End: midnight.Add(24 * time.Hour), Lanes: []GanttLane{l}}
		s := g.ComputeLayout(800)
		perUnit, perHour := 56/float64(max(used, 64)), (800-chartMargin-14-chartMargin)/24.0
		seen := 0
		for _, m := range s.Marks {
			if m.Ref == "" || m.Ink != SeriesInk(0) {
				continue
			}
			var i int
			_, _ = fmt.Sscanf(m.Ref, "decision D-%d", &i)
			b := l.Bars[i]
			x, _, w, h, ok := m.asRectangle()
			wantW, wantX := b.To.Sub(b.From).Hours()*perHour, chartMargin+b.From.Sub(midnight).Hours()*perHour
			if !ok || math.Abs(w-wantW) > 1 || math.Abs(x-wantX) > 0.1 || math.Abs(h-perUnit*float64(b.Units)) > 1.01 {
				t.Fatalf("bar %d is %.1f wide at %.1f and %.1f high; want %.1f at %.1f and %.1f", i, w, x, h, wantW, wantX, perUnit*float64(b.Units))
			}
			seen++
		}
		if seen != len(l.Bars) {
			t.Fatalf("%d bars are drawn; want %d", seen, len(l.Bars))
		}
	})
}

// What is planned is outlined, and said in the figures.
func TestGanttShowsWhatIsPlanned(t *testing.T) {
	now := midnight.Add(2 * time.Hour)
	g := GanttChart{Title: "Jobs", Start: midnight, End: midnight.Add(4 * time.Hour), Rules: []TimeMarker{{At: now, Name: "02:00"}},
		Lanes: []GanttLane{{Name: "oslo", Ink: SeriesInk(0), Capacity: 1, Bars: []GanttBar{{Name: "a", From: midnight, To: midnight.Add(3 * time.Hour), Sure: now, Units: 1}}}}}
	solid, faint := 0.0, 0.0
	for _, m := range g.ComputeLayout(800).Marks {
		if _, _, w, _, ok := m.asRectangle(); ok && m.Ink == SeriesInk(0) && m.Stroke == 0 {
			if m.Faint {
				faint += w
			} else {
				solid += w
			}
		}
	}
	if math.Abs(solid-2*faint) > 2 || faint == 0 {
		t.Errorf("%.1f px are certain and %.1f planned; want two hours and one", solid, faint)
	}
	if rows := g.FigureTable().Rows; len(rows) != 1 || rows[0][4] != "planned from 13 Apr 02:00" {
		t.Errorf("the figures are %q", rows)
	}
}

// A bar far longer than the others is broken off, so that those are seen; its value is not.
func TestABarThatWouldHideOthersIsBrokenOff(t *testing.T) {
	b := BarChart{Title: "Cost", Unit: "dollars", Broken: true, Rows: []BarRow{{Name: "a", Values: []float64{10}}, {Name: "b", Values: []float64{12}}, {Name: "c", Values: []float64{4000}}}}
	var widths []float64
	breaks, said := 0, ""
	for _, m := range b.ComputeLayout(600).Marks {
		if _, _, w, h, ok := m.asRectangle(); ok && m.Tip != "" && h == barHeight {
			widths = append(widths, w)
		}
		if m.Stroke == 2 && m.Ink == InkPaper {
			breaks++
		}
		said += m.Text + "\n"
	}
	if len(widths) != 3 || widths[2] > 3.1*widths[1] || math.Abs(widths[0]/widths[1]-10.0/12) > 0.01 || breaks != 2 || !strings.Contains(said, "4,000") {
		t.Errorf("bars are %v wide with %d strokes through them, and say %q", widths, breaks, said)
	}
}

// Panels each have a scale of their own, and one table.
func TestPanelsHaveTheirOwnScales(t *testing.T) {
	p := PanelChart{Title: "Policies", Unit: "dollars", Panels: []BarChart{
		{Title: "Energy", Unit: "dollars", Rows: []BarRow{{Name: "a", Values: []float64{1}}, {Name: "b", Values: []float64{2}}}},
		{Title: "Lateness", Unit: "dollars", Rows: []BarRow{{Name: "a", Values: []float64{1000}}, {Name: "b", Values: []float64{500}}}},
	}}
	for _, width := range []float64{320, 700} {
		s := p.ComputeLayout(width)
		var all []float64
		right := 0.0
		for _, m := range s.Marks {
			if x, _, w, h, ok := m.asRectangle(); ok && m.Tip != "" && h == barHeight {
				all, right = append(all, w), max(right, x+w)
			}
		}
		if len(all) != 4 || math.Abs(all[1]-2*all[0]) > 0.1 || math.Abs(all[2]-2*all[3]) > 0.1 || right > width {
			t.Errorf("at %v: bars of %v px up to %v", width, all, right)
		}
	}
	if f := p.FigureTable(); len(f.Rows) != 2 || strings.Join(f.Rows[1], "|") != "b|2|500" {
		t.Errorf("the figures are %+v", f)
	}
}

// No text of a chart is cut, and none reaches beyond it.
func TestNoTextOfBarsIsCut(t *testing.T) {
	b := BarChart{Title: "What each site offered for a-job-with-a-rather-long-name-0042", Unit: "dollars by cause; carbon at $100 per tonne", Decimals: 4, Rows: []BarRow{
		{Name: "a-site-with-a-name-that-is-much-longer-than-others", Values: []float64{0.25}, Note: "from 11 Mar 14:00, Highlighted"},
		{Name: "oslo", Note: "its data may not leave the regions that it names, and nobody there has the GPUs"},
	}}
	for _, width := range []float64{320, 560, 1200} {
		all := ""
		for _, m := range b.ComputeLayout(width).Marks {
			all += " " + m.Text
			if m.Text != "" && m.At[0].X+textWidth(m.Text, m.Size, m.Bold) > width {
				t.Errorf("at %v, %q reaches beyond the chart", width, m.Text)
			}
		}
		plain := strings.Join(strings.Fields(all), " ")
		for _, want := range []string{b.Title, b.Unit, b.Rows[1].Note} {
			if !strings.Contains(strings.ReplaceAll(plain, " ", ""), strings.ReplaceAll(want, " ", "")) {
				t.Errorf("at %v, %q is cut: %s", width, want, plain)
			}
		}
		if strings.Contains(plain, "…") {
			t.Errorf("at %v: %s", width, plain)
		}
	}
}

// A hue means a site. What is no site has other inks, told apart from those in light and dark.
func TestNoInkHasTwoMeanings(t *testing.T) {
	seen := make(map[string]string)
	for _, ink := range inkShades {
		if ink.light == "" {
			continue
		}
		for _, hex := range []string{ink.light + " light", ink.dark + " dark"} {
			if was, ok := seen[hex]; ok {
				t.Errorf("%s is the ink %s and %s", hex, was, ink.name)
			}
			seen[hex] = ink.name
		}
	}
	for _, site := range inkShades[InkSeries:inkParts] {
		for _, part := range inkShades[inkParts:] {
			if d := distance(site.light, part.light); d < 40 {
				t.Errorf("%s and %s are %v apart", site.name, part.name, d)
			}
		}
	}
}

// distance is how far two colours are apart in RGB.
func distance(a, b string) float64 {
	var x, y [3]int
	_, _ = fmt.Sscanf(a, "#%02x%02x%02x", &x[0], &x[1], &x[2])
	_, _ = fmt.Sscanf(b, "#%02x%02x%02x", &y[0], &y[1], &y[2])
	return math.Sqrt(float64((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2])))
}
