package spec_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// data is the folder of recorded days; a checkout may lack it.
func data(t *testing.T) string {
	t.Helper()
	const dir = "../../../shared/data"
	if _, err := os.Stat(filepath.Join(dir, "scenarios")); err != nil {
		t.Skipf("no recorded days at %s: this test needs them", dir)
	}
	return dir
}

// sound checks what holds of every scenario.
func sound(t *testing.T, s spec.Scenario) {
	t.Helper()
	if len(s.Hash) != 64 || s.End <= s.Start || len(s.Sites) == 0 || len(s.Jobs) == 0 {
		t.Fatalf("%s: hash %q, %v..%v, %d sites, %d jobs", s.Name, s.Hash, s.Start, s.End, len(s.Sites), len(s.Jobs))
	}
	var names []string
	nodes := make(map[string]bool)
	for _, site := range s.Sites {
		names = append(names, site.Name)
		if len(site.Nodes) == 0 {
			t.Errorf("%s: %s has no nodes", s.Name, site.Name)
		}
		for _, n := range site.Nodes {
			if nodes[n.Name] || n.CPU <= 0 || n.Memory <= 0 || (n.GPUs > 0) != (n.Model != "") || (n.GPUs > 0) != (n.GPUMemory > 0) {
				t.Errorf("%s: node %+v stands twice or cannot be", s.Name, n)
			}
			nodes[n.Name] = true
		}
		for _, q := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon, protocol.GridPUE} {
			p := site.Signals[q]
			if len(p) == 0 || p[0].At > s.Start.Add(-24*time.Hour) {
				t.Fatalf("%s: %s of %s begins late: %v", s.Name, q, site.Name, p)
			}
			if q != protocol.GridPUE && p[len(p)-1].At < s.End.Add(-time.Hour) {
				t.Errorf("%s: %s of %s ends at %v", s.Name, q, site.Name, p[len(p)-1].At)
			}
			for i := 1; i < len(p); i++ {
				if p[i].At != p[i-1].At.Add(time.Hour) {
					t.Errorf("%s: %s of %s: %v follows %v", s.Name, q, site.Name, p[i].At, p[i-1].At)
				}
			}
		}
	}
	ids := make(map[protocol.JobID]bool)
	for i, j := range s.Jobs {
		if why := j.InvalidReason(); why != "" || ids[j.ID] || j.Arrival < s.Start || j.Arrival >= s.End || !slices.Contains(names, j.Home) {
			t.Errorf("%s: job %+v: %s", s.Name, j, why)
		}
		ids[j.ID] = true
		if i > 0 && cmp.Or(cmp.Compare(s.Jobs[i-1].Arrival, j.Arrival), cmp.Compare(s.Jobs[i-1].ID, j.ID)) >= 0 {
			t.Errorf("%s: job %s is out of order", s.Name, j.ID)
		}
	}
}

func bytesOf(t *testing.T, s spec.Scenario) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func gpus(site spec.Site) (n int) {
	for _, node := range site.Nodes {
		n += node.GPUs
	}
	return n
}

// busy returns the load that the scenario's notes state, in per cent of the fleets'
// GPU-hours.
func busy(t *testing.T, s spec.Scenario) (percent int) {
	t.Helper()
	for _, n := range s.Notes {
		if _, err := fmt.Sscanf(n, "the jobs would keep %d %% of", &percent); err == nil {
			return percent
		}
	}
	t.Fatalf("%s: no note says how busy: %q", s.Name, s.Notes)
	return 0
}

