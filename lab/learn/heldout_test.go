package learn

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/scenarios/spec"
)

// heldOutDays is how many windows are held out.
const heldOutDays = 10

// marketZones are zones whose prices are those of a market and whose carbon is measured; those of
// from2022 have no earlier year.
var marketZones = []string{"AT", "AU-NSW", "BE", "BR-CS", "CA-ON", "CH", "DE", "ES", "FR", "GB", "NL", "PT", "SE-SE3", "US-CAL-CISO", "US-MIDA-PJM", "US-NY-NYIS", "US-TEX-ERCO"}

var from2022 = []string{"AT", "BE", "CH", "FR", "GB", "NL", "PT", "SE-SE3"}

// heldOutWindows joins windows of three days that no constant of this program was chosen by: of weeks
// whose number leaves 3 when divided by 4, which no training may use, five days and more from each
// recorded day and from each other; of six zones each. A seed draws them, before anything was replayed
// on one.
func heldOutWindows(t *testing.T) (files []string) {
	t.Helper()
	dice, folder := rand.New(rand.NewPCG(20261124, 31)), t.TempDir()
	taken := recordedDays(t)
	for len(files) < heldOutDays {
		day := time.Date(2021, 1, 5, 0, 0, 0, 0, time.UTC).AddDate(0, 0, dice.IntN(2*365-10))
		zones := slices.Clone(marketZones)
		if day.Year() == 2021 {
			zones = slices.DeleteFunc(zones, func(z string) bool { return slices.Contains(from2022, z) })
		}
		dice.Shuffle(len(zones), func(i, k int) { zones[i], zones[k] = zones[k], zones[i] })
		zones = zones[:6]
		slices.Sort(zones)
		if _, week := day.ISOWeek(); week%4 != 3 || isNearAny(day, taken) {
			continue
		}
		file := filepath.Join(folder, "heldout-"+day.Format(time.DateOnly)+".csv")
		if joinWindow(t, file, day, zones) {
			t.Logf("held out: %s of %s", day.Format(time.DateOnly), strings.Join(zones, ", "))
			files, taken = append(files, file), append(taken, day)
		}
	}
	return files
}

// recordedScenarios returns the files of the recorded days that ship.
func recordedScenarios(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("../../scenarios/real-days/*/scenario.yaml")
	if err != nil || len(names) != 10 {
		t.Fatalf("%d recorded days: %v", len(names), err)
	}
	return names
}

// recordedDays returns the days of them, by the names of their folders.
func recordedDays(t *testing.T) (days []time.Time) {
	t.Helper()
	for _, name := range recordedScenarios(t) {
		folder := filepath.Base(filepath.Dir(name))
		day, err := time.Parse(time.DateOnly, folder[strings.LastIndexByte(folder, '_')+1:])
		if err != nil {
			t.Fatalf("%s names no day: %v", folder, err)
		}
		days = append(days, day)
	}
	return days
}

// isNearAny reports whether a day is within four days of one of others.
func isNearAny(day time.Time, others []time.Time) bool {
	return slices.ContainsFunc(others, func(other time.Time) bool { return day.Sub(other).Abs() < 5*24*time.Hour })
}

// joinWindow writes the day before, the day and the day after of some zones, and reports whether all
// their hours are there and none of their prices was filled in.
func joinWindow(t *testing.T, file string, day time.Time, zones []string) bool {
	t.Helper()
	var text strings.Builder
	text.WriteString("time_utc,zone,ci_lifecycle_gco2_per_kwh,price_usd_per_mwh\n")
	for _, zone := range zones {
		carbon := hourlyColumns(t, fmt.Sprintf("%s/carbon/em/%s_%d.csv.gz", *data, zone, day.Year()), "ci_lifecycle_gco2_per_kwh")
		price := hourlyColumns(t, fmt.Sprintf("%s/price/hourly/%s_%d.csv.gz", *data, zone, day.Year()), "price_usd_per_mwh", "filled")
		for h := -24; h < 48; h++ {
			at := day.Add(time.Duration(h) * time.Hour).Format(time.RFC3339)
			c, p := carbon[at], price[at]
			if c == nil || p == nil || c[0] == "" || p[0] == "" || p[1] == "1" {
				return false
			}
			fmt.Fprintf(&text, "%s,%s,%s,%s\n", at, zone, c[0], p[0])
		}
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return true
}

// hourlyColumns reads columns of a compressed table by its first one.
func hourlyColumns(t *testing.T, file string, columns ...string) map[string][]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatalf("%v: -data names the folder of the recorded data", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	out := make(map[string][]string, len(rows))
	for _, row := range rows[1:] {
		var picked []string
		for _, c := range columns {
			i := slices.Index(rows[0], c)
			if i < 0 {
				t.Fatalf("%s has no column %s", file, c)
			}
			picked = append(picked, row[i])
		}
		out[row[0]] = picked
	}
	return out
}

// judgedDays reads the days to judge on: the recorded ones, or windows held out.
func judgedDays(t *testing.T) (days []spec.Scenario) {
	t.Helper()
	names := recordedScenarios(t)
	load := func(name string) (spec.Scenario, error) {
		return spec.LoadScenario(name, spec.Options{Data: *data, MaxJobs: *jobs})
	}
	if *heldOut {
		names = heldOutWindows(t)
		load = func(name string) (spec.Scenario, error) {
			return spec.LoadWindow(spec.Options{Data: *data, MaxJobs: *jobs, Window: name})
		}
	}
	for _, name := range names {
		s, err := load(name)
		if err != nil {
			t.Fatal(err)
		}
		days = append(days, s)
	}
	return days
}
