package scenarios

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// dayAheadScenario writes a scenario of two real-time sites to a folder: each hour of a price is
// drawn anew, so that no past tells the next, and the day-ahead series knows it but for a fifth.
func dayAheadScenario(t *testing.T) spec.Scenario {
	t.Helper()
	dir, dice := t.TempDir(), rand.New(rand.NewPCG(7, 0))
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var sites strings.Builder
	for _, name := range []string{"east", "west"} {
		var real, ahead strings.Builder
		real.WriteString("time_utc,usd,g\n")
		ahead.WriteString("time_utc,usd\n")
		for h := range 24 * 7 {
			at, price := start.Add(time.Duration(h)*time.Hour).Format(time.RFC3339), 20+dice.IntN(200)
			fmt.Fprintf(&real, "%s,%d,300\n", at, price)
			fmt.Fprintf(&ahead, "%s,%d\n", at, price*4/5)
		}
		for file, text := range map[string]string{name + ".csv": real.String(), name + "-ahead.csv": ahead.String()} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintf(&sites, `  - name: %[1]s
    zone: X
    day_ahead: false
    signals: {price: {file: %[1]s.csv, column: usd}, carbon: {file: %[1]s.csv, column: g}}
    forecasts: {price: {file: %[1]s-ahead.csv, column: usd, published: 18, ends: 5}}
    fleet: [{count: 3, model: V100, gpus: 4, cpu: 64, memory: 256}]
`, name)
	}
	// So many that nodes are shared: on a nearly empty fleet keeping nodes awake decides, and not the hour.
	text := "name: ahead\nstart: 2026-01-04T00:00:00Z\nsites:\n" + sites.String() + "jobs: {count: 240, resident: 0}\n"
	if err := os.WriteFile(filepath.Join(dir, "scenario.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := spec.LoadScenario(dir, spec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Sites use a day-ahead series as the forecast of their real-time price, and pay the real price.
func TestADayAheadSeriesForecastsARealTimePrice(t *testing.T) {
	s := dayAheadScenario(t)
	all, err := MeasureForecastErrors(s, 2, 12)
	if err != nil {
		t.Fatal(err)
	}
	own, served := int64(0), int64(0)
	for _, f := range all {
		switch {
		case f.Quantity != protocol.GridPrice || f.DayAhead:
		case f.UsesService:
			served = f.Leads[1].MAE
		case own == 0 || f.Leads[1].MAE < own:
			own = f.Leads[1].MAE
		}
	}
	if served == 0 || served*2 > own {
		t.Errorf("from 2 to 12 hours ahead the series is off by %d, the best rule without it by %d; want less than half", served, own)
	}
	cost := func(policy string) float64 {
		res, err := Replay(t.Context(), s, policy, new(membus.Bus), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return res.Totals.CostUSD - res.Totals.IdleUSD
	}
	with, without := cost(PolicyAuction), cost("auction/own")
	if with > 0.97*without {
		t.Errorf("jobs cost $%.3f with the series and $%.3f without", with, without)
	}
	if again := cost(PolicyAuction); again != with {
		t.Errorf("a second replay costs $%.4f; want $%.4f", again, with)
	}
}
