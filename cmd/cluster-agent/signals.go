package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/program"
	"github.com/gridbid/gridbid/cluster-agent/signals"
)

const signalsHelp = `cluster-agent signals reads each configured source of price, carbon and PUE once,
and prints its value of this hour, the age of its latest value, and how far ahead
its values reach. Nothing is stored or sent.

  cluster-agent signals --config oslo.yaml
  cluster-agent signals --config oslo.yaml --json

Exit codes: 0 all were read; 1 one was not, or the configuration is wrong.

Flags:`

// runSignals is `cluster-agent signals`: it reads all sources once, concurrently, and
// prints what they report.
func runSignals(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("cluster-agent signals", flag.ContinueOnError)
	fs.SetOutput(out)
	fs.Usage = func() { fmt.Fprintln(out, signalsHelp); fs.PrintDefaults() }
	file := fs.String("config", "", "configuration `FILE` in YAML, with grid: sources")
	asJSON := fs.Bool("json", false, "print as JSON; times in UTC, ages in seconds")
	if err := parseFlags(fs, args); err != nil {
		return err
	}
	c, err := program.LoadConfig(name, *file)
	if err != nil {
		return err
	}
	if c.Grid == nil || len(c.Grid.Sources) == 0 {
		return fmt.Errorf("%s has no sources in its section grid: docs/signals-and-power.md has examples", *file)
	}
	rows := make([]signals.SourceStatus, len(c.Grid.Sources))
	var all sync.WaitGroup
	for i, x := range c.Grid.Sources {
		all.Go(func() {
			r := signals.NewSource(x, "")
			_ = r.FetchAndStore(context.Background()) // a source has its own timeouts; its status holds the error
			rows[i] = r.StatusAt(time.Now())
		})
	}
	all.Wait()
	if *asJSON {
		err = writeJSON(os.Stdout, rows)
	} else {
		err = writeSignalTable(os.Stdout, rows)
	}
	for _, r := range rows {
		if r.Error != "" && err == nil {
			err = fmt.Errorf("at least one source cannot be read: the agent would bid by the others or by the default, with a warning")
		}
	}
	return err
}

// writeSignalTable prints the sources as a table, followed by their errors.
func writeSignalTable(to io.Writer, rows []signals.SourceStatus) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SOURCE\tQUANTITY\tNOW\tOF THE HOUR\tAGE\tAHEAD")
	for _, r := range rows {
		value, of := "nothing", ""
		if r.Value != nil {
			value, of = fmt.Sprintf("%.4g %s", *r.Value, r.Unit), r.Of.Format("2006-01-02 15:04")
			if r.Guess {
				value += " (forecast)"
			}
		}
		span := func(seconds float64) string {
			return (time.Duration(seconds) * time.Second).Round(time.Minute).String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Source, r.Tells, value, of, span(r.Age), span(r.Horizon))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		if r.Error != "" {
			fmt.Fprintf(to, "\n%s\n", r.Error)
		}
	}
	return nil
}
