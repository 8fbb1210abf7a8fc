package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// twoSites is a week of a cheap and clean site beside a dear one, where the jobs are at home.
const twoSites = `{name: week, about: a week., seed: 1, start: 2024-03-11T00:00:00Z, end: 2024-03-18T00:00:00Z, jobs: {count: 1}, sites: [
  {name: home, region: {price: {mean: 90, swing: 10}, carbon: {mean: 500, swing: 20}, match: 0}, host: {wake: 1}, fleet: [{count: 4, model: V100, gpus: 8, cpu: 96, memory: 512}]},
  {name: hydro, region: {price: {mean: 20, swing: 5}, carbon: {mean: 30, swing: 5}, match: 0}, host: {wake: 1}, fleet: [{count: 4, model: V100, gpus: 8, cpu: 96, memory: 512}]}]}`

// sacctWeek is a dump of a week with a few jobs each day.
func sacctWeek() string {
	var b strings.Builder
	b.WriteString("JobID|Account|Cluster|Submit|Elapsed|State|ReqTRES|AllocTRES\n")
	for i := range 7 * 8 {
		fmt.Fprintf(&b, "%d|team-%d|home|2024-03-%02dT%02d:10:00|0%d:00:00|COMPLETED|cpu=4,mem=16G,gres/gpu=%d|\n", i+1, i%3, 11+i/8, 2*(i%8)+1, 1+i%3, 1+i%2)
	}
	return b.String()
}

// What the market would have saved on a dump of sacct: the sums are those of the days, and of the
// figures that the replays print; the interval is known from six days on.
func TestSavingsOfAWeekOfSacct(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"week.yaml": twoSites, "jobs.txt": sacctWeek()} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--from", "jobs.txt", "--sites", "week.yaml", "--jobs-columns", "home=Cluster"}
	out, stderr, err := execute(newSavingsCommand(), append(args, "-o", "json")...)
	if err != nil {
		t.Fatalf("savings: %v\n%s", err, stderr)
	}
	var a savingsAnswer
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatal(err)
	}
	all := a.sum()
	if len(a.Days) != 7 || all.Jobs != 56 || a.Before != "home-fifo" || a.After != "auction" {
		t.Fatalf("%d days with %d jobs, %s against %s", len(a.Days), all.Jobs, a.After, a.Before)
	}
	if !a.Cost.Known() || a.Cost.High >= 0 || a.Carbon.High >= 0 || all.OtherSiteJobs == 0 {
		t.Errorf("a site at a fifth of the price saves nothing: %+v, %+v, %d jobs elsewhere", a.Cost, a.Carbon, all.OtherSiteJobs)
	}
	if got := all.CostUSD[1]/all.CostUSD[0] - 1; math.Abs(got-a.Cost.Mean) > 1e-9 {
		t.Errorf("the change of the totals is %v, and %v is printed", got, a.Cost.Mean)
	}
	totals, err := readTotals(savingsFolder)
	if err != nil || len(totals) != 2 {
		t.Fatalf("%v: %d figures", err, len(totals))
	}
	for i, total := range totals {
		if d := total.JobsEnergyUSD - all.CostUSD[i]; math.Abs(d) > 0.01*total.JobsEnergyUSD {
			t.Errorf("%s: days sum to $%.4f, the replay to $%.4f", total.Policy, all.CostUSD[i], total.JobsEnergyUSD)
		}
	}
	text, _, err := execute(newSavingsCommand(), args...)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"56 jobs of 7 days, auction in place of home-fifo:", "energy cost", "run at another site", "2024-03-17"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if _, _, err := execute(newSavingsCommand(), "--from", "absent.txt", "--sites", "week.yaml"); err == nil || !strings.Contains(err.Error(), "absent.txt") {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, _, err := execute(newSavingsCommand(), append(args, "--before", "auction")...); err == nil || !strings.Contains(err.Error(), "named twice") {
		t.Errorf("the auction against itself: %v", err)
	}
}

// Jobs whose dates lie within the period of the sites keep them; others are said to meet prices of
// other days. A malformed row is refused by line and column, or skipped and listed.
func TestSavingsKeepDatesAndListBadRows(t *testing.T) {
	t.Chdir(t.TempDir())
	head, rows, _ := strings.Cut(sacctWeek(), "\n")
	_, late, _ := strings.Cut(rows, "\n25|") // from the fourth day on
	late = head + "\n25|" + late
	for name, text := range map[string]string{
		"week.yaml": twoSites, "late.txt": late, "april.txt": strings.ReplaceAll(late, "2024-03", "2024-04"),
		"bad.txt": strings.Replace(late, "|01:00:00|", "|soon|", 1),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const outside, bad = "submitted from 2024-04-14 on, outside of the period", `bad.txt:2: Elapsed is "soon"`
	for _, x := range []struct {
		file, extra, day, said string
	}{
		{"late.txt", "", "2024-03-14", ""},
		{"april.txt", "", "2024-03-11", outside},
		{"bad.txt", "--skip-bad", "2024-03-14", bad},
	} {
		args := []string{"--from", x.file, "--sites", "week.yaml", "--jobs-columns", "home=Cluster"}
		if x.extra != "" {
			args = append(args, x.extra)
		}
		out, stderr, err := execute(newSavingsCommand(), args...)
		_, table, _ := strings.Cut(out, "DAY ")
		if first := strings.Fields(table[strings.IndexByte(table, '\n')+1:]); err != nil || first[0] != x.day {
			t.Errorf("%s: %v; the first day is %q; want %s\n%s", x.file, err, first[0], x.day, stderr)
		}
		for _, said := range []string{outside, bad} {
			if got := strings.Contains(stderr, said); got != (said == x.said) {
				t.Errorf("%s: it says %q: %v\n%s", x.file, said, got, stderr)
			}
		}
	}
	if _, _, err := execute(newSavingsCommand(), "--from", "bad.txt", "--sites", "week.yaml"); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("a malformed row: %v; want an error with %q", err, bad)
	}
}
