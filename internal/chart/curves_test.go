package chart

import (
	"math"
	"strings"
	"testing"
)

// Points stand where their values are: twice the value is twice as far from zero, and a
// value that is not finite has a cell in the table and no mark.
func TestPointsOfACurveStandAtTheirValues(t *testing.T) {
	c := CurveChart{
		Title: "front", XUnit: "minutes", YUnit: "per cent",
		Curves: []Curve{
			{Name: "auction", Points: []NamedPoint{{Name: "a", X: 20, Y: -10}, {Name: "b", X: 40, Y: -20, Highlighted: true}, {Name: "nowhere", X: math.NaN(), Y: 1}}},
			{Name: "best", Dashed: true, Points: []NamedPoint{{Name: "c", X: 60, Y: 5}}},
		},
	}
	s := c.ComputeLayout(600)
	at := make(map[string]Point)
	for _, m := range s.Marks {
		if m.Tip == "" || len(m.At) != 4 {
			continue
		}
		x, y := (m.At[0].X+m.At[2].X)/2, (m.At[0].Y+m.At[2].Y)/2
		if was, ok := at[m.Tip]; ok && (was.X != x || was.Y != y) {
			t.Errorf("%s stands at two places", m.Tip)
		}
		at[m.Tip] = Point{x, y}
	}
	a, b, best := at["auction, a: -10 at 20"], at["auction, b: -20 at 40"], at["best, c: 5 at 60"]
	if len(at) != 3 {
		t.Fatalf("%d points are drawn: %v", len(at), at)
	}
	if math.Abs((b.X-a.X)-(best.X-b.X)) > 1e-6 || math.Abs((b.Y-a.Y)-(a.Y-best.Y)*10/15) > 1e-6 || b.Y <= a.Y || b.X <= a.X {
		t.Errorf("points stand at %v, %v and %v", a, b, best)
	}
	named := 0
	for _, m := range s.Marks {
		if m.Text == "b" && m.Bold {
			named++
		}
		if m.Text == "a" || m.Text == "c" {
			t.Errorf("%s is named, and is not highlighted", m.Text)
		}
	}
	if f := c.FigureTable(); named != 1 || len(f.Rows) != 4 || f.Rows[2][3] != "–" || f.Rows[1][3] != "-20" {
		t.Errorf("%d names; figures %v", named, f.Rows)
	}
	if !strings.Contains(s.Label, "auction, b: -20 at 40.") {
		t.Errorf("the label is %q", s.Label)
	}
}
