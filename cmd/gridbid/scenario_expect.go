package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// An expectationRow is what became of one expectation in `gridbid scenario test`.
type expectationRow struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Policy   string `json:"policy"`
	Job      string `json:"job"`
	Expected string `json:"expected"`
	Holds    bool   `json:"holds"`
	Got      string `json:"got,omitempty"` // what happened instead
	Why      string `json:"why,omitempty"` // explains the job, if the expectation does not hold
}

// newScenarioTestCommand is `gridbid scenario test`.
func newScenarioTestCommand() *cobra.Command {
	var f outputFlags
	var list listFlags
	var data string
	var live liveFlags
	cmd := &cobra.Command{
		Use:   "test FILE...",
		Short: "replay scenarios, and check what they expect of the run",
		Long: `Replay each scenario in memory and check what its section expect says of the run: where
and by when a job starts, how long it waits, with which reason it is refused, how it
ends, and what is never so at one instant. Of an expectation that fails the command
prints what happened instead, and why the market decided so. docs/acceptance.md
has a complete example and lists the expectations.

FILE is a scenario file, a folder or a shipped name. Of a folder without a scenario.yaml
all files *.yaml below it that expect something are tested. A scenario that names
policies is replayed under each of them, others under the auction.

With --live nothing is replayed: coordinator, agents and executors each run in a loop of
their own over an embedded NATS server, by a clock that runs --speed times as fast as the
wall clock, until all jobs are over. With --live=processes the coordinator and each site
are processes of this program, which join the server as any member does. A case of four hours takes four minutes by default;
all cases run side by side, at most --parallel at a time. What a run does that no
federation may do, such as to start half a gang, is an error. Services are for replays.

Exit codes: 0 all expectations hold; 1 one fails; 2 a file is wrong, or expects nothing.`,
		Example: `  gridbid scenario test case.yaml
  gridbid scenario test scenarios/acceptance
  gridbid scenario test scenarios/acceptance/j*.yaml --live=processes
  gridbid scenario test case.yaml -o json | jq '.[] | select(.holds | not)'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cases, err := loadCases(args, data)
			if err != nil {
				return usageError{err}
			}
			live.data = data
			if err := live.check(cmd); err != nil {
				return usageError{err}
			}
			rows, unplayed := judgeCases(cmd.Context(), cases, live)
			if len(rows) == 0 {
				return unplayed
			}
			listing := expectationListing(rows)
			if list.Selection == (printer.Selection{}) { // who selects rows wants a table
				listing.Text = func(out io.Writer) { writeExpectations(out, rows) }
			}
			view, err := selectRows(&list, listing)
			if err != nil {
				return err
			}
			return errors.Join(f.printView(cmd, view), failedExpectations(rows), unplayed)
		},
	}
	f.registerOutput(cmd)
	list.registerList(cmd, "expectations", 0)
	live.register(cmd)
	cmd.Flags().StringVar(&data, "data", dataFolder(), "`FOLDER` of recorded series and traces; also $GRIDBID_DATA")
	return cmd
}

// A testCase is a scenario with expectations, and where it is.
type testCase struct {
	file     string
	scenario spec.Scenario
}

// loadCases loads the scenarios of arguments, and returns all errors of them at once.
func loadCases(args []string, data string) (all []testCase, err error) {
	var wrong []error
	for _, arg := range args {
		files, walked, err := caseFiles(arg)
		wrong = append(wrong, err)
		found := err != nil
		for _, file := range files {
			s, err := spec.LoadScenario(file, spec.Options{Data: data})
			switch {
			case err != nil:
				wrong = append(wrong, err)
			case len(s.Expect) > 0:
				all = append(all, testCase{file, s})
			case !walked:
				wrong = append(wrong, fmt.Errorf("%s: lacks expect: add what you expect of the run (docs/acceptance.md)", file))
			}
			found = found || err != nil || len(s.Expect) > 0
		}
		if walked && !found {
			wrong = append(wrong, fmt.Errorf("%s: no scenario below it expects anything: name a file *.yaml with a section expect", arg))
		}
	}
	return all, errors.Join(wrong...)
}

// caseFiles returns the scenario files of an argument: itself, or all below a folder that is no
// scenario.
func caseFiles(arg string) (files []string, walked bool, err error) {
	if info, err := os.Stat(arg); err != nil || !info.IsDir() {
		return []string{arg}, false, nil // a file or a shipped name; what is neither fails when it is loaded
	}
	if _, err := os.Stat(filepath.Join(arg, "scenario.yaml")); err == nil {
		return []string{arg}, false, nil
	}
	err = filepath.WalkDir(arg, func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(file) == ".yaml" {
			files = append(files, file)
		}
		return err
	})
	return files, true, err
}

// judgeCases plays each case under its policies, and judges it.
func judgeCases(ctx context.Context, cases []testCase, live liveFlags) (rows []expectationRow, err error) {
	type result struct {
		rows []expectationRow
		err  error
	}
	all := make([]result, len(cases))
	var wait sync.WaitGroup
	slots := make(chan struct{}, live.atOnce())
	for i, c := range cases {
		slots <- struct{}{}
		wait.Go(func() {
			all[i].rows, all[i].err = judgeCase(ctx, c, live)
			<-slots
		})
	}
	wait.Wait()
	for _, r := range all {
		rows, err = append(rows, r.rows...), errors.Join(err, r.err)
	}
	return rows, err
}

// judgeCase plays a case under its policies, and judges it.
func judgeCase(ctx context.Context, c testCase, live liveFlags) (rows []expectationRow, err error) {
	for _, policy := range scenarios.PoliciesToJudge(c.scenario) {
		verdicts, h, err := live.play(ctx, c, policy)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", c.file, err)
		}
		for _, v := range verdicts {
			row := expectationRow{File: c.file, Line: v.Line, Policy: policy, Job: string(v.Job), Expected: v.Expected, Holds: v.Holds(), Got: v.Got}
			if r, ok := h.LatestJob(v.Job); ok && !v.Holds() {
				var why bytes.Buffer
				if err := query.WriteJob(&why, h, r); err != nil {
					return rows, err
				}
				row.Why = why.String()
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// expectationListing returns expectations as a listing.
func expectationListing(rows []expectationRow) printer.Listing[expectationRow] {
	return printer.Listing[expectationRow]{Rows: rows, Columns: []printer.Column[expectationRow]{
		{Head: "FILE", Value: func(r expectationRow) any { return fmt.Sprintf("%s:%d", r.File, r.Line) }},
		{Head: "HOLDS", Value: func(r expectationRow) any { return r.Holds }},
		{Head: "JOB", Value: func(r expectationRow) any { return r.Job }},
		{Head: "EXPECTED", Value: func(r expectationRow) any { return r.Expected }},
		{Head: "GOT", Value: func(r expectationRow) any { return r.Got }},
		{Head: "POLICY", Wide: true, Value: func(r expectationRow) any { return r.Policy }},
	}}
}

// writeExpectations writes a line for each file and policy, and below it what fails, with why.
func writeExpectations(out io.Writer, rows []expectationRow) {
	explained := make(map[string]bool)
	for i := 0; i < len(rows); {
		k, failed := i, 0
		for ; k < len(rows) && rows[k].File == rows[i].File && rows[k].Policy == rows[i].Policy; k++ {
			if !rows[k].Holds {
				failed++
			}
		}
		under := ""
		if rows[i].Policy != scenarios.PolicyAuction {
			under = " under " + rows[i].Policy
		}
		if count := format.CountWithNoun(k-i, "expectation", "expectations"); failed == 0 {
			fmt.Fprintf(out, "%s%s: %s, all met\n", rows[i].File, under, count)
		} else {
			fmt.Fprintf(out, "%s%s: %d of %s failed\n", rows[i].File, under, failed, count)
		}
		for _, r := range rows[i:k] {
			if r.Holds {
				continue
			}
			fmt.Fprintf(out, "  line %d: %s; %s\n", r.Line, r.Expected, r.Got)
			if at := r.File + r.Policy + r.Job; r.Why != "" && !explained[at] {
				explained[at] = true
				for line := range strings.Lines(strings.TrimSpace(r.Why)) {
					fmt.Fprintln(out, strings.TrimRight("    "+line, " \n"))
				}
			}
		}
		i = k
	}
}

// failedExpectations returns an error if an expectation failed.
func failedExpectations(rows []expectationRow) error {
	failed := 0
	for _, r := range rows {
		if !r.Holds {
			failed++
		}
	}
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %s failed", failed, format.CountWithNoun(len(rows), "expectation", "expectations"))
}