func TestTheDefaultScenarioNeedsNoData(t *testing.T) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{Data: "/nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, s)
	if len(s.Sites) != 6 || len(s.Jobs) != 1440 || s.Seed != 1 {
		t.Errorf("%d sites, %d jobs, seed %d; want 6, 1440, 1", len(s.Sites), len(s.Jobs), s.Seed)
	}
	if s.Weights != (spec.Weights{Kappa: 190e6, WaitNow: 2e6, WaitStandard: 5e3, WaitFlexible: 1e3, WaitLimit: 2 * time.Hour, WaitLimitRuns: 1000, Late: 2e6, LateMost: 2e6}) {
		t.Errorf("weights %+v; want the default's", s.Weights)
	}
	again, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{})
	if err != nil || bytesOf(t, s) != bytesOf(t, again) {
		t.Errorf("a second Load gave other bytes (%v)", err)
	}
	seed := uint64(2)
	other, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{Seed: &seed, MaxJobs: 50})
	if err != nil || other.Hash == s.Hash || other.Seed != 2 || len(other.Jobs) != 50 {
		t.Errorf("seed 2, 50 jobs: seed %d, %d jobs, same hash %v, %v", other.Seed, len(other.Jobs), other.Hash == s.Hash, err)
	}
	sound(t, other)
}

func TestTheDefaultScenarioIsAboutTwoThirdsBusy(t *testing.T) {
	sum := 0
	const seeds = 40
	for seed := range uint64(seeds) {
		s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{Seed: &seed})
		if err != nil {
			t.Fatal(err)
		}
		b := busy(t, s)
		sum += b
		if b < 50 || b > 85 {
			t.Errorf("seed %d: %d %% busy; want 50..85", seed, b)
		}
	}
	if mean := float64(sum) / seeds; mean < 62 || mean > 69 {
		t.Errorf("mean of %d seeds: %.1f %% busy; want 62..69", seeds, mean)
	}
}

func TestTheRealDaysAreWhole(t *testing.T) {
	dir := data(t)
	days := slices.DeleteFunc(spec.ShippedNames(), func(n string) bool { return n == spec.DefaultScenario })
	if len(days) < 10 {
		t.Fatalf("%d real days; want 10", len(days))
	}
	for _, name := range days {
		t.Run(name, func(t *testing.T) {
			s, err := spec.LoadScenario(name, spec.Options{Data: dir})
			if err != nil {
				t.Fatal(err)
			}
			sound(t, s)
			if len(s.Sites) != 6 || len(s.Jobs) != 2000 {
				t.Errorf("%d sites and %d jobs; want 6 and 2000", len(s.Sites), len(s.Jobs))
			}
			if want := name[strings.LastIndex(name, "_")+1:]; !strings.HasPrefix(s.Start.String(), want) {
				t.Errorf("jobs arrive from %v; want %s", s.Start, want)
			}
			if b := busy(t, s); b < 60 || b > 70 {
				t.Errorf("%d %% busy; want about 65", b)
			}
			most, least := 0, 1<<30
			for _, site := range s.Sites {
				most, least = max(most, gpus(site)), min(least, gpus(site))
				if !slices.ContainsFunc(site.Nodes, func(n spec.Node) bool { return n.GPUs == 8 }) {
					t.Errorf("%s has no node of 8 GPUs", site.Name)
				}
				if real := site.Zone == "US-MIDA-PJM" || site.Zone == "AU-NSW"; site.DayAhead == real {
					t.Errorf("%s: day-ahead %v", site.Name, site.DayAhead)
				}
			}
			if most-least > 8 {
				t.Errorf("sites have %d..%d GPUs; want within 8", least, most)
			}
		})
	}
}

func TestARealDayIsTheSameBytesTwice(t *testing.T) {
	dir := data(t)
	var first string
	for range 2 {
		s, err := spec.LoadScenario("real-days/ordinary_2022-04-13", spec.Options{Data: dir})
		if err != nil {
			t.Fatal(err)
		}
		b := bytesOf(t, s)
		if first != "" && b != first {
			t.Error("a second Load gave other bytes")
		}
		first = b
	}
	copied := t.TempDir() // the hash must not hang on where the data lies
	if err := os.CopyFS(filepath.Join(copied, "scenarios"), os.DirFS(filepath.Join(dir, "scenarios"))); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(copied, "workload"), os.DirFS(filepath.Join(dir, "workload"))); err != nil {
		t.Fatal(err)
	}
	s, err := spec.LoadScenario("real-days/ordinary_2022-04-13", spec.Options{Data: copied})
	if err != nil || bytesOf(t, s) != first {
		t.Errorf("the same data elsewhere gave other bytes (%v)", err)
	}
}

