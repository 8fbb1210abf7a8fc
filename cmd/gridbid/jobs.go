package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
)

// newJobsCommand is `gridbid jobs`.
func newJobsCommand() *cobra.Command {
	var f apiFlags
	var list listFlags
	var state, tenant, site string
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "list the jobs of a live federation",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// All are fetched, so that they can be selected and ordered, and what is left out counted.
			q := url.Values{"limit": {mostJobs}}
			if state != "" {
				q.Set("state", state)
			}
			if tenant != "" {
				q.Set("tenant", tenant)
			}
			return f.showOrWatch(cmd, func() (printer.View, error) {
				all, err := f.fetchJobs(cmd, q)
				if err != nil {
					return nil, err
				}
				if site != "" {
					all = slices.DeleteFunc(all, func(j jobstatus.Job) bool { return j.Site != site })
				}
				return selectRows(&list, jobListing(all))
			})
		},
	}
	f.registerFlags(cmd, true)
	f.registerRecord(cmd)
	cmd.Flags().StringVar(&state, "state", "", "only jobs in this state: "+format.JoinWithOr(stateNames()))
	cmd.Flags().StringVar(&tenant, "tenant", "", "only jobs of this tenant")
	cmd.Flags().StringVar(&site, "site", "", "only jobs at this site, or that the plan would run there")
	list.registerList(cmd, "jobs", 50)
	return cmd
}

// stateNames returns the states that --state accepts.
func stateNames() (all []string) {
	for _, s := range history.AllStates() {
		all = append(all, string(s))
	}
	return all
}

// jobListing returns jobs as a listing. KWH, CARBON KG and COST USD are measured: a job that has not
// ended has none. WHY is how a job failed, or else the code of its last decision.
func jobListing(all []jobstatus.Job) printer.Listing[jobstatus.Job] {
	type job = jobstatus.Job
	return printer.Listing[job]{Rows: all, Columns: []printer.Column[job]{
		{Head: "JOB", Value: func(j job) any { return j.ID }},
		{Head: "TENANT", Value: func(j job) any { return j.Tenant }},
		{Head: "STATE", Value: func(j job) any { return j.State }},
		{Head: "SITE", Value: func(j job) any { return j.Site }},
		{Head: "AWARDED", Value: func(j job) any { return j.Awarded }, Wide: true},
		{Head: "NODE", Value: func(j job) any { return cmp.Or(strings.Join(j.Nodes, " "), j.Node) }, Wide: true},
		{Head: "MODEL", Value: func(j job) any { return j.Model }, Wide: true},
		{Head: "QUEUE", Value: placeInQueue},
		{Head: "GPUS", Value: gpusAskedFor},
		{Head: "CPU", Value: func(j job) any { return j.CPU }, Wide: true},
		{Head: "ARRIVED", Value: func(j job) any { return j.Arrived }},
		{Head: "DUE", Value: func(j job) any { return j.Deadline }, Wide: true},
		{Head: "START", Value: func(j job) any { return j.Start }},
		{Head: "FINISH", Value: func(j job) any { return j.Finish }},
		{Head: "ROUNDS", Value: func(j job) any { return j.Rounds }, Wide: true},
		{Head: "BID KWH", Value: figure(func(j job) *jobstatus.Figures { return j.Bid }, energyOf), Verb: "%.3f", Wide: true},
		{Head: "BID USD", Value: figure(func(j job) *jobstatus.Figures { return j.Bid }, moneyOf), Verb: "%.4f", Wide: true},
		{Head: "KWH", Value: figure(measuredOf, energyOf), Verb: "%.3f"},
		{Head: "CARBON KG", Value: figure(measuredOf, func(x jobstatus.Figures) float64 { return x.Carbon }), Verb: "%.3f", Wide: true},
		{Head: "COST USD", Value: figure(measuredOf, moneyOf), Verb: "%.4f", Wide: true},
		{Head: "WHY", Value: func(j job) any { return cmp.Or(failureText(j), stoppingText(j), j.Why) }},
	}}
}

// figure returns a column of figures that not every job has.
func figure(of func(jobstatus.Job) *jobstatus.Figures, value func(jobstatus.Figures) float64) func(jobstatus.Job) any {
	return func(j jobstatus.Job) any {
		if x := of(j); x != nil {
			return value(*x)
		}
		return nil
	}
}

