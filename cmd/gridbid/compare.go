package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/history/tables"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/lab/bench"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
)

// compareFlags are the flags of `gridbid compare`.
type compareFlags struct {
	outputFlags
	policies []string
	limit    int
}

// newCompareCommand is `gridbid compare`: two runs, or two policies of one, side by side.
func newCompareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare RUN [RUN]",
		Short: "compare two runs, or two policies of a run, by figure and by job",
		Long: `Compare two policies of a run, or one policy of two runs: the figures side by side, how
the second differs from the first, and which jobs moved to another site or hour.

RUN is the folder of a replay (its --run). It may also be a folder of such folders, one
for each draw of the jobs: then figures are compared draw by draw, and from six draws
on each difference has the interval that tells it from chance. With fewer, runs that
were replayed under the policy chance, too, tell what chance makes: nothing within it is
called better.

Only finished runs are compared: a running coordinator has other jobs than a recording, and
figures of the whole only when they have ended. To see what another policy would have made
of its jobs, replay them: export them with --live, and give the file to replay --jobs.`,
		Example: `  gridbid compare .gridbid/last --policy home-fifo,auction
  gridbid compare before/ after/
  gridbid replay --policy home-fifo,auction,chance && gridbid compare .gridbid/last
  for n in 1 2 3 4 5 6; do gridbid replay real-days/ordinary_2022-04-13 --draw $n --run draws/$n; done
  gridbid compare draws --policy home-fifo,auction
  gridbid export --live > jobs.csv && gridbid replay --jobs jobs.csv --run again && gridbid compare again`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return f.runCompare(cmd, args) },
	}
	f.registerOutput(cmd)
	fl := cmd.Flags()
	fl.StringSliceVar(&f.policies, "policy", nil, "the two policies of one RUN (default: home-fifo,auction, or the only two), or the policy of two (default: auction, or the only one)")
	fl.IntVar(&f.limit, "limit", 10, "jobs that are listed at most, those with the largest difference in cost first; 0: all")
	return cmd
}

// A comparedSide is one policy of one run.
type comparedSide struct{ run, policy string }

// A runComparison is what `gridbid compare` prints.
type runComparison struct {
	First       string             `json:"first"`
	Second      string             `json:"second"`
	Pairs       int                `json:"pairs"` // of runs
	Figures     []bench.Comparison `json:"figures"`
	Chance      string             `json:"chance"` // what may be said of chance
	Same        int                `json:"jobs_unmoved"`
	AtOtherSite int                `json:"jobs_at_another_site"`
	Shifted     int                `json:"jobs_at_another_time"`
	Alone       int                `json:"jobs_in_one_run_only"`
	Jobs        []changedJob       `json:"jobs"`
}

// A changedJob is a job that ran at another site or time, or in one run only.
type changedJob struct {
	Run        string        `json:"run,omitempty"` // of several pairs
	Job        string        `json:"job_id"`
	What       string        `json:"what"`
	SiteFirst  string        `json:"site_first"`
	SiteSecond string        `json:"site_second"`
	Start      protocol.Time `json:"start_first"`
	StartAfter protocol.Time `json:"start_second"`
	CostUSD    float64       `json:"cost_usd_difference"`
	CarbonKg   float64       `json:"carbon_kg_difference"`
}

