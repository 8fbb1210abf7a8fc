package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/lab/bench"
	"github.com/gridbid/gridbid/lab/estimates"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

func TestBenchDaysWritesItsTablesAndRunsNothingTwice(t *testing.T) {
	dir := t.TempDir()
	days := func() (string, string) {
		t.Helper()
		out, stderr, err := execute(newBenchCommand(), "days", "six-regions", "--jobs", "30", "--draws", "2", "--steps", "10", "--out", dir,
			"--policies", "auction,auction/perfect,home-fifo,k8s-least-allocated", "--seeds", "1,2")
		if err != nil {
			t.Fatalf("bench days: %v\n%s", err, stderr)
		}
		return out, stderr
	}
	first, stderr := days()
	if strings.Contains(stderr, "(cached)") {
		t.Errorf("the first run kept rows:\n%s", stderr)
	}
	again, stderr := days()
	if strings.Count(stderr, "(cached)") != 16 || again != first {
		t.Errorf("the second run:\n%s\n%s\nthe first:\n%s", stderr, again, first)
	}
	for _, name := range []string{"table.md", "table.csv", "differences.csv", "index.html"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(text), "auction/perfect") {
			t.Errorf("%s: %v, %d bytes", name, err, len(text))
		}
	}
	var all struct {
		Schema  int
		Summary []bench.PolicySummary
		Rows    []bench.BenchRow
	}
	text, err := os.ReadFile(filepath.Join(dir, "table.json"))
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || all.Schema != 2 || len(all.Rows) != 16 || len(all.Summary) != 4 || all.Summary[0].Gap.N != 4 {
		t.Errorf("table.json: %v, %+v", err, all.Summary)
	}
	// The same rows for programs, by the one printer.
	args := []string{"days", "six-regions", "--jobs", "30", "--draws", "2", "--steps", "10", "--out", dir,
		"--policies", "auction,auction/perfect,home-fifo,k8s-least-allocated", "--seeds", "1,2"}
	for format, want := range map[string]string{"csv": "scenario,hash,entry,seed,", "json": `"differences"`, "name": "six-regions\n"} {
		out, _, err := execute(newBenchCommand(), append(slices.Clone(args), "-o", format)...)
		if err != nil || !strings.Contains(out, want) || format != "json" && strings.Count(strings.TrimPrefix(out, "scenario,"), "\nsix-regions") != map[string]int{"csv": 16, "name": 15}[format] {
			t.Errorf("bench days -o %s: %v:\n%.400s\nwant %q, and 16 rows", format, err, out, want)
		}
	}
	for _, r := range all.Rows {
		if r.Gap < 0 || r.IdleGap < 0 || r.BoundUSD <= 0 {
			t.Errorf("%s beats the bound: %+v", r.Entry, r)
		}
	}
}

// Where nobody names a day the ordinary one is put to every stress.
func TestBenchDaysHasDaysOfStress(t *testing.T) {
	const data = "../../../shared/data"
	if _, err := os.Stat(data); err != nil {
		t.Skipf("recorded data is not here: %v", err)
	}
	days := func(f benchFlags, args ...string) (stress []string) {
		t.Helper()
		f.data, f.jobs, f.draws = data, 5, 2
		all, err := f.loadDays(args)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range all {
			if d.Stress != "" && d.Draw != 1 {
				t.Errorf("draw %d is a stress day %s; want the first draw alone", d.Draw, d.Stress)
			}
			if stress = append(stress, d.Stress); d.Stress != "" && d.Name != "ordinary-2022-04-13-"+d.Stress {
				t.Errorf("a stress day is %s (%s)", d.Name, d.Stress)
			}
		}
		slices.Sort(stress)
		return slices.DeleteFunc(stress, func(kind string) bool { return kind == "" })
	}
	ordinary, all := "real-days/ordinary_2022-04-13", []string{"drought", "liar", "negative", "outage", "spike"}
	for what, got := range map[string][2][]string{
		"by default":     {days(benchFlags{}), all},
		"of a named day": {days(benchFlags{}, ordinary), nil},
		"with --stress":  {days(benchFlags{stress: true}, ordinary), all},
	} {
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%s stress is %q; want %q", what, got[0], got[1])
		}
	}
}

func TestBenchDaysRefusesUnknownNames(t *testing.T) {
	for _, args := range [][]string{
		{"--policies", "luck"}, {"--policies", "auction/luck"}, {"--policies", "auction,auction"}, {"--steps", "0"}, {"--draws", "0"}, {"--kappa", "20000"}, {"--fill", "six-regions"}, {"--seeds", "1,1", "six-regions"}, {"six-regions", "six-regions"}, {"no-such-day"},
	} {
		if _, _, err := execute(newBenchCommand(), append([]string{"days", "--out", t.TempDir()}, args...)...); !errors.As(err, new(usageError)) {
			t.Errorf("bench days %v: %v; want bad input", args, err)
		}
	}
}

