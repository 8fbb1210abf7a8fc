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

// chartFlags is what `gridbid chart` was told.
type chartFlags struct {
	ledgerSelector
	out, at, decision, job string
	list, figures, asJSON  bool
}

// newChartCommand is `gridbid chart`: it writes one chart of a run into a file.
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
	f.registerFlags(cmd, "folder of the run, as replay wrote it")
	fl := cmd.Flags()
	fl.StringVar(&f.out, "out", "", "write into this `FILE`.svg or FILE.png")
	fl.StringVar(&f.decision, "decision", "", "of offers: the decision, such as D-14")
	fl.StringVar(&f.job, "job", "", "of job, or of offers for its last decision")
	fl.StringVar(&f.at, "at", "", "of carbon and price: the instant, RFC 3339 (default: the end of the record)")
	fl.BoolVar(&f.list, "list", false, "list the charts that there are")
	fl.BoolVar(&f.figures, "figures", false, "print what the chart shows, in figures")
	fl.BoolVar(&f.asJSON, "json", false, "print the figures as JSON")
	return cmd
}

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

// parseDrawing returns what is to be drawn.
func (f chartFlags) parseDrawing(args []string) (w timeline.Drawing, err error) {
	if len(args) == 0 {
		return w, errors.New("which one? `gridbid chart --list` names them")
	}
	w = timeline.Drawing{Chart: args[0], Decision: f.decision, Job: protocol.JobID(f.job), Question: strings.Join(args[1:], " ")}
	var known []string
	for _, c := range timeline.ChartNames() {
		known = append(known, c[0])
	}
	switch {
	case !slices.Contains(known, w.Chart):
		return w, fmt.Errorf("no chart is named %q; there are %s", w.Chart, format.JoinWithAnd(known))
	case f.at != "" && w.Chart != "carbon" && w.Chart != "price":
		return w, fmt.Errorf("--at is of carbon and price; %s is of no instant", w.Chart)
	case len(args) > 1 && w.Chart != "answer":
		return w, fmt.Errorf("%q: only the chart answer takes more words", args[1])
	case w.Chart == "offers" && f.decision == "" && f.job == "":
		return w, errors.New("offers for which decision? give --decision, such as D-14, or --job for its last")
	case w.Chart == "job" && f.job == "":
		return w, errors.New("which job? give --job")
	}
	if f.at != "" {
		t, err := time.Parse(time.RFC3339, f.at)
		if err != nil {
			return w, fmt.Errorf("--at %q: want an instant such as 2026-03-11T13:45:00Z", f.at)
		}
		w.At = protocol.FromStdTime(t)
	}
	return w, nil
}

func drawChart(ctx context.Context, path string, w timeline.Drawing, talk io.Writer) (c chart.Chart, err error) {
	run, _, err := openRun(ctx, path, talk)
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

func writeChart(c chart.Chart, path string, talk io.Writer) (err error) {
	s, raw := c.ComputeLayout(720), []byte(nil)
	switch filepath.Ext(path) {
	case ".svg":
		raw = s.EncodeSVG()
	case ".png":
		if raw, err = s.EncodePNG(); err != nil {
			return err
		}
	default:
		return usageError{fmt.Errorf("--out %s: want a name that ends in .svg or .png", path)}
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(talk, "chart: %s\n", path)
	return nil
}