// runCompare compares the sides, pair by pair, and prints the result.
func (f *compareFlags) runCompare(cmd *cobra.Command, args []string) error {
	pairs, err := f.pairsOf(args)
	if err != nil {
		return err
	}
	out := runComparison{First: sideName(pairs[0][0], len(args)), Second: sideName(pairs[0][1], len(args)), Pairs: len(pairs)}
	var first, second []history.Totals
	for _, p := range pairs {
		var both [2]history.Totals
		for i, side := range p {
			if both[i], err = totalsOf(side); err != nil {
				return err
			}
		}
		first, second = append(first, both[0]), append(second, both[1])
		run := ""
		if len(pairs) > 1 {
			run = filepath.Base(p[0].run)
		}
		if err := out.compareJobs(p, run, cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	out.Figures = bench.ComparePairs(first, second)
	auction, chance, err := chanceRuns(pairs)
	if err != nil {
		return err
	}
	if len(chance) > 0 {
		bench.AddChance(out.Figures, auction, chance)
	}
	out.Chance = chanceOf(len(pairs), len(chance))
	slices.SortStableFunc(out.Jobs, func(a, b changedJob) int {
		return cmp.Or(cmp.Compare(math.Abs(b.CostUSD), math.Abs(a.CostUSD)), cmp.Compare(a.Job, b.Job))
	})
	if f.format == printer.JSON || f.format == printer.YAML {
		return f.printValue(cmd, out, nil)
	}
	return f.printText(cmd, out)
}

// pairsOf returns the runs to compare, pair by pair.
func (f *compareFlags) pairsOf(args []string) (pairs [][2]comparedSide, err error) {
	var runs [2][]string
	for i, dir := range args {
		if runs[i], err = runsIn(dir); err != nil {
			return nil, err
		}
	}
	if len(args) == 1 {
		policies, err := twoPolicies(runs[0][0], f.policies)
		if err != nil {
			return nil, err
		}
		for _, run := range runs[0] {
			pairs = append(pairs, [2]comparedSide{{run, policies[0]}, {run, policies[1]}})
		}
		return pairs, nil
	}
	if len(f.policies) > 1 {
		return nil, usageError{errors.New("--policy: two runs are compared under one policy: name one")}
	}
	policy := strings.Join(f.policies, "")
	for _, a := range runs[0] {
		for _, b := range runs[1] {
			if len(runs[0]) == 1 && len(runs[1]) == 1 || filepath.Base(a) == filepath.Base(b) {
				pairs = append(pairs, [2]comparedSide{{a, policy}, {b, policy}})
			}
		}
	}
	if len(pairs) == 0 {
		return nil, usageError{fmt.Errorf("%s and %s have no runs of the same name: call the folders of the same draw alike", args[0], args[1])}
	}
	return pairs, nil
}

// runsIn returns the folders of runs that a folder is or has, by name.
func runsIn(dir string) (runs []string, err error) {
	if _, err := os.Stat(filepath.Join(dir, "totals.json")); err == nil {
		return []string{dir}, nil
	}
	found, err := filepath.Glob(filepath.Join(globLiteral(dir), "*", "totals.json"))
	if err != nil || len(found) == 0 {
		return nil, usageError{fmt.Errorf("%s is no finished run, and has none in it: want a folder that `gridbid replay --run` has written", dir)}
	}
	for _, file := range found {
		runs = append(runs, filepath.Dir(file))
	}
	return runs, nil
}

// globLiteral returns a folder's name as a pattern that matches it alone.
func globLiteral(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

// twoPolicies returns the two policies of a run to compare.
func twoPolicies(run string, names []string) ([]string, error) {
	if len(names) == 0 {
		has, err := chosenPolicies(run, nil)
		if err != nil {
			return nil, err
		}
		names = []string{"home-fifo", "auction"}
		if len(has) == 2 && (has[0] != names[1] || has[1] != names[0]) {
			return has, nil
		}
	}
	if len(names) != 2 {
		return nil, usageError{fmt.Errorf("--policy %s: want two policies of %s, or one and two runs", strings.Join(names, ","), run)}
	}
	return chosenPolicies(run, names)
}

// totalsOf returns the figures of a side. Without a policy it is that of the ledger which other
// commands would read.
func totalsOf(side comparedSide) (history.Totals, error) {
	all, err := readTotals(side.run)
	if err != nil {
		return history.Totals{}, err
	}
	path, err := findLedger(side.run, side.policy)
	if err != nil {
		return history.Totals{}, usageError{err}
	}
	for _, t := range all {
		if ledgerFile(side.run, t.Policy) == path {
			return t, nil
		}
	}
	return history.Totals{}, usageError{fmt.Errorf("%s has no figures of %s: its replay did not finish", filepath.Join(side.run, "totals.json"), filepath.Base(path))}
}

// compareJobs adds the jobs of a pair of runs.
func (c *runComparison) compareJobs(pair [2]comparedSide, run string, stderr io.Writer) error {
	var jobs [2]map[string]tables.JobFigures
	var order []string
	var hashes [2]string
	for i, side := range pair {
		r, err := readRunTables(side.run, side.policy, history.Config{}, stderr)
		if err != nil {
			return err
		}
		hashes[i] = r.Hash
		jobs[i] = make(map[string]tables.JobFigures)
		for j := range tables.Jobs(r.Run) {
			key := string(j.Job.ID)
			if j.Before > 0 {
				key = fmt.Sprintf("%s (%d)", key, j.Before+1)
			}
			if _, known := jobs[0][key]; i == 0 || !known {
				order = append(order, key)
			}
			jobs[i][key] = j
		}
	}
	if hashes[0] != hashes[1] {
		fmt.Fprintf(stderr, "  warning: %s and %s are replays of different inputs: what differs is not the policy alone\n", pair[0].run, pair[1].run)
	}
	for _, key := range order {
		a, inFirst := jobs[0][key]
		b, inSecond := jobs[1][key]
		if !inFirst || !inSecond {
			c.Alone++
			continue
		}
		c.countJob(changedJob{Run: run, Job: key}, a, b)
	}
	return nil
}

// countJob counts a job that both runs have, and lists it if it moved.
func (c *runComparison) countJob(m changedJob, a, b tables.JobFigures) {
	site := func(j tables.JobFigures) string {
		if j.Last == nil {
			return ""
		}
		return j.Last.Site
	}
	m.SiteFirst, m.SiteSecond, m.Start, m.StartAfter = site(a), site(b), a.Begin, b.Begin
	m.CostUSD, m.CarbonKg = (b.Cost() - a.Cost()).InDollars(), (b.Bill.Carbon - a.Bill.Carbon).InKilograms()
	switch {
	case m.SiteFirst != m.SiteSecond:
		c.AtOtherSite++
		m.What = "site"
	case m.Start != m.StartAfter:
		c.Shifted++
		m.What = "time"
	default:
		c.Same++
		return
	}
	c.Jobs = append(c.Jobs, m)
}

// chanceRuns returns the runs of the auction and of the row chance that the folders of pairs have.
func chanceRuns(pairs [][2]comparedSide) (auction, chance []history.Totals, err error) {
	seen := make(map[string]bool)
	for _, pair := range pairs {
		for _, side := range pair {
			if seen[side.run] {
				continue
			}
			seen[side.run] = true
			all, err := readTotals(side.run)
			if err != nil {
				return nil, nil, err
			}
			of := func(policy string) int {
				return slices.IndexFunc(all, func(t history.Totals) bool { return t.Policy == policy })
			}
			if i, j := of(scenarios.PolicyAuction), of(history.PolicyChance); i >= 0 && j >= 0 {
				auction, chance = append(auction, all[i]), append(chance, all[j])
			}
		}
	}
	return auction, chance, nil
}

// chanceOf says what may be said of chance after so many pairs of runs, of which so many have the
// row chance.
func chanceOf(pairs, chance int) string {

	switch {
	case pairs >= bench.MinPairs:
		return fmt.Sprintf("In brackets the 95 %% interval over %d pairs of runs. A difference whose interval holds 0 is within chance (≈): it may be called neither better nor worse.", pairs)
	case chance > 0:
		return fmt.Sprintf("BY CHANCE is how far two runs of one policy differ, in 95 %% of cases, by the policy chance in %s. A difference that is no larger is within chance (≈): it may be called neither better nor worse. More draws narrow it (`gridbid replay --draw N`).", format.CountWithNoun(chance, "run", "runs"))
	case pairs > 1:
		return fmt.Sprintf("%d pairs of runs are too few to tell a difference from chance: an interval wants %d (`gridbid replay --draw N`).", pairs, bench.MinPairs)
	}
	return "One run is no proof: two runs of one policy differ, too. Replay the policy chance beside them, or draws of the jobs (`gridbid replay --draw N --run draws/N`, six or more) and compare their folder, or use `gridbid bench days`."
}

// sideName names a side by what differs between the sides.
func sideName(s comparedSide, runs int) string {
	if runs == 1 {
		return s.policy
	}
	return s.run
}

// printText prints the comparison for people, or its jobs as CSV or names.
func (f *compareFlags) printText(cmd *cobra.Command, c runComparison) error {
	listed := c.Jobs
	if f.limit > 0 && !f.forPrograms() {
		listed = listed[:min(f.limit, len(listed))]
	}
	jobs := printer.Listing[changedJob]{Rows: listed, Columns: changedColumns(c.Pairs > 1)}
	if f.forPrograms() {
		return f.printView(cmd, jobs)
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s against %s\n\n", c.Second, c.First)
	if err := comparedFigures(c).Print(out, printer.Table); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n", c.Chance)
	fmt.Fprintf(out, "\n%d jobs ran at another site, %d at the same site at another time, %d as before", c.AtOtherSite, c.Shifted, c.Same)
	if c.Alone > 0 {
		fmt.Fprintf(out, ", and %d are in one run only", c.Alone)
	}
	fmt.Fprint(out, ".\n")
	if len(listed) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	if err := jobs.Print(out, printer.Table); err != nil {
		return err
	}
	if more := len(c.Jobs) - len(listed); more > 0 {
		fmt.Fprintf(notesOf(cmd), "%d more jobs; --limit 0 shows all\n", more)
	}
	return nil
}

// comparedFigures returns the figures side by side.
func comparedFigures(c runComparison) printer.Listing[bench.Comparison] {
	return printer.Listing[bench.Comparison]{Rows: c.Figures, Columns: []printer.Column[bench.Comparison]{
		{Head: "FIGURE", Value: func(x bench.Comparison) any { return x.Name }},
		{Head: "UNIT", Value: func(x bench.Comparison) any { return x.Unit }},
		{Head: strings.ToUpper(c.First), Value: func(x bench.Comparison) any { return x.MeanBefore }, Verb: "%.2f"},
		{Head: strings.ToUpper(c.Second), Value: func(x bench.Comparison) any { return x.Mean }, Verb: "%.2f"},
		{Head: "DIFFERENCE", Value: func(x bench.Comparison) any {
			text := x.Text()
			if x.Verdict == bench.WithinChance {
				text = "≈ " + text
			}
			if x.Difference.Unit == "%" {
				return text + " %"
			}
			return text
		}},
		{Head: "BY CHANCE", Value: func(x bench.Comparison) any { return x.ChanceText() }},
	}}
}

// changedColumns are the columns of the jobs that moved.
func changedColumns(several bool) []printer.Column[changedJob] {
	columns := []printer.Column[changedJob]{
		{Head: "JOB", Value: func(m changedJob) any { return m.Job }},
		{Head: "CHANGED", Value: func(m changedJob) any { return m.What }},
		{Head: "SITE BEFORE", Value: func(m changedJob) any { return m.SiteFirst }},
		{Head: "SITE", Value: func(m changedJob) any { return m.SiteSecond }},
		{Head: "START BEFORE", Value: func(m changedJob) any { return m.Start }},
		{Head: "START", Value: func(m changedJob) any { return m.StartAfter }},
		{Head: "COST USD", Value: func(m changedJob) any { return m.CostUSD }, Verb: "%+.4f"},
		{Head: "CARBON KG", Value: func(m changedJob) any { return m.CarbonKg }, Verb: "%+.3f"},
	}
	if several {
		columns = slices.Insert(columns, 1, printer.Column[changedJob]{Head: "RUN", Value: func(m changedJob) any { return m.Run }})
	}
	return columns
}