// Rows of two days under one name could not be told apart, and a trade-off would mix them.
func TestBenchDaysWantsANameForEachDay(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for _, price := range []string{"50", "90"} {
		file := filepath.Join(dir, price+".yaml")
		day := strings.ReplaceAll("name: my-day\nstart: 2026-01-02T00:00:00Z\nsites:\n- name: a\n  region: {price: {mean: 50, swing: 9}, carbon: {mean: 9, swing: 1}, match: 0}\n  fleet: [{count: 1, cpu: 8, memory: 64}]\njobs: {count: 1}\n", "50", price)
		if err := os.WriteFile(file, []byte(day), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	_, _, err := execute(newBenchCommand(), append([]string{"days", "--policies", "random", "--out", dir}, files...)...)
	if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), "two scenarios have the name my-day") {
		t.Errorf("two days of one name: %v", err)
	}
}

// Tables are of all that was asked for: who gives a run up halfway keeps the last ones.
func TestBenchDaysThatAreGivenUpLeaveTheTables(t *testing.T) {
	dir := t.TempDir()
	args := []string{"days", "six-regions", "--jobs", "10", "--draws", "1", "--steps", "5", "--out", dir, "--policies", "home-fifo,random"}
	if _, stderr, err := execute(newBenchCommand(), args...); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	table := filepath.Join(dir, "table.csv")
	before, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := newBenchCommand()
	cmd.SetErr(tellAll(func(stderr string) {
		if strings.Contains(stderr, "1/") {
			cancel()
		}
	}))
	cmd.SetArgs(append(args, "--seeds", "2"))
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	if err := cmd.ExecuteContext(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("given up after a row: %v", err)
	}
	if after, err := os.ReadFile(table); err != nil || string(after) != string(before) {
		t.Errorf("the table is now, %v:\n%s", err, after)
	}
}

// A rule that cannot get a day done leaves out its row, and nobody else's.
func TestBenchDaysGoesOnWithoutARunThatDoesNotEnd(t *testing.T) {
	dir := t.TempDir()
	trace := "job_id,submit_s,duration_s,gpus,vc\n"
	for i := range 60 {
		trace += fmt.Sprintf("job-%d,%d,86400,1,v\n", i, i)
	}
	day := `name: crowd
start: 2026-01-02T00:00:00Z
sites:
- {name: one, region: {price: {mean: 50, swing: 9}, carbon: {mean: 9, swing: 1}, match: 0}, fleet: [{count: 1, model: V100, gpus: 1, cpu: 64, memory: 512}]}
- {name: many, region: {price: {mean: 50, swing: 9}, carbon: {mean: 9, swing: 1}, match: 0}, fleet: [{count: 8, model: V100, gpus: 8, cpu: 64, memory: 512}]}
jobs: {trace: jobs.csv, from: 0, resident: 0}
`
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "jobs.csv"), []byte(trace), 0o644), os.WriteFile(filepath.Join(dir, "crowd.yaml"), []byte(day), 0o644)); err != nil {
		t.Fatal(err)
	}
	out, stderr, err := execute(newBenchCommand(), "days", filepath.Join(dir, "crowd.yaml"), "--steps", "5", "--out", filepath.Join(dir, "out"), "--policies", "home-fifo,k8s-least-allocated")
	if !errors.Is(err, scenarios.ErrJobsUnfinished) || !strings.Contains(err.Error(), "under home-fifo") {
		t.Fatalf("%v\n%s", err, stderr)
	}
	table, err := os.ReadFile(filepath.Join(dir, "out", "table.md"))
	if err != nil || string(table) != out || strings.Contains(out, "| home-fifo") || !strings.Contains(out, "| k8s-least-allocated") {
		t.Errorf("%v, printed\n%s\nwritten\n%s", err, out, table)
	}
}

// A trace that has no jobs to draw from is replayed as it is, and refused if draws were asked for.
func TestBenchDaysOfAShortTrace(t *testing.T) {
	dir := t.TempDir()
	day := "name: short\nstart: 2026-01-02T00:00:00Z\nsites:\n- name: a\n  region: {price: {mean: 50, swing: 9}, carbon: {mean: 9, swing: 1}, match: 0}\n  fleet: [{count: 1, model: V100, gpus: 1, cpu: 8, memory: 64}]\njobs: {trace: jobs.csv, from: 0}\n"
	trace := "job_id,submit_s,duration_s,gpus,vc\na,0,60,1,v\nb,9,60,1,v\n"
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "jobs.csv"), []byte(trace), 0o644), os.WriteFile(filepath.Join(dir, "short.yaml"), []byte(day), 0o644)); err != nil {
		t.Fatal(err)
	}
	args := []string{"days", filepath.Join(dir, "short.yaml"), "--steps", "5", "--policies", "home-fifo", "--out", filepath.Join(dir, "out")}
	if out, stderr, err := execute(newBenchCommand(), args...); err != nil || !strings.Contains(out, "## short, seed 1\n") {
		t.Errorf("without --draws: %v\n%s\n%s", err, out, stderr)
	}
	if _, _, err := execute(newBenchCommand(), append(args, "--draws", "2")...); !errors.As(err, new(usageError)) || !errors.Is(err, spec.ErrTooFewJobs) {
		t.Errorf("with --draws 2: %v; want bad input", err)
	}
}

