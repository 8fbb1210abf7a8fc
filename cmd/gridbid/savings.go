package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/history/tables"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/lab/bench"
	"github.com/gridbid/gridbid/scenarios"
)

// savingsFolder is where the replays of savings are, unless --run says otherwise.
var savingsFolder = filepath.Join(".gridbid", "savings")

// A daySavings are the jobs that arrived on one day, and what they took under both policies.
type daySavings struct {
	Day           string     `json:"day"`
	Jobs          int        `json:"jobs"`
	CostUSD       [2]float64 `json:"cost_usd"` // of energy: before, after
	CarbonKg      [2]float64 `json:"carbon_kg"`
	WaitHours     [2]float64 `json:"wait_h"` // of all jobs together
	Late          [2]int     `json:"late"`
	NotRun        [2]int     `json:"not_run"`
	OtherSiteJobs int        `json:"jobs_at_another_site"`
}

// A savingsAnswer is what `gridbid savings` prints. Changes are fractions of the total before, with
// their intervals over days.
type savingsAnswer struct {
	Before string         `json:"before"`
	After  string         `json:"after"`
	Cost   bench.Interval `json:"cost"`
	Carbon bench.Interval `json:"carbon"`
	Days   []daySavings   `json:"days"`
}

// newSavingsCommand is `gridbid savings`: what the market would have saved on jobs of one's own.
func newSavingsCommand() *cobra.Command {
	var f replayFlags
	var sites, before string
	cmd := &cobra.Command{
		Use:   "savings --from FILE --sites SCENARIO",
		Short: "what the market would have saved on a month of your own jobs",
		Long: `Replay jobs of your own at the sites of a scenario twice, as they were scheduled and
under the auction, and print what the market would have changed: energy cost, carbon,
waiting and late jobs, day by day and in all. In brackets is the interval of 95 % over
the days; with fewer than six days nothing is said of chance.

--from is a dump of "sacct -P", or any file that "gridbid replay --jobs" reads: the
format is recognised (docs/own-jobs.md). --sites is a scenario whose period holds the
jobs, up to 31 days, with your fleets and with the prices and carbon of those days.
Before is the policy --before: home-fifo runs each job at its home site, in order of
arrival. Jobs without a home get one drawn: --jobs-columns home=Cluster takes it.

Costs and carbon are those of the jobs' energy. Idle draw is in the figures of
"gridbid compare"; every decision is in the ledgers: "gridbid page" shows them.`,
		Example: `  sacct -P --allusers --starttime 2024-03-01 --format JobID,Account,Cluster,Submit,Elapsed,State,ReqTRES,AllocTRES > jobs.txt
  gridbid savings --from jobs.txt --sites march.yaml --jobs-columns home=Cluster
  gridbid page --run .gridbid/savings`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.runSavings(cmd, sites, before) },
	}
	f.registerGridFlags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.options.Jobs, "from", "", "`FILE` of your jobs")
	fl.StringVar(&sites, "sites", "", "`SCENARIO` with your sites: a name, a folder or a scenario.yaml")
	_, _ = cmd.MarkFlagRequired("from"), cmd.MarkFlagRequired("sites")
	fl.StringToStringVar(&f.options.JobsColumns, "jobs-columns", nil, "columns of the file: `OWN=COLUMN,...` (docs/own-jobs.md)")
	registerSkipBadFlag(cmd, &f.options.SkipBad)
	fl.IntVar(&f.options.MaxJobs, "max-jobs", 20_000, "limit on jobs, spread over the same hours as all of them")
	fl.StringVar(&before, "before", "home-fifo", "`POLICY` that stands for how the jobs were scheduled")
	fl.StringVar(&f.run, "run", savingsFolder, "folder for the ledgers of both replays")
	f.registerOutput(cmd)
	return cmd
}

// runSavings replays the jobs under both policies, and prints what the second changes.
func (f *replayFlags) runSavings(cmd *cobra.Command, sites, before string) error {
	s, err := f.loadScenario([]string{sites})
	if err != nil {
		return err
	}
	policies, err := parsePolicyNames("--before", []string{before, scenarios.PolicyAuction})
	if err != nil {
		return err
	}
	if slices.Contains(policies, scenarios.PolicyOutside) {
		return usageError{errors.New("--before outside: its program can be named in `gridbid replay` only: choose another policy")}
	}
	if err := ensureWritableFolder(f.run); err != nil {
		return usageError{fmt.Errorf("--run: %w", err)}
	}
	notes := notesOf(cmd)
	release, err := f.beginRun(notes, s)
	if err != nil {
		return err
	}
	defer release()
	f.bus = "mem"
	totals, err := f.replayPolicies(cmd.Context(), s, policies, notes, func(string, *scenarios.ReplayResult) {})
	if err != nil {
		return err
	}
	if err := writeTotals(filepath.Join(f.run, "totals.json"), totals); err != nil {
		return err
	}
	answer := savingsAnswer{Before: policies[0], After: policies[1]}
	if err := answer.readDays(f.run, cmd.ErrOrStderr()); err != nil {
		return err
	}
	printWarnings(cmd.ErrOrStderr(), scenarios.MisleadingFigures(s, totals))
	return f.printView(cmd, answer.listing())
}