func TestSumsOfTheOrdinaryDayAreThoseOfItsFiles(t *testing.T) {
	dir := data(t)
	s, err := spec.LoadScenario("real-days/ordinary_2022-04-13", spec.Options{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "scenarios/ordinary_2022-04-13.csv"))
	if err != nil {
		t.Fatal(err)
	}
	// Summed here by fields counted off by hand, not by the loader.
	var price, carbon float64
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		f := strings.Split(line, ",")
		var p, c float64
		fmt.Sscan(f[6], &p)
		fmt.Sscan(f[3], &c)
		price, carbon = price+p, carbon+c
	}
	var gotPrice, gotCarbon int64
	for _, site := range s.Sites {
		for h := range 72 {
			gotPrice += site.Signals[protocol.GridPrice][h].Value
			gotCarbon += site.Signals[protocol.GridCarbon][h].Value
		}
	}
	if d := float64(gotPrice)/1000 - price; d > 0.3 || d < -0.3 {
		t.Errorf("prices sum to %.3f; want %.3f", float64(gotPrice)/1000, price)
	}
	if d := float64(gotCarbon)/1000 - carbon; d > 0.3 || d < -0.3 {
		t.Errorf("intensities sum to %.3f; want %.3f", float64(gotCarbon)/1000, carbon)
	}
}

func TestAWindowNeedsNoScenario(t *testing.T) {
	dir := data(t)
	from, seed := int64(10_200_000), uint64(3)
	for _, tc := range []struct {
		name  string
		o     spec.Options
		jobs  int
		start string
	}{
		{"all by default", spec.Options{Window: "storm_elliott_2022-12-24.csv"}, 2000, "2022-12-24T00:00:00Z"},
		{"two days: the second", spec.Options{Window: "windy_negative_de_2022-12-31.csv", MaxJobs: 100}, 100, "2022-12-31T00:00:00Z"},
		{"a zone without weather, pods, a seed, a scale", spec.Options{Window: "uri_texas_2021-02-16.csv", MaxJobs: 300, Seed: &seed,
			Jobs: filepath.Join(dir, "workload/alibaba_gpu_v2023.csv.gz"), JobsFrom: &from, FleetScale: 0.02}, 300, "2021-02-16T00:00:00Z"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.o.Data, tc.o.Window = dir, filepath.Join(dir, "scenarios", tc.o.Window)
			s, err := spec.LoadWindow(tc.o)
			if err != nil {
				t.Fatal(err)
			}
			sound(t, s)
			if len(s.Jobs) != tc.jobs || s.Start.String() != tc.start || len(s.Sites) != 6 {
				t.Errorf("%d jobs from %v at %d sites; want %d from %s at 6", len(s.Jobs), s.Start, len(s.Sites), tc.jobs, tc.start)
			}
		})
	}
	a, err := spec.LoadWindow(spec.Options{Data: dir, Window: filepath.Join(dir, "scenarios/ordinary_2022-04-13.csv")})
	if err != nil {
		t.Fatal(err)
	}
	b, err := spec.LoadScenario("real-days/ordinary_2022-04-13", spec.Options{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a.Sites, b.Sites) || !reflect.DeepEqual(a.Jobs, b.Jobs) {
		t.Error("a bare window and the scenario of the same day differ")
	}
}

