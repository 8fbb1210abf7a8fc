package main

import (
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/printer"
)

// newSitesCommand is `gridbid sites`.
func newSitesCommand() *cobra.Command {
	var f apiFlags
	var list listFlags
	cmd := &cobra.Command{
		Use:   "sites",
		Short: "list the sites of a federation, or remove a lost one",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.showOrWatch(cmd, func() (printer.View, error) {
				all, err := f.fetchSites(cmd)
				if err != nil {
					return nil, err
				}
				return selectRows(&list, siteListing(all))
			})
		},
	}
	f.registerFlags(cmd, true)
	f.registerRecord(cmd)
	list.registerList(cmd, "sites", 0)
	cmd.AddCommand(newSitesRemoveCommand())
	return cmd
}

// siteListing returns sites as a listing. What is unknown before a site's first bid is left
// out.
func siteListing(all []jobstatus.Site) printer.Listing[jobstatus.Site] {
	type site = jobstatus.Site
	known := func(value func(site) any) func(site) any {
		return func(s site) any {
			if s.PUE <= 0 {
				return nil
			}
			return value(s)
		}
	}
	return printer.Listing[site]{Rows: all, Columns: []printer.Column[site]{
		{Head: "SITE", Value: func(s site) any { return s.Name }},
		{Head: "STATE", Value: func(s site) any { return string(s.State) }},
		{Head: "SINCE", Value: func(s site) any { return s.Since }},
		{Head: "GPUS", Value: func(s site) any { return s.GPUs }},
		{Head: "FREE", Value: func(s site) any { return s.Free }, Verb: "%.1f"},
		{Head: "RUNNING", Value: func(s site) any { return s.Running }},
		{Head: "PLANNED", Value: func(s site) any { return s.Planned }},
		{Head: "DONE", Value: func(s site) any { return s.Done }},
		{Head: "USD/MWH", Value: known(func(s site) any { return s.Price }), Verb: "%.1f"},
		{Head: "G/KWH", Value: known(func(s site) any { return s.Carbon }), Verb: "%.0f"},
		{Head: "PUE", Value: known(func(s site) any { return s.PUE }), Verb: "%.2f"},
		{Head: "KW", Value: func(s site) any { return kilowatts(s.Draw, s.Metered != 0) }, Verb: "%.1f", Wide: true},
		{Head: "CAP KW", Value: func(s site) any { return kilowatts(s.PowerCap, s.PowerCap > 0) }, Verb: "%.1f", Wide: true},
		{Head: "LAST SEEN", Value: func(s site) any { return s.LastMessage }, Moves: true},
		{Head: "REASON", Value: func(s site) any { return narrate.ConditionReason(s.Record()) }},
	}}
}

// kilowatts returns watts in kilowatts; nil where they are not known.
func kilowatts(watts float64, known bool) any {
	if !known {
		return nil
	}
	return watts / 1000
}

// newDrainCommand is `gridbid drain`: unlike removal it leaves the site its jobs.
func newDrainCommand() *cobra.Command {
	var f apiFlags
	var over bool
	var why, until string
	cmd := &cobra.Command{
		Use:   "drain SITE",
		Short: "take a site of a live federation out of the auctions",
		Long: `Take a site out of the auctions. The site finishes the jobs that it has accepted,
also those that wait in its queue. --over ends the drain; --until ends it by itself,
after a duration (2h) or at a time (18:00 in UTC, 2026-03-11T18:00:00Z).
"gridbid sites" and "gridbid events" show who drained a site, and why.`,
		Example: `  gridbid drain oslo --reason "new switches" --until 18:00
  gridbid drain oslo --over`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := url.Values{"by": {operatorName()}, "why": {why}, "until": {until}}
			if over {
				q.Set("over", "true")
			}
			var s jobstatus.Site
			return f.postAndPrint(cmd, "/v1/sites/"+url.PathEscape(args[0])+"/drain?"+q.Encode(), &s, func() string {
				if !s.Drained {
					return fmt.Sprintf("%s takes part in the auctions; %s", s.Name, jobsLeft(s))
				}
				text := fmt.Sprintf("%s gets no more jobs", s.Name)
				if s.DrainedUntil != 0 {
					text += " until " + timeOfDay(s.DrainedUntil)
				}
				return text + "; " + jobsLeft(s)
			})
		},
	}
	f.registerFlags(cmd, false)
	cmd.Flags().BoolVar(&over, "over", false, "end the drain: let the site take part in the auctions")
	cmd.Flags().StringVar(&why, "reason", "", "reason, as free text for the event log")
	cmd.Flags().StringVar(&until, "until", "", "`TIME` or duration after which the drain ends")
	return cmd
}

