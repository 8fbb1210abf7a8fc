package forecast

import (
	"compress/gzip"
	"encoding/csv"
	"flag"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

var wholeYear = flag.Bool("year", false, "judge forecasts over the whole record and every zone, not over eight weeks of some")

// recorded reads a packed table of recorded data, its header first.
func recorded(t *testing.T, path string) [][]string {
	f, err := os.Open(path)
	if err != nil {
		t.Skip("recorded data is not here: ", err)
	}
	defer f.Close()
	text, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// ofYear reads a zone's hours of 2022 from a folder of such files; at most n.
func ofYear(t *testing.T, folder, zone, column string, n int) Series {
	rows := recorded(t, "../../../shared/data/"+folder+"/"+zone+"_2022.csv.gz")
	at := slices.Index(rows[0], column)
	var points []protocol.Point
	for _, row := range rows[1:min(n+1, len(rows))] {
		when, err := time.Parse(time.RFC3339, row[0])
		if err != nil {
			t.Fatal(err)
		}
		if v, err := strconv.ParseFloat(row[at], 64); err == nil {
			points = append(points, protocol.Point{At: protocol.FromStdTime(when), Value: int64(math.Round(1000 * v))})
		}
	}
	s, err := NewSeries(points)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The figures of docs/signals-and-power.md: run with -year -v to see them.
// Without -year only the first eight weeks are judged, and carbon alone.
func TestForecastsOfAYearAreAsGoodAsTheDocsSay(t *testing.T) {
	kinds := []struct {
		name, folder, column string
		quantity             protocol.Quantity
		zones                []string
		live                 bool
	}{
		{"carbon", "carbon/em", "ci_lifecycle_gco2_per_kwh", protocol.GridCarbon, []string{"US-CAL-CISO", "US-TEX-ERCO", "US-MIDA-PJM", "DE", "GB", "AU-NSW"}, true},
		{"price published ahead", "price/hourly", "price_usd_per_mwh", protocol.GridPrice, []string{"US-CAL-CISO", "US-TEX-ERCO", "DE", "GB"}, false},
		{"price in real time", "price/hourly", "price_usd_per_mwh", protocol.GridPrice, []string{"US-MIDA-PJM", "AU-NSW"}, false},
	}
	rules, hours := Rules, 366*day
	if !*wholeYear {
		kinds, rules, hours = kinds[:1], []Rule{Blend, Regression}, 8*7*day
	}
	for _, kind := range kinds {
		all := map[string]map[string]Series{"2022": {}}
		for _, zone := range kind.zones {
			all["2022"][zone] = ofYear(t, kind.folder, zone, kind.column, hours)
		}
		got := map[Rule][]LeadError{}
		for _, rule := range rules {
			got[rule] = MeasureErrors(kind.quantity, rule, cases(all, func(zone string) (Market, bool) {
				m, _ := MarketOf(zone)
				if kind.live {
					m = Market{}
				}
				return m, true
			}), leads...)
			for _, e := range got[rule] {
				t.Logf("%s: %-11s %2d-%2d h: %6d forecast, mean error %.1f %%, MAPE %.1f %%, %.1f %% within", kind.name, rule, e.From, e.To, e.N, 100*float64(e.MAE)/float64(max(1, e.Mean)), float64(e.MAPE)/10, float64(e.Within)/10)
			}
		}
		for i, e := range got[Regression] {
			blend := got[Blend][i].MAE
			if e.From >= day { // from there on they are alike
				blend += blend / 100
			}
			if kind.quantity == protocol.GridCarbon && e.MAE >= blend {
				t.Errorf("%d to %d hours ahead regression is off by %d; want less than %d, which goes by blend: it is the default", e.From, e.To, e.MAE, blend)
			}
		}
	}
}