func TestOptionsThatCannotBeAreRefused(t *testing.T) {
	some := func(n int64) *int64 { return &n }
	price := func(v float64) *float64 { return &v }
	for _, tc := range []struct {
		o    spec.Options
		want string
	}{
		{spec.Options{Kappa: price(-1)}, "kappa -1: want 0..10000"},
		{spec.Options{Kappa: price(math.NaN())}, "kappa NaN: want 0..10000"},
		{spec.Options{MaxJobs: -3}, "max-jobs -3: want 1..200000"},
		{spec.Options{MaxJobs: 200_001}, "max-jobs 200001: want 1..200000"},
		{spec.Options{JobsFrom: some(-9), Jobs: "j.csv"}, "jobs-from -9: want 0..315360000"},
		{spec.Options{JobsFrom: some(9e15), Jobs: "j.csv"}, "want 0..315360000"},
		{spec.Options{JobsFrom: some(9)}, "six-regions generates its jobs"},
		{spec.Options{FleetScale: -0.1}, "fleet-scale -0.1: want a fraction"},
		{spec.Options{FleetScale: 1.5}, "fleet-scale 1.5: want a fraction"},
		{spec.Options{FleetScale: math.NaN()}, "fleet-scale NaN: want a fraction"},
		{spec.Options{FleetScale: 0.5}, "the sites of six-regions have fleets of their own"},
		{spec.Options{Fill: true}, "six-regions has no window"},
		{spec.Options{Fleet: "n.csv"}, "the sites of six-regions have fleets of their own"},
	} {
		if _, err := spec.LoadScenario(spec.DefaultScenario, tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v; want %q", tc.o, err, tc.want)
		}
	}
}

// Tables, ledgers and files of rows are named by the scenario.
func TestAWindowOfAnyNameIsAScenarioWithOne(t *testing.T) {
	dir := tiny(t)
	for file, want := range map[string]string{"日本.csv": "window", "-.csv.gz": "window", "Mein Tag.csv": "mein-tag"} {
		o := spec.Options{Data: dir, Window: filepath.Join(dir, file), Jobs: filepath.Join(dir, "j.csv"), Fleet: filepath.Join(dir, "n.csv"), JobsFrom: new(int64)}
		if err := os.Link(filepath.Join(dir, "w.csv"), o.Window); err != nil {
			t.Fatal(err)
		}
		if s, err := spec.LoadWindow(o); err != nil || s.Name != want {
			t.Errorf("%s: named %q, %v; want %q", file, s.Name, err, want)
		}
	}
}