// jobsLeft says how many jobs a site has, and when the last is to end.
func jobsLeft(s jobstatus.Site) string {
	if s.Placed == 0 {
		return "it has no jobs"
	}
	return fmt.Sprintf("it has %s, %d of them running, and the last is to end at %s", format.CountWithNoun(s.Placed, "job", "jobs"), s.Running, timeOfDay(s.LastEnd))
}

// newAuctionsCommand is `gridbid auctions`.
func newAuctionsCommand() *cobra.Command {
	var f apiFlags
	var list listFlags
	cmd := &cobra.Command{
		Use:   "auctions",
		Short: "list the latest auctions of a live federation",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.showOrWatch(cmd, func() (printer.View, error) {
				all, err := f.fetchRounds(cmd)
				if err != nil {
					return nil, err
				}
				return selectRows(&list, roundListing(all))
			})
		},
	}
	f.registerFlags(cmd, true)
	f.registerRecord(cmd)
	list.registerList(cmd, "auctions", 20)
	return cmd
}

// roundListing returns auctions as a listing, with the cost of their awards and the lower
// bound.
func roundListing(all []jobstatus.Round) printer.Listing[jobstatus.Round] {
	type round = jobstatus.Round
	return printer.Listing[round]{Rows: all, Columns: []printer.Column[round]{
		{Head: "ROUND", Value: func(r round) any { return r.Round }},
		{Head: "AT", Value: func(r round) any { return r.At }},
		{Head: "JOBS", Value: func(r round) any { return r.Jobs }},
		{Head: "OFFERS", Value: func(r round) any { return r.Offers }},
		{Head: "AWARDS", Value: func(r round) any { return r.Awards }},
		{Head: "HOLDS", Value: func(r round) any { return r.Holds }},
		{Head: "REFUSED", Value: func(r round) any { return r.Refused }},
		{Head: "USD", Value: func(r round) any { return r.Cost }, Verb: "%.4f"},
		{Head: "BOUND", Value: func(r round) any { return r.Bound }, Verb: "%.4f"},
	}}
}

// newTopCommand is `gridbid top`: sites, open jobs and auctions on one screen.
func newTopCommand() *cobra.Command {
	var f apiFlags
	cmd := &cobra.Command{
		Use:   "top",
		Short: "watch a live federation: sites, unfinished jobs and auctions",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch f.format {
			case printer.CSV, printer.Name:
				return usageError{fmt.Errorf("top shows three tables: use `gridbid sites`, `jobs` or `auctions` with -o %s", f.format)}
			}
			f.watch = !f.forPrograms() && !f.readsRecord()
			return f.showOrRepaint(cmd, func() (printer.View, error) { return f.fetchTop(cmd) })
		},
	}
	f.registerFlags(cmd, false)
	f.registerRecord(cmd)
	cmd.Flags().DurationVar(&f.every, "every", 1e9, "refresh interval")
	return cmd
}

// rowsOnScreen is how many jobs and auctions fit on a screen.
const rowsOnScreen = 12

// countStates returns the number of jobs in each state as text.
func countStates(jobs map[history.State]int) string {
	var parts []string
	for _, s := range history.AllStates() {
		parts = append(parts, fmt.Sprintf("%d %s", jobs[s], s))
	}
	return strings.Join(parts, ", ")
}

// A topView is all that `gridbid top` shows.
type topView struct {
	Sites    []jobstatus.Site  `json:"sites"`
	Jobs     []jobstatus.Job   `json:"jobs"`
	Auctions []jobstatus.Round `json:"auctions"`
}

// fetchTop fetches all that `gridbid top` shows. It fetches every job, as states are counted over
// all of them, and shows those that have not ended.
func (f *apiFlags) fetchTop(cmd *cobra.Command) (printer.View, error) {
	var all topView
	var err error
	if all.Sites, err = f.fetchSites(cmd); err != nil {
		return nil, err
	}
	if all.Jobs, err = f.fetchJobs(cmd, url.Values{"limit": {mostJobs}}); err != nil {
		return nil, err
	}
	if all.Auctions, err = f.fetchRounds(cmd); err != nil {
		return nil, err
	}
	all.Auctions = all.Auctions[:min(len(all.Auctions), rowsOnScreen/2)]
	return printer.Listing[topView]{Data: all, Text: func(w io.Writer) { all.writeScreen(w, f.format) }}, nil
}

// writeScreen writes the counts of all jobs, and as many of the open ones as fit.
func (all topView) writeScreen(w io.Writer, as printer.Format) {
	states := make(map[history.State]int)
	var live []jobstatus.Job
	for _, j := range all.Jobs {
		states[j.State]++
		if !j.HasEnded() && len(live) < rowsOnScreen {
			live = append(live, j)
		}
	}
	fmt.Fprintf(w, "%s\n", countStates(states))
	for _, v := range []printer.View{siteListing(all.Sites), jobListing(live), roundListing(all.Auctions)} {
		fmt.Fprintln(w)
		_ = v.Print(w, as) // never fails: w is a buffer in memory
	}
}