// The study of intervals runs as a command, twice with the same figures, and refuses nonsense.
func TestBenchChance(t *testing.T) {
	args := []string{"chance", "six-regions", "--jobs", "20", "--draws", "6", "--jitters", "2", "--pairs", "20", "--out", t.TempDir()}
	first, stderr, err := execute(newBenchCommand(), args...)
	if err != nil || !strings.Contains(first, "20 cases of 6 days and draws each, intervals of 6 values") {
		t.Fatalf("%v\n%s\n%s", err, first, stderr)
	}
	if again, _, err := execute(newBenchCommand(), args...); err != nil || again != first {
		t.Errorf("the second time: %v\n%s\nthe first:\n%s", err, again, first)
	}
	if out, _, err := execute(newBenchCommand(), append(slices.Clone(args), "-o", "csv")...); err != nil || !strings.Contains(out, "figure,one_run_sd_pct,interval_pct,itself_holds_0,planted_detected\njobs_usd,") {
		t.Errorf("bench chance -o csv: %v:\n%s", err, out)
	}
	for _, bad := range [][]string{{"--jitters", "1"}, {"--planted", "0"}, {"--pairs", "0"}, {"--draws", "0"}} {
		if _, _, err := execute(newBenchCommand(), append(args, bad...)...); !errors.As(err, new(usageError)) {
			t.Errorf("bench chance %v: %v; want bad input", bad, err)
		}
	}
}

// Scores of forecasts are a row for each trace and forecaster.
func TestScoresAreListed(t *testing.T) {
	var out bytes.Buffer
	scores := []estimates.ForecastScore{{Trace: "philly", Forecaster: "profiles", Jobs: 3, Covered: []protocol.Milli{501, 900, 950}, Loss: []time.Duration{time.Minute, 90 * time.Second, 500 * time.Millisecond}}}
	if err := scoreListing(scores).Print(&out, printer.CSV); err != nil || out.String() != "trace,forecast_by,jobs,p50_pct,p90_pct,p95_pct,loss_p50_s,loss_p90_s,loss_p95_s\nphilly,profiles,3,50.1,90,95,60,90,0.5\n" {
		t.Errorf("%v:\n%s", err, &out)
	}
}

// tellAll is shown what is written.
type tellAll func(string)

func (f tellAll) Write(text []byte) (int, error) {
	f(string(text))
	return len(text), nil
}

// A day that cannot be loaded is not found out about when others have been played for
// minutes, nor are two of one name compared with each other.
func TestBenchPaymentsKnowsItsDaysBeforeTheWork(t *testing.T) {
	for _, days := range [][]string{{"six-regions", "no-such-day"}, {"six-regions", "six-regions"}} {
		_, stderr, err := execute(newBenchCommand(), append([]string{"payments", "--jobs", "1", "--sites", "hydro-north"}, days...)...)
		if !errors.As(err, new(usageError)) || stderr != "" {
			t.Errorf("%v: %v, after %q; want bad input before the work", days, err, stderr)
		}
	}
}

// A shell spells out what it is given: --window joined/*.csv is one flag, and many files.
func TestBenchDaysTakesAllWindowsOfOneFlag(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
		return file
	}
	put("workload/philly_2017.csv.gz", "job_id,submit_s,duration_s,gpus,vc\na,2592000,600,1,vc\n")
	put("workload/nodes_alibaba_gpu_v2023.csv", "sn,cpu_milli,memory_mib,gpu,model\none,64000,262144,8,V100\n")
	args := []string{"days", "--data", dir, "--policies", "home-fifo", "--steps", "5", "--out", filepath.Join(dir, "out"), "--window"}
	for _, day := range []string{"2023-12-30", "2024-02-27"} { // over the end of a year, and a leap day
		from, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		text := "time_utc,zone,ci_lifecycle_gco2_per_kwh,price_usd_per_mwh\n"
		for h := range 96 {
			text += from.Add(time.Duration(h)*time.Hour).Format(time.RFC3339) + ",DE,300,50\n"
		}
		args = append(args, put(day+".csv", text))
	}
	out, stderr, err := execute(newBenchCommand(), args...)
	if err != nil || !strings.Contains(out, "\n## 2023-12-30, seed 1\n") || !strings.Contains(out, "\n## 2024-02-27, seed 1\n") {
		t.Errorf("two windows: %v\n%s\n%s", err, stderr, out)
	}
	_, _, err = execute(newReplayCommand(), args[len(args)-1])
	if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), "is a CSV table, not a scenario: give it as --window FILE") {
		t.Errorf("a window in place of a scenario: %v; want what to write", err)
	}
}
