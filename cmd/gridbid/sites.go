package main

import (
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
)

// newSitesCommand is `gridbid sites`.
func newSitesCommand() *cobra.Command {
	var f apiFlags
	cmd := &cobra.Command{
		Use:   "sites",
		Short: "list the sites of a live federation, or remove a lost one",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.showOrWatch(cmd, func() (any, func(io.Writer), error) {
				var all []jobstatus.Site
				err := f.getJSON(cmd.Context(), "/v1/sites", &all)
				return all, func(w io.Writer) { writeSiteTable(w, all) }, err
			})
		},
	}
	f.registerFlags(cmd, true)
	cmd.AddCommand(newSitesRemoveCommand())
	return cmd
}

// writeSiteTable writes one row per site. A site counts as silent from the second round on
// that it missed in a row. What is unknown before its first bid is a dash.
func writeSiteTable(w io.Writer, all []jobstatus.Site) {
	writeColumns(w, "SITE\tSTATE\tGPUS\tFREE\tPLACED\tDONE\tUSD/MWH\tG/KWH\tPUE\tHEARD", func(row func(string, ...any)) {
		for _, s := range all {
			state := "ok"
			switch {
			case s.Decommissioned:
				state = "gone"
			case s.Drained:
				state = "drained"
			case s.Silent > 1:
				state = fmt.Sprintf("silent %d", s.Silent)
			}
			free, price, carbon, pue := "-", "-", "-", "-" // unknown before its first bid
			if s.PUE > 0 {
				free, price = fmt.Sprintf("%.1f", s.Free), fmt.Sprintf("%.1f", s.Price)
				carbon, pue = fmt.Sprintf("%.0f", s.Carbon), fmt.Sprintf("%.2f", s.PUE)
			}
			row("%s\t%s\t%d\t%s\t%d\t%d\t%s\t%s\t%s\t%s", s.Name, state, s.GPUs, free, s.Placed, s.Done, price, carbon, pue, timeOfDay(s.LastMessage))
		}
	})
}

// newDrainCommand is `gridbid drain`: unlike removal it leaves the site its jobs.
func newDrainCommand() *cobra.Command {
	var f apiFlags
	var over bool
	cmd := &cobra.Command{
		Use:   "drain SITE",
		Short: "take a site of a live federation out of the auctions",
		Long: `Take a site out of the auctions. The site finishes the jobs that it has accepted,
also those that wait in its queue. --over ends the drain.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var s jobstatus.Site
			path := "/v1/sites/" + url.PathEscape(args[0]) + "/drain"
			if over {
				path += "?over=true"
			}
			return f.postAndPrint(cmd, path, &s, func() string {
				if s.Drained {
					return fmt.Sprintf("%s is drained; it has %d jobs to finish", s.Name, s.Placed)
				}
				return fmt.Sprintf("%s takes part in the auctions; it has %d jobs", s.Name, s.Placed)
			})
		},
	}
	f.registerFlags(cmd, false)
	cmd.Flags().BoolVar(&over, "over", false, "end the drain: let the site take part in the auctions")
	return cmd
}

// newAuctionsCommand is `gridbid auctions`.
func newAuctionsCommand() *cobra.Command {
	var f apiFlags
	var limit int
	cmd := &cobra.Command{
		Use:   "auctions",
		Short: "list the latest auctions of a live federation",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.showOrWatch(cmd, func() (any, func(io.Writer), error) {
				all, err := f.fetchAuctions(cmd, limit)
				return all, func(w io.Writer) { writeRoundTable(w, all) }, err
			})
		},
	}
	f.registerFlags(cmd, true)
	cmd.Flags().IntVar(&limit, "limit", 20, "number of auctions, latest first")
	return cmd
}

// fetchAuctions returns the latest auctions, at most limit of them, latest first.
func (f *apiFlags) fetchAuctions(cmd *cobra.Command, limit int) ([]jobstatus.Round, error) {
	var all []jobstatus.Round
	err := f.getJSON(cmd.Context(), "/v1/auctions", &all)
	return all[:min(len(all), max(limit, 0))], err
}

// writeRoundTable writes one row per auction, with the cost of its awards and the lower bound.
func writeRoundTable(w io.Writer, all []jobstatus.Round) {
	writeColumns(w, "ROUND\tAT\tJOBS\tOFFERS\tAWARDS\tHOLDS\tREFUSED\tUSD\tBOUND", func(row func(string, ...any)) {
		for _, r := range all {
			row("%d\t%s\t%d\t%d\t%d\t%d\t%d\t%.4f\t%.4f", r.Round, timeOfDay(r.At), r.Jobs, r.Offers, r.Awards, r.Holds, r.Refused, r.Cost, r.Bound)
		}
	})
}

// newTopCommand is `gridbid top`: sites, open jobs and auctions on one screen.
func newTopCommand() *cobra.Command {
	var f apiFlags
	cmd := &cobra.Command{
		Use:   "top",
		Short: "watch a live federation: sites, unfinished jobs and auctions",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.watch = !f.json
			return f.showOrWatch(cmd, func() (any, func(io.Writer), error) { return f.fetchTop(cmd) })
		},
	}
	f.registerFlags(cmd, false)
	cmd.Flags().DurationVar(&f.every, "every", 1e9, "refresh interval")
	return cmd
}

// rowsOnScreen is how many jobs and auctions fit on a screen.
const rowsOnScreen = 12

// countStates returns the number of jobs in each state as text. A job that is stopping
// still holds its GPUs, so it counts as placed.
func countStates(jobs map[jobstatus.State]int) string {
	var parts []string
	for _, s := range jobstatus.AllStates() {
		switch n := jobs[s]; s {
		case jobstatus.Stopping:
		case jobstatus.Placed:
			parts = append(parts, fmt.Sprintf("%d %s", n+jobs[jobstatus.Stopping], s))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

// fetchTop fetches all that `gridbid top` shows. It fetches every job, as states are counted over
// all of them, and shows those that have not ended.
func (f *apiFlags) fetchTop(cmd *cobra.Command) (any, func(io.Writer), error) {
	var all struct {
		Sites    []jobstatus.Site  `json:"sites"`
		Jobs     []jobstatus.Job   `json:"jobs"`
		Auctions []jobstatus.Round `json:"auctions"`
	}
	err := f.getJSON(cmd.Context(), "/v1/sites", &all.Sites)
	if err == nil {
		err = f.getJSON(cmd.Context(), "/v1/jobs?limit=100000", &all.Jobs)
	}
	if err == nil {
		all.Auctions, err = f.fetchAuctions(cmd, rowsOnScreen/2)
	}
	return all, func(w io.Writer) {
		// Count all jobs, and show as many open ones as fit.
		states := make(map[jobstatus.State]int)
		var live []jobstatus.Job
		for _, j := range all.Jobs {
			states[j.State]++
			if !j.HasEnded() && len(live) < rowsOnScreen {
				live = append(live, j)
			}
		}
		fmt.Fprintf(w, "%s\n\n", countStates(states))
		writeSiteTable(w, all.Sites)
		fmt.Fprintln(w)
		writeJobTable(w, live)
		fmt.Fprintln(w)
		writeRoundTable(w, all.Auctions)
	}, err
}
