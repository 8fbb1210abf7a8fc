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

func newJobsCommand() *cobra.Command {
	var f deskFlags
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
			return f.show(cmd, func() (any, func(io.Writer), error) {
				var all []jobstatus.Job
				err := f.get(cmd.Context(), "/v1/jobs?"+q.Encode(), &all)
				return all, func(w io.Writer) { jobTable(w, all) }, err
			})
		},
	}
	f.flags(cmd, true)
	cmd.Flags().StringVar(&state, "state", "", "only those that are "+format.Any(stateNames()))
	cmd.Flags().StringVar(&tenant, "tenant", "", "only those of a tenant")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most so many, latest first")
	return cmd
}

func stateNames() (all []string) {
	for _, s := range jobstatus.States() {
		all = append(all, string(s))
	}
	return all
}

func jobTable(w io.Writer, all []jobstatus.Job) {
	columns(w, "JOB\tTENANT\tSTATE\tSITE\tGPUS\tARRIVED\tSTART\tFINISH\tKWH\tWHY", func(row func(string, ...any)) {
		for _, j := range all {
			row("%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%.3f\t%s", j.ID, dash(j.Tenant), j.State, dash(j.Site), j.GPUs,
				clock(j.Arrived), clock(j.Start), clock(j.Finish), j.Energy, dash(cmp.Or(unwell(j), j.Why)))
		}
	})
}

// unwell says how a job failed, why it was refused, or that it was stopped; "" of any
// other.
func unwell(j jobstatus.Job) string {
	switch {
	case j.Failed != "":
		return format.Clean("failed: " + j.Failed)
	case j.State == jobstatus.Refused:
		return cmp.Or(format.Clean(strings.TrimSpace(j.Why+" "+j.Note)), "refused")
	case j.State == jobstatus.Done && j.Why == string(protocol.Cancelled):
		return j.Why
	}
	return ""
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func newJobCommand() *cobra.Command {
	var f deskFlags
	cmd := &cobra.Command{
		Use:   "job ID",
		Short: "show one job of a live federation",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.show(cmd, func() (any, func(io.Writer), error) {
				var j jobstatus.Job
				err := f.get(cmd.Context(), "/v1/jobs/"+url.PathEscape(args[0]), &j)
				return j, func(w io.Writer) { jobCard(w, j) }, err
			})
		},
	}
	f.flags(cmd, true)
	return cmd
}

func jobCard(w io.Writer, j jobstatus.Job) {
	columns(w, "", func(row func(string, ...any)) {
		row("%s\t%s", j.ID, j.State)
		row("tenant\t%s", dash(j.Tenant))
		row("site\t%s %s", dash(j.Site), j.Model)
		row("gpus\t%d", j.GPUs)
		row("arrived\t%s", clock(j.Arrived))
		row("due\t%s", clock(j.Deadline))
		row("start\t%s", clock(j.Start))
		row("finish\t%s", clock(j.Finish))
		if j.Until != 0 {
			row("called again\t%s", clock(j.Until))
		}
		row("rounds\t%d", j.Rounds)
		row("why\t%s %s", dash(j.Why), j.Note)
		row("energy\t%.3f kWh", j.Energy)
		row("carbon\t%.3f kg", j.Carbon)
		row("cost\t$%.4f", j.Money)
		if j.Estimated {
			row("metered\tno: energy, carbon and cost are the site's estimate")
		}
		if j.Late {
			row("late\tyes")
		}
		if j.Failed != "" {
			row("failed\t%s", j.Failed)
		}
	})
}

func newCancelCommand() *cobra.Command {
	var f deskFlags
	cmd := &cobra.Command{
		Use:   "cancel JOB",
		Short: "cancel a job of a live federation",
		Long: `Cancel a job. One that no site has accepted is refused at once; one that runs or
waits at a site is stopped there, and is paid for as far as it ran.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var j jobstatus.Job
			return f.do(cmd, "/v1/jobs/"+url.PathEscape(args[0])+"/cancel", &j, func() string { return fmt.Sprintf("%s  %s", j.ID, j.State) })
		},
	}
	f.flags(cmd, false)
	return cmd
}