// A column that the source left out at an hour is passed over as a whole, and the
// notes say so: who looks at the marginal figures would take them for the source's.
func TestMarginalIntensityThatIsPassedOverIsTold(t *testing.T) {
	dir := tiny(t)
	text, err := os.ReadFile(filepath.Join(dir, "w.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines[0] += ",mef_direct_gco2_per_kwh"
	for i := range lines[1:] {
		lines[i+1] += map[bool]string{true: ",", false: ",300"}[i == 40] // of the first zone
	}
	o := spec.Options{Data: dir, Window: filepath.Join(dir, "m.csv"), Jobs: filepath.Join(dir, "j.csv"), Fleet: filepath.Join(dir, "n.csv"), JobsFrom: new(int64)}
	if err := os.WriteFile(o.Window, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := spec.LoadWindow(o)
	if err != nil || !slices.Contains(s.Notes, "de: marginal intensity is given for 47 of 48 hours, and passed over") {
		t.Errorf("notes: %q, %v; want that an hour is missing", s.Notes, err)
	}
	if n := len(s.Sites[1].Signals[trace.MarginalColumn]); n != 48 {
		t.Errorf("the zone that has all hours has %d values", n)
	}
}

func TestAWindowWithGapsIsFilledWhereThatIsAsked(t *testing.T) {
	dir := tiny(t)
	text, err := os.ReadFile(filepath.Join(dir, "w.csv"))
	if err != nil {
		t.Fatal(err)
	}
	gaps := strings.NewReplacer("2022-01-02T03:00:00Z,DE,127,50\n", "", "2022-01-02T05:00:00Z,DE,129,50\n", "2022-01-02T05:00:00Z,DE,,50\n").Replace(string(text))
	file := filepath.Join(dir, "gaps.csv")
	if err := os.WriteFile(file, []byte(gaps), 0o600); err != nil {
		t.Fatal(err)
	}
	o := spec.Options{Data: dir, Window: file, Jobs: filepath.Join(dir, "j.csv"), Fleet: filepath.Join(dir, "n.csv"), JobsFrom: new(int64)}
	if _, err := spec.LoadWindow(o); err == nil || !strings.Contains(err.Error(), "--fill") {
		t.Errorf("a window with gaps: %v; want an error that names --fill", err)
	}
	o.Fill = true
	s, err := spec.LoadWindow(o)
	if err != nil {
		t.Fatal(err)
	}
	carbon := s.Sites[0].Signals[protocol.GridCarbon]
	if len(carbon) != 48 || carbon[27].Value != carbon[26].Value || carbon[29].Value != carbon[28].Value {
		t.Errorf("hours 26 to 29 of a filled window: %v", carbon[26:30])
	}
	if !slices.ContainsFunc(s.Notes, func(n string) bool { return strings.Contains(n, "3 missing values") }) {
		t.Errorf("notes say nothing of the 3 values that were filled: %q", s.Notes)
	}
}

// tiny writes a window of two zones, two days, and what belongs to it.
func tiny(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var w strings.Builder
	w.WriteString("time_utc,zone,ci_lifecycle_gco2_per_kwh,price_usd_per_mwh\n")
	for h := range 48 {
		for k, zone := range []string{"DE", "Far_Away"} {
			fmt.Fprintf(&w, "2022-01-%02dT%02d:00:00Z,%s,%d,%d\n", 1+h/24, h%24, zone, 100+h, 50+k)
		}
	}
	for name, text := range map[string]string{
		"w.csv": w.String(),
		"n.csv": "sn,cpu_milli,memory_mib,gpu,model\na,8000,64000,1,T4\nb,8000,64000,1,T4\nc,8000,64000,2,V100\nd,8000,64000,0,\n",
		"j.csv": "job_id,submit_s,duration_s,gpus,vc\nx,90000,60,1,v\ny,3600,14400,1,v\n",
		"p.csv": "time_utc,usd\n" + strings.Join(hours("2022-01", 48, "7"), ""),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func hours(month string, n int, value string) []string {
	out := make([]string, n)
	for h := range out {
		out[h] = fmt.Sprintf("%s-%02dT%02d:00:00Z,%s\n", month, 1+h/24, h%24, value)
	}
	return out
}

func TestPathsStartFromTheScenariosFolderAndWordsOfTheCommandLineWin(t *testing.T) {
	dir := tiny(t)
	text := `name: tiny
window: {file: w.csv}
sites:
  - {name: one, zone: DE, signals: {price: {file: p.csv, column: usd}}, pue: 1.5, host: {idle: 100, linger: 60, wake: 5}, bids: {price: 1.3}, outages: [{from: 2022-01-02T03:00:00Z, to: 2022-01-02T05:00:00Z}]}
  - {name: two, zone: Far_Away, day_ahead: true}
nodes: {file: "${data}/n.csv", scale: 1}
jobs: {trace: j.csv, from: 0, deferrable: 1, resident: 1, input: 0}
weights: {preset: free-waiting, kappa: 0.5, late: 0, wait_limit_hours: 1.5}
`
	if err := os.WriteFile(filepath.Join(dir, "scenario.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := spec.LoadScenario(dir, spec.Options{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, s)
	one, two := s.Sites[0], s.Sites[1]
	if one.Signals[protocol.GridPrice][0].Value != 7000 || one.Signals[protocol.GridPUE][0].Value != 1500 || one.Host != (spec.Host{Idle: 100_000, Linger: time.Minute, WakeTime: 5 * time.Second}) || !one.DayAhead {
		t.Errorf("site one = %+v", one)
	}
	if one.Bids != (spec.Misreport{Price: 1300}) || len(one.Outages) != 1 || one.Outages[0].To.Sub(one.Outages[0].From) != 2*time.Hour {
		t.Errorf("site one bids %+v, is dark %+v", one.Bids, one.Outages)
	}
	if two.Signals[protocol.GridPrice][0].Value != 51000 || two.Signals[protocol.GridPUE][0].Value != 1200 || !two.DayAhead {
		t.Errorf("site two = %+v", two)
	}
	if gpus(one) != 2 || gpus(two) != 2 {
		t.Errorf("%d and %d GPUs; want 2 and 2", gpus(one), gpus(two))
	}
	// 90000 s is one o'clock of the second day, as is 3600 s of the first.
	for _, j := range s.Jobs {
		if j.Arrival != s.Start.Add(time.Hour) || !j.MayWait() || !slices.Equal(j.Regions, []string{j.Home}) || j.Input != 0 {
			t.Errorf("job %+v", j)
		}
	}
	if s.Weights != (spec.Weights{Kappa: 500_000, WaitNow: 1e6, WaitLimit: 90 * time.Minute}) {
		t.Errorf("weights %+v", s.Weights)
	}
	if notes := strings.Join(s.Notes, "\n"); !strings.Contains(notes, "two: no series of PUE: taken as 1.2") ||
		strings.Contains(notes, "nothing is known of the market") {
		t.Errorf("notes %q", s.Notes)
	}
	// In an unknown zone, prices count as published in their own hour.
	s, err = spec.LoadWindow(spec.Options{Window: filepath.Join(dir, "w.csv"), Jobs: filepath.Join(dir, "j.csv"), JobsFrom: new(int64), Fleet: filepath.Join(dir, "n.csv")})
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(s.Notes, "\n"); s.Sites[1].DayAhead || !s.Sites[0].DayAhead || s.Sites[1].Name != "far-away" || !strings.Contains(notes, "far-away: nothing is known of the market") {
		t.Errorf("sites %+v, notes %q", s.Sites, s.Notes)
	}
	from := int64(4000)
	s, err = spec.LoadScenario(dir, spec.Options{Data: dir, JobsFrom: &from, FleetScale: 0.5})
	if err != nil || len(s.Jobs) != 1 || s.Jobs[0].ID != "x" || gpus(s.Sites[0])+gpus(s.Sites[1]) > 3 {
		t.Errorf("from second 4000 at half the scale: %+v, %v", s.Jobs, err)
	}
}

func TestAWindowThatDoesNotFitIsRefused(t *testing.T) {
	dir := tiny(t)
	head := "name: tiny\nwindow: {file: w.csv}\nnodes: {file: n.csv}\njobs: {trace: j.csv, from: 0}\n"
	for _, tc := range []struct{ name, text, want string }{
		{"before the window", head + "start: 2022-01-01T00:00:00Z\n", "want it from 2021-12-31T00:00:00Z (a day before start)"},
		{"past the window", head + "start: 2022-01-02T00:00:00Z\nend: 2022-01-03T01:00:00Z\n", "price is given for 2022-01-01T00:00:00Z..2022-01-03T00:00:00Z"},
		{"an unknown zone", head + "sites: [{name: a, zone: XX}]\n", ":5: sites/0: a: no zone \"XX\" in"},
		{"no zone", head + "sites: [{name: a}]\n", ":5: sites/0: a has no zone of the window"},
		{"an unknown GPU model", strings.Replace(head, "n.csv", "x.csv", 1), `unknown GPU model "Mystery" (no power data): want one of A10, `},
		{"more sites than nodes", strings.Replace(head, "n.csv", "m.csv", 1), "1 nodes with GPUs for 2 sites"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			os.WriteFile(filepath.Join(dir, "x.csv"), []byte("sn,cpu_milli,memory_mib,gpu,model\na,8000,1000,1,T4\nb,8000,1000,1,Mystery\n"), 0o600)
			os.WriteFile(filepath.Join(dir, "m.csv"), []byte("sn,cpu_milli,memory_mib,gpu,model\na,8000,1000,1,T4\n"), 0o600)
			os.WriteFile(filepath.Join(dir, "scenario.yaml"), []byte(tc.text), 0o600)
			if _, err := spec.LoadScenario(dir, spec.Options{}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Load = %v; want %q", err, tc.want)
			}
		})
	}
}