// readDays reads both ledgers, and sums the jobs by the day of their arrival, UTC.
func (a *savingsAnswer) readDays(run string, stderr io.Writer) error {
	index, siteBefore := make(map[string]int), make(map[string]string)
	for side, policy := range []string{a.Before, a.After} {
		r, err := readRunTables(run, policy, history.Config{}, stderr)
		if err != nil {
			return err
		}
		for j := range tables.Jobs(r.Run) {
			day := j.Job.Arrival.StdTime().Format("2006-01-02")
			i, known := index[day]
			if !known {
				i = len(a.Days)
				index[day], a.Days = i, append(a.Days, daySavings{Day: day})
			}
			a.Days[i].addJob(side, j, siteBefore)
		}
	}
	slices.SortFunc(a.Days, func(x, y daySavings) int { return strings.Compare(x.Day, y.Day) })
	of := func(value func(daySavings) [2]float64) bench.Interval {
		var days []string
		var x, y []float64
		for _, d := range a.Days {
			v := value(d)
			days, x, y = append(days, d.Day), append(x, v[1]), append(y, v[0])
		}
		return bench.TotalInterval(days, x, y)
	}
	a.Cost = of(func(d daySavings) [2]float64 { return d.CostUSD })
	a.Carbon = of(func(d daySavings) [2]float64 { return d.CarbonKg })
	return nil
}

// addJob adds a job of one side, 0 before and 1 after.
func (d *daySavings) addJob(side int, j tables.JobFigures, siteBefore map[string]string) {
	site := ""
	if j.Last != nil {
		site = j.Last.Site
	}
	key := fmt.Sprint(j.Job.ID, "/", j.Before)
	if side == 0 {
		d.Jobs++
		siteBefore[key] = site
	} else if site != siteBefore[key] {
		d.OtherSiteJobs++
	}
	d.CostUSD[side] += j.Bill.Money.InDollars()
	d.CarbonKg[side] += j.Bill.Carbon.InKilograms()
	if wait, ok := j.WaitTime(); ok {
		d.WaitHours[side] += wait.Hours()
	}
	switch {
	case !j.HasEnded():
		d.NotRun[side]++
	case j.EndedLate():
		d.Late[side]++
	}
}

// sum returns all days together.
func (a *savingsAnswer) sum() (all daySavings) {
	for _, d := range a.Days {
		all.Jobs, all.OtherSiteJobs = all.Jobs+d.Jobs, all.OtherSiteJobs+d.OtherSiteJobs
		for i := range 2 {
			all.CostUSD[i] += d.CostUSD[i]
			all.CarbonKg[i] += d.CarbonKg[i]
			all.WaitHours[i] += d.WaitHours[i]
			all.Late[i] += d.Late[i]
			all.NotRun[i] += d.NotRun[i]
		}
	}
	return all
}

// listing returns the days as a listing; people read what it comes to before them.
func (a *savingsAnswer) listing() printer.View {
	type day = daySavings
	l := printer.Listing[day]{Rows: a.Days, Data: a, Columns: []printer.Column[day]{
		{Head: "DAY", Value: func(d day) any { return d.Day }},
		{Head: "JOBS", Value: func(d day) any { return d.Jobs }},
	}}
	for i, when := range []string{"BEFORE", "AFTER"} {
		l.Columns = append(l.Columns,
			printer.Column[day]{Head: "USD " + when, Value: func(d day) any { return d.CostUSD[i] }, Verb: "%.2f"},
			printer.Column[day]{Head: "KG " + when, Value: func(d day) any { return d.CarbonKg[i] }, Verb: "%.1f"},
			printer.Column[day]{Head: "WAIT H " + when, Value: func(d day) any { return d.WaitHours[i] / float64(max(d.Jobs, 1)) }, Verb: "%.2f"},
			printer.Column[day]{Head: "LATE " + when, Value: func(d day) any { return d.Late[i] }},
			printer.Column[day]{Head: "NOT RUN " + when, Value: func(d day) any { return d.NotRun[i] }, Wide: true},
		)
	}
	table := l
	l.Text = func(out io.Writer) {
		a.writeSummary(out)
		_ = table.Print(out, printer.Table)
	}
	return l
}

// writeSummary prints what all days come to.
func (a *savingsAnswer) writeSummary(out io.Writer) {
	all := a.sum()
	fmt.Fprintf(out, "%s of %s, %s in place of %s:\n", format.CountWithNoun(all.Jobs, "job", "jobs"), format.CountWithNoun(len(a.Days), "day", "days"), a.After, a.Before)
	for _, x := range []struct {
		what string
		unit string
		v    [2]float64
		i    bench.Interval
	}{{"energy cost", "$", all.CostUSD, a.Cost}, {"carbon", "kg CO2e", all.CarbonKg, a.Carbon}} {
		fmt.Fprintf(out, "  %-12s %s\n", x.what, changeText(x.v, x.unit, x.i))
	}
	jobs := float64(max(all.Jobs, 1))
	fmt.Fprintf(out, "  %-12s %.0f -> %.0f min a job\n", "waiting", 60*all.WaitHours[0]/jobs, 60*all.WaitHours[1]/jobs)
	fmt.Fprintf(out, "  %-12s %d -> %d; not run: %d -> %d\n", "late", all.Late[0], all.Late[1], all.NotRun[0], all.NotRun[1])
	fmt.Fprintf(out, "  %s run at another site\n\n", format.CountWithNoun(all.OtherSiteJobs, "job", "jobs"))
}

// changeText describes how a total changes, with its interval.
func changeText(v [2]float64, unit string, i bench.Interval) string {
	s := fmt.Sprintf("%.2f -> %.2f %s", v[0], v[1], unit)
	switch {
	case i.N == 0:
		return s + " (a total that is not above zero has no percentage)"
	case !i.Known():
		return s + fmt.Sprintf(", %+.1f %% (fewer than six days: nothing is said of chance)", 100*i.Mean)
	case i.WithinChance():
		return s + fmt.Sprintf(", %+.1f %% [%+.1f..%+.1f]: within chance", 100*i.Mean, 100*i.Low, 100*i.High)
	}
	return s + fmt.Sprintf(", %+.1f %% [%+.1f..%+.1f]", 100*i.Mean, 100*i.Low, 100*i.High)
}
