package power_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// The curves that are built in are the medians of the traces they come from,
// to a thousandth.
func TestCurvesAreTheMediansOfTheirTraces(t *testing.T) {
	for _, model := range []string{"V100", "A40"} {
		t.Run(model, func(t *testing.T) {
			name := fmt.Sprintf("../../../shared/data/power/zeus_powercap_%s.csv", strings.ToLower(model))
			f, err := os.Open(name)
			if err != nil {
				t.Skipf("the traces are not here: %v", err)
			}
			defer f.Close()
			rows, err := csv.NewReader(f).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			g, _ := power.DefaultTable().LookupModel(model)
			for _, c := range g.Caps {
				speed, energy := median(t, rows, "rel_throughput", c.Limit), median(t, rows, "rel_energy", c.Limit)
				if apart(speed, c.Speed) || apart(energy, c.Energy) {
					t.Errorf("%s at %d mW: (%d, %d); the traces say (%.4f, %.4f)", model, c.Limit, c.Speed, c.Energy, speed, energy)
				}
			}
			if g.Load < protocol.Milliwatts(1000*mean(t, rows, g.Limit)) {
				t.Errorf("%s: load %d mW is under the mean without a cap", model, g.Load)
			}
		})
	}
}

func apart(measured float64, row protocol.Milli) bool {
	return math.Abs(1000*measured-float64(row)) > 1
}

// column returns the values of a column in the runs under a limit.
func column(t *testing.T, rows [][]string, name string, limit protocol.Milliwatts) (values []float64) {
	t.Helper()
	of, at := slices.Index(rows[0], "power_limit_w"), slices.Index(rows[0], name)
	for _, row := range rows[1:] {
		w, err := strconv.ParseFloat(row[of], 64)
		if err != nil {
			t.Fatal(err)
		}
		if protocol.Milliwatts(w*1000) == limit {
			v, err := strconv.ParseFloat(row[at], 64)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, v)
		}
	}
	if len(values) < 40 {
		t.Fatalf("%d runs under %d mW; want the 40 and more that were published", len(values), limit)
	}
	return values
}

func median(t *testing.T, rows [][]string, name string, limit protocol.Milliwatts) float64 {
	t.Helper()
	v := slices.Sorted(slices.Values(column(t, rows, name, limit)))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func mean(t *testing.T, rows [][]string, limit protocol.Milliwatts) (m float64) {
	t.Helper()
	v := column(t, rows, "average_power_w", limit)
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}
