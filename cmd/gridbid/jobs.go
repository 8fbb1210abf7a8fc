package main

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/protocol"
)

// newJobsCommand is `gridbid jobs`.
func newJobsCommand() *cobra.Command {
	var f apiFlags
	var state, tenant string
	var limit int
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "list the jobs of a live federation",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{"limit": {fmt.Sprint(limit)}}
			if state != "" {
				q.Set("state", state)
			}
			if tenant != "" {
				q.Set("tenant", tenant)
			}
			return f.showOrWatch(cmd, func() (any, func(io.Writer), error) {
				var all []jobstatus.Job
				err := f.getJSON(cmd.Context(), "/v1/jobs?"+q.Encode(), &all)
				return all, func(w io.Writer) { writeJobTable(w, all) }, err
			})
		},
	}
	f.registerFlags(cmd, true)
	cmd.Flags().StringVar(&state, "state", "", "only jobs in this state: "+format.JoinWithOr(stateNames()))
	cmd.Flags().StringVar(&tenant, "tenant", "", "only jobs of this tenant")
	cmd.Flags().IntVar(&limit, "limit", 50, "number of jobs, latest first")
	return cmd
}

// stateNames returns the states that --state accepts.
func stateNames() (all []string) {
	for _, s := range jobstatus.AllStates() {
		all = append(all, string(s))
	}
	return all
}

// writeJobTable writes one row per job; its last column is how the job failed, or else the code of
// its last decision.
func writeJobTable(w io.Writer, all []jobstatus.Job) {
	writeColumns(w, "JOB\tTENANT\tSTATE\tSITE\tGPUS\tARRIVED\tSTART\tFINISH\tKWH\tWHY", func(row func(string, ...any)) {
		for _, j := range all {
			row("%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%.3f\t%s", j.ID, dashIfEmpty(j.Tenant), j.State, dashIfEmpty(j.Site), j.GPUs,
				timeOfDay(j.Arrived), timeOfDay(j.Start), timeOfDay(j.Finish), j.Energy, dashIfEmpty(cmp.Or(failureText(j), j.Why)))
		}
	})
}

// failureText returns how a job failed, why it was refused, or that it was cancelled; "" for
// a job that did none of these.
func failureText(j jobstatus.Job) string {
	switch {
	case j.Failed != "":
		return format.CleanText("failed: " + j.Failed)
	case j.State == jobstatus.Refused:
		return cmp.Or(format.CleanText(strings.TrimSpace(j.Why+" "+j.Note)), "refused")
	case j.State == jobstatus.Done && j.Why == string(protocol.Cancelled):
		return j.Why
	}
	return ""
}

// dashIfEmpty keeps an empty cell visible.
func dashIfEmpty(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// newJobCommand is `gridbid job`.
func newJobCommand() *cobra.Command {
	var f apiFlags
	cmd := &cobra.Command{
		Use:   "job ID",
		Short: "show one job of a live federation",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.showOrWatch(cmd, func() (any, func(io.Writer), error) {
				var j jobstatus.Job
				err := f.getJSON(cmd.Context(), "/v1/jobs/"+url.PathEscape(args[0]), &j)
				return j, func(w io.Writer) { writeJobCard(w, j) }, err
			})
		},
	}
	f.registerFlags(cmd, true)
	return cmd
}

// writeJobCard writes one job, a line per field. Fields that say nothing for most jobs are left
// out unless they are set.
func writeJobCard(w io.Writer, j jobstatus.Job) {
	writeColumns(w, "", func(row func(string, ...any)) {
		row("%s\t%s", j.ID, j.State)
		row("tenant\t%s", dashIfEmpty(j.Tenant))
		row("site\t%s %s", dashIfEmpty(j.Site), j.Model)
		row("gpus\t%d", j.GPUs)
		row("arrived\t%s", timeOfDay(j.Arrived))
		row("due\t%s", timeOfDay(j.Deadline))
		row("start\t%s", timeOfDay(j.Start))
		row("finish\t%s", timeOfDay(j.Finish))
		if j.Until != 0 {
			row("next auction\t%s", timeOfDay(j.Until))
		}
		row("rounds\t%d", j.Rounds)
		row("why\t%s %s", dashIfEmpty(j.Why), j.Note)
		row("energy\t%.3f kWh", j.Energy)
		row("carbon\t%.3f kg", j.Carbon)
		row("cost\t$%.4f", j.Money)
		if j.Estimated {
			row("metered\tno: energy, carbon and cost are estimates of the site")
		}
		if j.Late {
			row("late\tyes")
		}
		if j.Failed != "" {
			row("failed\t%s", j.Failed)
		}
	})
}

// newCancelCommand is `gridbid cancel`.
func newCancelCommand() *cobra.Command {
	var f apiFlags
	cmd := &cobra.Command{
		Use:   "cancel JOB",
		Short: "cancel a job of a live federation",
		Long: `Cancel a job. A job that no site has accepted is refused at once. A site stops a job
that runs or waits there, and is paid for the time that the job ran.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var j jobstatus.Job
			return f.postAndPrint(cmd, "/v1/jobs/"+url.PathEscape(args[0])+"/cancel", &j, func() string { return fmt.Sprintf("%s  %s", j.ID, j.State) })
		},
	}
	f.registerFlags(cmd, false)
	return cmd
}
