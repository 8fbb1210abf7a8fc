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

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/internal/chart"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
)

// chartFlags are the flags of `gridbid chart`.
type chartFlags struct {
	ledgerSelector
	out, decision, job string
	list, figures      bool
	outputFlags
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
	f.registerFlags(cmd, "`FOLDER` of the run, written by gridbid replay")
	fl := cmd.Flags()
	fl.StringVar(&f.out, "out", "", "write the chart to this `FILE`, which ends in .svg or .png (default: NAME.png)")
	fl.StringVar(&f.decision, "decision", "", "chart offers: `ID` of the decision, such as D-14")
	fl.StringVar(&f.job, "job", "", "charts job and offers: `ID` of the job; offers shows its last decision")
	fl.BoolVar(&f.list, "list", false, "list the names of charts")
	fl.BoolVar(&f.figures, "figures", false, "print the figures of the chart in place of drawing it")
	f.registerOutput(cmd) // -o, given, prints the figures
	return cmd
}

// runChart lists charts, or draws one into a file or prints its figures.
func (f chartFlags) runChart(cmd *cobra.Command, args []string) error {
	if f.list {
		return f.printView(cmd, printer.Listing[chartName]{Rows: timeline.ChartNames(), Columns: []printer.Column[chartName]{
			{Head: "CHART", Value: func(c chartName) any { return c[0] }},
			{Head: "SHOWS", Value: func(c chartName) any { return c[1] }},
		}})
	}
	w, err := f.parseDrawing(args)
	if err != nil {
		return usageError{err}
	}
	from, err := f.source()
	if err != nil {
		return err
	}
	w.At = from.at
	c, err := drawChart(cmd.Context(), from, w, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	switch {
	case f.figures || cmd.Flags().Changed("output"):
		return f.printView(cmd, figureListing(w.Chart, c.FigureTable()))
	case f.out != "":
		return writeChart(c, f.out, cmd.ErrOrStderr())
	}
	return writeChart(c, w.Chart+".png", cmd.ErrOrStderr())
}

// A chartName is the name of a chart, and what it shows.
type chartName = [2]string

// figureListing returns the figures that a chart shows as a listing.
func figureListing(name string, table chart.FigureTable) printer.View {
	l := printer.Listing[[]string]{Rows: table.Rows, Text: table.WriteText}
	for i, head := range table.Head {
		l.Columns = append(l.Columns, printer.Column[[]string]{Head: head, Value: func(cells []string) any {
			if i < len(cells) {
				return cells[i]
			}
			return nil
		}})
	}
	l.Data = struct {
		Schema int    `json:"schema"`
		Chart  string `json:"chart"`
		chart.FigureTable
	}{1, name, table}
	return l
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
		return w, fmt.Errorf("unknown chart %q%s: want one of %s", w.Chart, nearest.DidYouMean(w.Chart, known), format.JoinWithAnd(known))
	case len(args) > 1 && w.Chart != "answer":
		return w, fmt.Errorf("unexpected argument %q: only the chart answer takes a question", args[1])
	case w.Chart == "offers" && f.decision == "" && f.job == "":
		return w, errors.New("chart offers needs --decision, such as D-14, or --job for the last decision on a job")
	case w.Chart == "job" && f.job == "":
		return w, errors.New("chart job needs --job")
	}
	return w, nil
}

// drawChart draws a chart of a ledger. A chart that the run does not have is a usageError.
func drawChart(ctx context.Context, from recordSource, w timeline.Drawing, stderr io.Writer) (c chart.Chart, err error) {
	run, _, err := openRun(ctx, from, stderr)
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
