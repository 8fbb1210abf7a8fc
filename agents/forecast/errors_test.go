package forecast

import (
	"encoding/csv"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// windows reads the open days of real grids: series by window and zone, of a
// column times unit.
func windows(t *testing.T, column string, unit float64) map[string]map[string]Series {
	files, _ := filepath.Glob("../../../shared/data/scenarios/*_20*.csv")
	if len(files) == 0 {
		t.Skip("the open windows are not here (../shared/data/scenarios)")
	}
	all := map[string]map[string]Series{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		at := slices.Index(rows[0], column)
		points := map[string][]protocol.Point{}
		for _, row := range rows[1:] {
			when, err := time.Parse(time.RFC3339, row[0])
			if err != nil {
				t.Fatal(err)
			}
			v, err := strconv.ParseFloat(row[at], 64)
			if err != nil {
				continue
			}
			points[row[1]] = append(points[row[1]], protocol.Point{At: protocol.FromStdTime(when), Value: int64(math.Round(v * unit))})
		}
		all[name] = map[string]Series{}
		for zone, p := range points {
			s, err := NewSeries(p)
			if err != nil {
				t.Fatal(err)
			}
			all[name][zone] = s
		}
	}
	return all
}

// bounds of the leads that the docs report, in hours.
var leads = []int{2, 6, 12, 24, 48}

// cases are the series of all windows in the zones of which market says true.
func cases(all map[string]map[string]Series, market func(zone string) (Market, bool)) (out []Case) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, zone := range slices.Sorted(maps.Keys(all[name])) {
			if m, ok := market(zone); ok {
				out = append(out, Case{Series: all[name][zone], Market: m})
			}
		}
	}
	return out
}

// The figures of docs/signals-and-power.md: run with -v to see them.
func TestForecastsOfRealDaysAreAsGoodAsTheDocsSay(t *testing.T) {
	kind := func(ahead bool) func(string) (Market, bool) {
		return func(zone string) (Market, bool) {
			m, ok := MarketOf(zone)
			return m, ok && m.Ahead == ahead
		}
	}
	live := func(string) (Market, bool) { return Market{}, true }
	for _, tc := range []struct {
		name, column string
		quantity     protocol.Quantity
		market       func(string) (Market, bool)
		best         Rule
		at           int      // row of leads
		most         [5]int64 // error over value, in thousandths: persistence, average, blend, steady, regression
	}{
		{"carbon 2 to 6 hours ahead", "ci_lifecycle_gco2_per_kwh", protocol.GridCarbon, live, Blend, 1, [5]int64{99, 103, 55, 86, 55}},
		{"carbon a day ahead", "ci_lifecycle_gco2_per_kwh", protocol.GridCarbon, live, Blend, 4, [5]int64{119, 119, 113, 124, 113}},
		{"prices published ahead, beyond what is published", "price_usd_per_mwh", protocol.GridPrice, kind(true), Blend, 4, [5]int64{270, 275, 200, 240, 200}},
		{"prices in real time", "price_usd_per_mwh", protocol.GridPrice, kind(false), Steady, 2, [5]int64{1000, 830, 1020, 670, 1020}},
		{"the building", "pue_model", protocol.GridPUE, live, Blend, 1, [5]int64{10, 11, 6, 20, 6}},
	} {
		all := windows(t, tc.column, 1000)
		lowest, best := int64(math.MaxInt64), Rule("")
		for i, rule := range Rules {
			rows := MeasureErrors(tc.quantity, rule, cases(all, tc.market), leads...)
			for _, e := range rows {
				t.Logf("%s: %-11s %2d-%2d h: %5d told, %5d forecast, mean error %6d of %6d, MAPE %.1f %%, %.1f %% within", tc.name, rule, e.From, e.To, e.Published, e.N, e.MAE, e.Mean, float64(e.MAPE)/10, float64(e.Within)/10)
			}
			e := rows[tc.at]
			if e.N < 1000 {
				t.Errorf("%s: %s made %d forecasts; too few to say anything", tc.name, rule, e.N)
			}
			if got := 1000 * e.MAE / max(1, e.Mean); got > tc.most[i] {
				t.Errorf("%s: %s is off by %d thousandths; the docs say at most %d", tc.name, rule, got, tc.most[i])
			}
			if rule == tc.best && (e.Within < 650 || e.Within > 950) {
				t.Errorf("%s: %v of the errors are within the stated bound; want four in five, roughly", tc.name, e.Within)
			}
			if e.MAE < lowest {
				lowest, best = e.MAE, rule
			}
		}
		if best != tc.best {
			t.Errorf("%s: %s is best; the default says %s", tc.name, best, tc.best)
		}
	}
}

func TestErrorsOfAKnownPattern(t *testing.T) {
	day := func(level int64) (points []protocol.Point) {
		for i := range 96 {
			v := int64(100)
			if i >= 48 {
				v = level
			}
			points = append(points, protocol.Point{At: tuesday.Add(time.Duration(i) * time.Hour), Value: v})
		}
		return points
	}
	flat, _ := NewSeries(day(100))
	for _, e := range MeasureErrors(protocol.GridPrice, Average, []Case{{Series: flat}}, 6, 24) {
		if e.MAE != 0 || e.MAPE != 0 || e.N == 0 || e.Mean != 100 {
			t.Errorf("a flat series: %+v; want no error of 100", e)
		}
	}
	// Told for 72 hours (24 to 95) at lead 0, and forecast at lead 1 for 71 of
	// them: the 24 of the third day are 20 too low by persistence.
	step, _ := NewSeries(day(120))
	got := MeasureErrors(protocol.GridPrice, Persistence, []Case{{Series: step}}, 2)
	want := LeadError{To: 2, Published: 72, N: 71, MAE: 24 * 20 / 71, Mean: (23*100 + 48*120) / 71, MAPE: 24 * 1000 / 6 / 71, Within: 1000 * 47 / 71}
	if len(got) != 1 || got[0] != want {
		t.Errorf("a step: %+v; want %+v", got, want)
	}
	if got := MeasureErrors(protocol.GridPrice, Blend, []Case{{}}, 2); len(got) != 1 || got[0].N != 0 {
		t.Errorf("an empty series: %+v; want no forecasts", got)
	}
	if got := MeasureErrors(protocol.GridPrice, Blend, []Case{{Series: step}}); got != nil {
		t.Errorf("no leads: %+v; want none", got)
	}
}

// A service that says the truth of one afternoon, and nothing of the rest.
func TestErrorsWithAServiceAreOfWhatItSpokeOf(t *testing.T) {
	var points []protocol.Point
	for i := range 72 {
		points = append(points, protocol.Point{At: tuesday.Add(time.Duration(i) * time.Hour), Value: int64(100 + i)})
	}
	rising, err := NewSeries(points)
	if err != nil {
		t.Fatal(err)
	}
	said := []Bulletin{{Issued: tuesday.Add(36 * time.Hour), Points: points[40:44]}}
	for _, tc := range []struct {
		deaf bool
		mae  int64
	}{{false, 0}, {true, 24}} {
		got := MeasureErrors(protocol.GridCarbon, Persistence, []Case{{Series: rising, Bulletins: said, IgnoresService: tc.deaf}}, 12)[0]
		// Each of the four hours is forecast from hour 36 on and published in its own hour.
		if want := 4 + 5 + 6 + 7; got.N != want || got.Published != 4 || got.MAE != tc.mae {
			t.Errorf("deaf %v: %d forecasts off by %d, %d told; want %d off by %d, 4 told", tc.deaf, got.N, got.MAE, got.Published, want, tc.mae)
		}
	}
}
