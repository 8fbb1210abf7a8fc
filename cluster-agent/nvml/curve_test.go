package nvml

import (
	"strings"
	"testing"

	"github.com/gridbid/gridbid/cluster-agent/power"
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
			_, err := ReadCurve(strings.NewReader(strings.Replace(good, tc.old, tc.new, 1)), "curve.json")
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "curve.json") {
				t.Errorf("ReadCurve = %v, want it to name %q", err, tc.want)
			}
		})
	}
}

func FuzzReadCurve(f *testing.F) {
	f.Add(good)
	f.Add(`{}`)
	h100, _ := power.Default().Lookup("H100")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ReadCurve(strings.NewReader(text), "fuzz")
		if err != nil {
			return
		}
		_, _ = power.Default().With(c.GPU(h100)) // may be refused, not panic
	})
}
