package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/gridbid/gridbid/agents/runtimeest"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/cluster-agent/program"
	"github.com/gridbid/gridbid/protocol"
)

const profilesHelp = `cluster-agent profiles prints what the agent has learned from the jobs that ran here:
run time at the reference clock (a V100 without a cap), power and utilization, by
tenant, image and shape. The agent uses it to bid for jobs without a run time. The
agent may be running.

  cluster-agent profiles --config oslo.yaml
  cluster-agent profiles --config oslo.yaml --least 10 --json

Flags:`

// runProfilesCommand is `cluster-agent profiles`: it prints the run time and energy
// profiles that the agent has learned.
func runProfilesCommand(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("cluster-agent profiles", flag.ContinueOnError)
	fs.SetOutput(out)
	fs.Usage = func() { fmt.Fprintln(out, profilesHelp); fs.PrintDefaults() }
	file := fs.String("config", "", "configuration `FILE` in YAML")
	least := fs.Int("least", 1, "leave out kinds of jobs with fewer than `N` runs")
	asJSON := fs.Bool("json", false, "print as JSON; times in nanoseconds, power in milliwatts, use in the units of docs/protocol.md")
	if err := parseFlags(fs, args); err != nil {
		return err
	}
	c, err := program.LoadConfig(name, *file)
	if err != nil {
		return err
	}
	rows, err := rememberedProfiles(c.Folder, *least)
	if err != nil {
		return err
	}
	if *asJSON {
		return writeJSON(os.Stdout, rows)
	}
	return printProfiles(os.Stdout, rows)
}

// rememberedProfiles rebuilds the profiles of jobs with at least least runs, from the
// agent's event log in a folder.
func rememberedProfiles(folder string, least int) ([]runtimeest.ProfileRow, error) {
	events, err := wal.ReadEvents(filepath.Join(folder, "agent"))
	if err != nil {
		return nil, fmt.Errorf("%w: run the agent with this configuration first", err)
	}
	p := runtimeest.New(runtimeest.Config{})
	for _, m := range events {
		if r, ok := m.Body.(protocol.CompletedRun); ok {
			p.LearnRun(r.Job, r.Lasted, r.Power, r.Use)
		}
	}
	rows := []runtimeest.ProfileRow{}
	for _, r := range p.ProfileRows() {
		if r.Runs >= least {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// writeJSON writes a value as indented JSON. Unprintable characters are escaped,
// because submitters choose the names of tenants and images, and the output may go to
// a terminal.
func writeJSON(to io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = to.Write(append(protocol.EscapeUnprintable(text), '\n'))
	}
	return err
}

// printProfiles prints profiles as a table.
func printProfiles(to io.Writer, rows []runtimeest.ProfileRow) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(to, "nothing yet: no job has ended here")
		return err
	}
	all := func(s string) string {
		if s == "" {
			return "all"
		}
		return strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return '·'
			}
			return r
		}, s)
	}
	figure := func(v int64, unit float64, format string) string {
		if v == 0 {
			return "-" // not measured
		}
		return fmt.Sprintf(format, float64(v)/unit)
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TENANT\tIMAGE\tSHAPE\tRUNS\tMEAN\tP50\tP90\tP95\tWATTS P50\tP95\tGPU\tGPU MEM\tCPU\tMEMORY\tIN\tOUT\tTEMP")
	for _, r := range rows {
		u := r.Use
		span := func(d time.Duration) string { return d.Round(time.Second).String() }
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", all(r.Tenant), all(r.Image), all(r.Shape), r.Runs,
			span(r.Mean), span(r.P50), span(r.P90), span(r.P95), figure(int64(r.Watts), 1000, "%.0f"), figure(int64(r.Most), 1000, "%.0f"),
			figure(int64(u.GPU), 10, "%.0f %%"), figure(int64(u.GPUMemory), 1024, "%.1f GiB"), figure(int64(u.CPU), 1000, "%.1f"), figure(int64(u.Memory), 1024, "%.1f GiB"),
			figure(int64(u.Received), 1024, "%.2f GiB"), figure(int64(u.Sent), 1024, "%.2f GiB"), figure(int64(u.Temperature), 1, "%.0f °C"))
	}
	return w.Flush()
}
