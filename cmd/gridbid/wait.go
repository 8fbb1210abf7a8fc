package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
)

// newWaitCommand is `gridbid wait`: it returns when jobs run or are done.
func newWaitCommand() *cobra.Command {
	var f apiFlags
	var until string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait JOB...",
		Short: "wait until jobs of a live federation run or are done",
		Long: `Wait until every one of the jobs is done or, with --for running, runs or has run. The
command outlives a coordinator that goes away, as a standby may take over.

Exit codes: 0 they all are; 1 one of them failed, was refused or was cancelled, and so
never will be; 2 there is no such job; 124 --timeout has passed, as timeout(1) says it.`,
		Example: `  gridbid wait train-7
  gridbid wait train-7 train-8 --for running --timeout 10m
  gridbid submit -f job.yaml && gridbid wait train-7 && ./collect-results`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			reached, ok := waitConditions[until]
			if !ok {
				return usageError{fmt.Errorf("--for %q: want running or done", until)}
			}
			if timeout < 0 {
				return usageError{fmt.Errorf("--timeout %v: want a time span such as 10m", timeout)}
			}
			ctx, cancel := cmd.Context(), context.CancelFunc(func() {})
			if timeout > 0 {
				ctx, cancel = context.WithTimeout(ctx, timeout)
			}
			defer cancel()
			cmd.SetContext(ctx)
			err := f.waitForJobs(cmd, args, reached)
			if errors.Is(ctx.Err(), context.DeadlineExceeded) && err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "gridbid: not all of %s within %v: `gridbid job ID` shows how a job stands\n", format.CountWithNoun(len(args), "job", "jobs"), timeout)
				return exitCode(exitTimedOut)
			}
			return err
		},
	}
	f.registerFlags(cmd, false)
	cmd.Flags().StringVar(&until, "for", "done", "what to wait for: `STATE`, running or done")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this time (default: never)")
	return cmd
}

// exitTimedOut is the exit code of a wait that gave up: that of timeout(1).
const exitTimedOut = 124

// waitConditions are what --for may wait for. A job that has ended is waited for no longer, as
// it will not come to another state.
var waitConditions = map[string]func(jobstatus.Job) bool{
	"running": func(j jobstatus.Job) bool { return j.State == history.Running || j.HasEnded() },
	"done":    jobstatus.Job.HasEnded,
}

// waitForJobs waits for one job after the other, and fails if one ended otherwise than well.
func (f *apiFlags) waitForJobs(cmd *cobra.Command, ids []string, reached func(jobstatus.Job) bool) error {
	all := make([]jobstatus.Job, len(ids))
	for i, id := range ids { // first all of them: a name that is wrong shows at once
		if err := f.getJSON(cmd.Context(), "/v1/jobs/"+url.PathEscape(strings.TrimSpace(id)), &all[i]); err != nil {
			return err
		}
	}
	for i := range all {
		if err := f.awaitJob(cmd, &all[i], reached); err != nil {
			return err
		}
	}
	if f.forPrograms() {
		if err := f.printView(cmd, jobListing(all)); err != nil {
			return err
		}
	}
	return checkEndedWell(all)
}
