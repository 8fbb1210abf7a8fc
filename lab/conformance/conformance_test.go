package conformance

import (
	"bufio"
	"compress/gzip"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// column reads one column of a published CSV, or skips the test.
func column(t *testing.T, name string, index int) (out []float64) {
	t.Helper()
	f, err := os.Open(filepath.Join("../../../shared/data/conformance", name))
	if err != nil {
		t.Skipf("published data is not here: %v", err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	lines := bufio.NewScanner(r)
	for n := 0; lines.Scan(); n++ {
		if n == 0 || lines.Text() == "" {
			continue
		}
		v, err := strconv.ParseFloat(strings.Split(lines.Text(), ",")[index], 64)
		if err != nil {
			t.Fatalf("%s: line %d: %v", name, n+1, err)
		}
		out = append(out, v)
	}
	return out
}

func TestGAIAsFigure8ComesOutOnEveryRow(t *testing.T) {
	want := []RuleResult{
		{"no-wait", 562.171, 1, 0},
		{"lowest-slot", 0, 0.780037, 0},
		{"lowest-window", 0, 0.683704, 6.645},
		{"carbon-time", 407.511, 0.724888, 4.729},
		{"ecovisor", 0, 0.639105, 0},
		{"interruptible-optimum", 307.056, 0.546196, 0},
		{"hourly-optimum", 0, 0.6144, 0},
		{"optimum", 0, 0.6120, 0},
	}
	const trace = "gaia_pai_1k.csv"
	var cpus []int
	for _, v := range column(t, trace, 2) {
		cpus = append(cpus, int(v))
	}
	got := ReplayGAIA(column(t, trace, 0), column(t, trace, 1), cpus, column(t, "gaia_au_sa_2022_h7000_h7719.csv", 1))
	for i, w := range want {
		g, digits := got[i], 1e-6
		if strings.Contains(g.Rule, "optimum") && w.Carbon == 0 {
			digits = 1e-4 // published with four
		}
		if g.Rule != w.Rule || math.Abs(g.Relative-w.Relative) > digits {
			t.Errorf("%s: %.7f of starting at once; published %s: %.6f", g.Rule, g.Relative, w.Rule, w.Relative)
		}
		if w.Carbon != 0 && math.Abs(g.Carbon-w.Carbon) > 1e-3 {
			t.Errorf("%s: %.4f; published %.3f", g.Rule, g.Carbon, w.Carbon)
		}
		if w.Wait != 0 && math.Abs(g.Wait-w.Wait) > 1e-3 {
			t.Errorf("%s: mean wait %.4f h; published %.3f h", g.Rule, g.Wait, w.Wait)
		}
		t.Logf("%-22s %.6f  %.3f  wait %.3f h", g.Rule, g.Relative, g.Carbon, g.Wait)
	}
}

func TestLetsWaitAwhilesNightlyJobComesOut(t *testing.T) {
	tests := []struct {
		region string
		want   [4]float64 // per cent, at 2, 4, 6 and 8 hours either way
	}{
		{"de", [4]float64{2.5, 3.7, 7.3, 13.5}},
		{"gb", [4]float64{6.6, 8.4, 8.9, 10.2}},
		{"fr", [4]float64{4.5, 5.8, 6.9, 7.5}},
	}
	for _, tc := range tests {
		values := column(t, "lwa_"+tc.region+"_2020_half_hourly.csv.gz", 1)
		for i, want := range tc.want {
			if got := 100 * NightlyJobSaving(values, 2*(i+1)); math.Abs(got-want) > 0.1 {
				t.Errorf("%s, %d h either way: saves %.2f %%; published %.1f %%", tc.region, 2*(i+1), got, want)
			}
		}
	}
}