func measuredOf(j jobstatus.Job) *jobstatus.Figures { return j.Measured }
func energyOf(x jobstatus.Figures) float64          { return x.Energy }
func moneyOf(x jobstatus.Figures) float64           { return x.Money }

// placeInQueue returns the place of a job in the queue of its site.
func placeInQueue(j jobstatus.Job) any {
	if j.Queue == nil {
		return nil
	}
	return j.Queue.Place
}

// gpusAskedFor returns the GPUs of a job; one of processors alone has none.
func gpusAskedFor(j jobstatus.Job) any {
	if j.GPUs == 0 {
		return nil
	}
	return j.GPUs
}

// stoppingText says that a job's site was asked to stop it; "" if it was not.
func stoppingText(j jobstatus.Job) string {
	if j.Stopping && !j.HasEnded() {
		return "stopping"
	}
	return ""
}

// stateText returns the state of a job, and that it is to be stopped.
func stateText(j jobstatus.Job) string {
	if text := stoppingText(j); text != "" {
		return string(j.State) + ", " + text
	}
	return string(j.State)
}

// oneJob returns one job: a card for people, and what the listing has for programs.
func (f *apiFlags) oneJob(j jobstatus.Job) printer.View {
	l := jobListing([]jobstatus.Job{j})
	l.Data, l.Text = j, func(w io.Writer) { writeJobCard(w, j, protocol.FromStdTime(f.now), f.whyCommand(j)) }
	return l
}

// failureText returns how a job failed, why it was refused, or that it was cancelled; "" for
// a job that did none of these.
func failureText(j jobstatus.Job) string {
	switch j.State {
	case history.Failed:
		return format.CleanText("failed: " + cmp.Or(j.Failed, j.Why))
	case history.Refused:
		return cmp.Or(format.CleanText(strings.TrimSpace(j.Why+" "+j.Note)), string(j.State))
	case history.Cancelled:
		return string(j.State)
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
			return f.showOrWatch(cmd, func() (printer.View, error) {
				j, err := f.fetchJob(cmd, args[0])
				return f.oneJob(j), err
			})
		},
	}
	f.registerFlags(cmd, true)
	f.registerRecord(cmd)
	return cmd
}

// whyCommand returns the command that explains the newest decision on a job.
func (f *apiFlags) whyCommand(j jobstatus.Job) string {
	if f.readsRecord() {
		return "gridbid why " + string(j.ID) + f.recordFlagText()
	}
	if f.api != defaultAPIAddress {
		return "gridbid why " + string(j.ID) + " --api " + shellWord(f.api)
	}
	return "gridbid why " + string(j.ID) + " --live"
}

// writeJobCard writes one job as a person asks for it: how it stands and why, what was planned,
// bid and measured, what happened to it, and the command that explains it.
func writeJobCard(w io.Writer, j jobstatus.Job, now protocol.Time, why string) {
	saving := protocol.Microdollars(math.Round(j.Saving * 1e6))
	writeColumns(w, "", func(row func(string, ...any)) {
		row("%s\t%s", j.ID, stateText(j))
		row("because\t%s", narrate.JobStateText(j.StateRecord(), saving))
		row("tenant\t%s", dashIfEmpty(j.Tenant))
		row("asks for\t%s", demandText(j))
		row("arrived\t%s", timeOfDay(j.Arrived))
		row("due\t%s", timeOfDay(j.Deadline))
		if j.Site != "" {
			row("site\t%s", placeText(j))
		}
		if q := j.Queue; q != nil {
			row("queue\t%d of %d at %s%s", q.Place, q.Of, j.Site, beforeText(*q))
		}
		row("start\t%s", timeOfDay(j.Start))
		row("finish\t%s", timeOfDay(j.Finish))
		if j.Until != 0 {
			row("next auction\t%s at the latest", timeOfDay(j.Until))
		}
		row("rounds\t%d", j.Rounds)
		row("bid\t%s", figuresText(j.Bid))
		measured := figuresText(j.Measured)
		if j.Estimated {
			measured += ": not metered, or not all of it; an estimate of the site"
		}
		row("measured\t%s", measured)
		if j.Late {
			row("late\tyes, by %s", format.FormatDuration(j.Finish.Sub(j.Deadline)))
		}
	})
	if len(j.Events) > 0 {
		fmt.Fprintln(w)
		writeColumns(w, "AGE\tREASON\tMESSAGE", func(row func(string, ...any)) {
			for _, e := range j.Events {
				row("%s\t%s\t%s", ageText(e, now), e.Reason, narrate.JobEventText(e.Record()))
			}
		})
	}
	fmt.Fprintf(w, "\nNext: %s\n", format.CleanText(why))
}

