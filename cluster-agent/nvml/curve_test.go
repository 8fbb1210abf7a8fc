package nvml

import (
	"strings"
	"testing"

	"github.com/gridbid/gridbid/agents/power"
)

const good = `{"schema":1,"device":"H100","uuid":"GPU-1","driver":"570","command":["a"],"at":"2026-01-02T00:00:00Z","idle_mw":90000,"default_limit_mw":700000,"points":[{"limit_mw":700000,"seconds":60,"joules":30000,"runs":3},{"limit_mw":400000,"seconds":70,"joules":25000,"runs":3}]}`

func TestACurveThatIsWrongIsRefused(t *testing.T) {
	for _, tc := range []struct{ name, old, new, want string }{
		{"another schema", `"schema":1`, `"schema":2`, "schema"},
		{"a negative idle draw", `90000`, `-1`, "idle_mw"},
		{"no points", `"points":[{`, `"points":[],"x":[{`, "unknown field"},
		{"limits out of order", `"limit_mw":400000`, `"limit_mw":800000`, "points[1].limit_mw"},
		{"no time", `"seconds":70`, `"seconds":0`, "points[1]"},
		{"no number", `"seconds":70`, `"seconds":"x"`, "curve.json"},
		{"the default limit is not first", `"default_limit_mw":700000`, `"default_limit_mw":650000`, "points"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ReadPowerCurve(strings.NewReader(strings.Replace(good, tc.old, tc.new, 1)), "curve.json")
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "curve.json") {
				t.Errorf("ReadCurve = %v, want it to name %q", err, tc.want)
			}
		})
	}
}

// A card of 500 W under this work is measured to draw 0.2 % more than its limit, and
// under one that it never reaches 0.1 % more than without.
func TestACurveIsTakenWithTheNoiseOfItsMeasurement(t *testing.T) {
	h100, _ := power.DefaultTable().LookupModel("H100")
	curve := func(watts float64) PowerCurve {
		return PowerCurve{Idle: 90_000, Default: 700_000, Points: []Point{
			{Limit: 700_000, Seconds: 60, Joules: 60 * 500}, {Limit: 600_000, Seconds: 60.1, Joules: 60.1 * 500.5}, {Limit: 400_000, Seconds: 70, Joules: 70 * watts},
		}}
	}
	table, err := power.DefaultTable().WithGPU(curve(400.8).ApplyToGPUModel(h100))
	if err != nil {
		t.Fatal(err)
	}
	g, _ := table.LookupModel("H100")
	if c, ok := g.ChoiceAt(400_000); !ok || c.Draw < 399_000 || c.Draw > 400_000 || len(g.Caps) != 2 {
		t.Errorf("under 400 W it draws %d mW, %t, of %+v", c.Draw, ok, g)
	}
	if _, err := power.DefaultTable().WithGPU(curve(480).ApplyToGPUModel(h100)); err == nil {
		t.Error("a card that drew 480 W under 400 W is believed")
	}
}

func FuzzReadCurve(f *testing.F) {
	f.Add(good)
	f.Add(`{}`)
	h100, _ := power.DefaultTable().LookupModel("H100")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ReadPowerCurve(strings.NewReader(text), "fuzz")
		if err != nil {
			return
		}
		_, _ = power.DefaultTable().WithGPU(c.ApplyToGPUModel(h100)) // may be refused, not panic
	})
}
