package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/explain/chart"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/protocol"
)

// chartFlags are the flags of `gridbid chart`.
type chartFlags struct {
	ledgerSelector
	out, at, decision, job string
	list, figures, asJSON  bool
}

// newChartCommand is `gridbid chart`: it draws one chart of a run into a file.
func newChartCommand() *cobra.Command {
	var f chartFlags
	cmd := &cobra.Command{
		Use:   "chart [NAME]",
		Short: "draw a chart of a run into a file",
		Long: `Draw a chart of a run into a file: NAME.png, or the SVG or PNG file that --out
names. "gridbid chart answer QUESTION" draws the answer to a question.`,
		Example: `  gridbid chart --list
  gridbid chart day
  gridbid chart offers --decision D-14 --out offers.svg
  gridbid chart job --job job-0721 --figures
  gridbid chart answer carbon by site`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.runChart(cmd, args); err != nil {
				return fmt.Errorf("chart: %w", err)
			}
			return nil
		},
	}
	f.registerFlags(cmd, "folder of the run, written by `gridbid replay`")
	fl := cmd.Flags()
	fl.StringVar(&f.out, "out", "", "write the chart to this `FILE`, which ends in .svg or .png (default: NAME.png)")
	fl.StringVar(&f.decision, "decision", "", "chart offers: `ID` of the decision, such as D-14")
	fl.StringVar(&f.job, "job", "", "charts job and offers: `ID` of the job; offers shows its last decision")
	fl.StringVar(&f.at, "at", "", "charts carbon and price: the `INSTANT`, RFC 3339 (default: the end of the ledger)")
	fl.BoolVar(&f.list, "list", false, "list the names of charts")
	fl.BoolVar(&f.figures, "figures", false, "print the figures of the chart in place of drawing it")
	fl.BoolVar(&f.asJSON, "json", false, "print the figures as JSON")
	return cmd
}

// runChart lists charts, or draws one into a file or prints its figures.
func (f chartFlags) runChart(cmd *cobra.Command, args []string) error {
	if f.list {
		return writeBuffered(cmd.OutOrStdout(), func(out io.Writer) {
			for _, c := range timeline.ChartNames() {
				fmt.Fprintf(out, "%-12s %s\n", c[0], c[1])
			}
		})
	}
	w, err := f.parseDrawing(args)
	if err != nil {
		return usageError{err}
	}
	path, err := f.ledgerPath()
	if err != nil {
		return err
	}
	c, err := drawChart(cmd.Context(), path, w, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	switch {
	case f.asJSON:
		return writeJSON(cmd.OutOrStdout(), struct {
			Schema int    `json:"schema"`
			Chart  string `json:"chart"`
			chart.FigureTable
		}{1, w.Chart, c.FigureTable()})
	case f.figures:
		return writeBuffered(cmd.OutOrStdout(), c.FigureTable().WriteText)
	case f.out != "":
		return writeChart(c, f.out, cmd.ErrOrStderr())
	}
	return writeChart(c, w.Chart+".png", cmd.ErrOrStderr())
}

// parseDrawing checks the arguments and flags, and returns the drawing that they ask for.
func (f chartFlags) parseDrawing(args []string) (w timeline.Drawing, err error) {
	if len(args) == 0 {
		return w, errors.New("no chart is named: `gridbid chart --list` lists the charts")
	}
	w = timeline.Drawing{Chart: args[0], Decision: f.decision, Job: protocol.JobID(f.job), Question: strings.Join(args[1:], " ")}
	var known []string
	for _, c := range timeline.ChartNames() {
		known = append(known, c[0])
	}
	switch {
	case !slices.Contains(known, w.Chart):
		return w, fmt.Errorf("unknown chart %q: want one of %s", w.Chart, format.JoinWithAnd(known))
	case f.at != "" && w.Chart != "carbon" && w.Chart != "price":
		return w, fmt.Errorf("--at is for the charts carbon and price: drop it for chart %s", w.Chart)
	case len(args) > 1 && w.Chart != "answer":
		return w, fmt.Errorf("unexpected argument %q: only the chart answer takes a question", args[1])
	case w.Chart == "offers" && f.decision == "" && f.job == "":
		return w, errors.New("chart offers needs --decision, such as D-14, or --job for the last decision on a job")
	case w.Chart == "job" && f.job == "":
		return w, errors.New("chart job needs --job")
	}
	if f.at != "" {
		t, err := time.Parse(time.RFC3339, f.at)
		if err != nil {
			return w, fmt.Errorf("--at %q: want an RFC 3339 instant such as 2026-03-11T13:45:00Z", f.at)
		}
		w.At = protocol.FromStdTime(t)
	}
	return w, nil
}

// drawChart draws a chart of a ledger. A chart that the run does not have is a usageError.
func drawChart(ctx context.Context, path string, w timeline.Drawing, stderr io.Writer) (c chart.Chart, err error) {
	run, _, err := openRun(ctx, path, stderr)
	if err != nil {
		return nil, err
	}
	var wrong error
	if err := run.ViewTimeline(ctx, func(d *timeline.Timeline) { c, wrong = d.DrawChart(w) }); err != nil {
		return nil, err
	}
	if wrong != nil {
		return nil, usageError{wrong}
	}
	return c, nil
}

// writeChart writes a chart into a file, in the format of its extension.
func writeChart(c chart.Chart, path string, stderr io.Writer) (err error) {
	s, raw := c.ComputeLayout(720), []byte(nil)
	switch filepath.Ext(path) {
	case ".svg":
		raw = s.EncodeSVG()
	case ".png":
		if raw, err = s.EncodePNG(); err != nil {
			return err
		}
	default:
		return usageError{fmt.Errorf("--out %s: want a file name that ends in .svg or .png", path)}
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "chart: %s\n", path)
	return nil
}