// demandText returns what a job needs: "2 GPUs, 16 cores, 64 GiB".
func demandText(j jobstatus.Job) string {
	all := []string{}
	if j.GPUs > 0 {
		all = append(all, strconv.FormatFloat(j.GPUs, 'f', -1, 64)+" "+format.PluralForm(int(math.Ceil(j.GPUs)), "GPU", "GPUs"))
	}
	if j.CPU > 0 {
		all = append(all, fmt.Sprintf("%g %s", j.CPU, format.PluralForm(int(math.Ceil(j.CPU)), "core", "cores")))
	}
	if j.Memory > 0 {
		all = append(all, fmt.Sprintf("%g GiB", j.Memory))
	}
	return dashIfEmpty(strings.Join(all, ", "))
}

// placeText returns where a job is or is to run: site, model, and node and devices where known.
func placeText(j jobstatus.Job) string {
	text := strings.TrimSpace(j.Site + " " + j.Model)
	switch {
	case len(j.Parts) > 0:
		var parts []string
		for _, p := range j.Parts {
			parts = append(parts, fmt.Sprintf("%s %s %s", p.ID, p.State, p.Site))
		}
		text = strings.Join(parts, "; ")
	case len(j.Nodes) > 0:
		text += ", nodes " + strings.Join(j.Nodes, ", ")
	case j.Node != "" && len(j.Devices) > 0:
		text += fmt.Sprintf(", node %s, %s %s", j.Node, format.PluralForm(len(j.Devices), "GPU", "GPUs"), strings.Trim(fmt.Sprint(j.Devices), "[]"))
	case j.Node != "":
		text += ", node " + j.Node
	case !j.Awarded:
		text += ", by the plan of the last auction, which each may change"
	}
	return text
}

// beforeText names the jobs that are next before a job: ", after a and b".
func beforeText(q jobstatus.QueuePlace) string {
	var names []string
	for _, id := range q.Before {
		names = append(names, string(id))
	}
	if more := q.Place - 1 - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if len(names) == 0 {
		return ""
	}
	return ", after " + format.JoinWithAnd(names)
}

// figuresText returns energy, carbon and cost.
func figuresText(x *jobstatus.Figures) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f kWh, %.3f kg CO2e, $%.4f", x.Energy, x.Carbon, x.Money)
}

// ageText returns how long ago an event was, and how often it happened: "2m (12 times in 3h)".
func ageText(e jobstatus.Event, now protocol.Time) string {
	age := format.FormatDuration(max(0, now.Sub(e.Last)).Truncate(time.Second))
	if e.Count > 1 {
		age += fmt.Sprintf(" (%d times in %s)", e.Count, format.FormatDuration(e.Last.Sub(e.First).Truncate(time.Second)))
	}
	return age
}

// newCancelCommand is `gridbid cancel`.
func newCancelCommand() *cobra.Command {
	var f apiFlags
	cmd := &cobra.Command{
		Use:   "cancel JOB",
		Short: "cancel a job of a live federation",
		Long: `Cancel a job. A job that no site has accepted is cancelled at once. A site stops a job
that runs or waits there, and is paid for the time that the job ran: until it has, the job
is shown as stopping.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.nats != "" {
				return f.cancelOverNATS(cmd, args[0])
			}
			var j jobstatus.Job
			return f.postAndPrint(cmd, "/v1/jobs/"+url.PathEscape(args[0])+"/cancel", &j, func() string { return fmt.Sprintf("%s  %s", j.ID, stateText(j)) })
		},
	}
	f.registerFlags(cmd, false)
	f.registerNATS(cmd)
	return cmd
}
