package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/lab/bound"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// readScenarioRun reads the complete ledger of a run of a scenario. It refuses one without an
// end, as jobs that had not ended when it was cut off would count as never run.
func readScenarioRun(s spec.Scenario, path string, in io.Reader, stderr io.Writer) (*history.History, error) {
	r, err := openLedger(path, in)
	if err != nil {
		return nil, err
	}
	if hash := r.Header()["hash"]; hash != s.Hash {
		return nil, errors.Join(fmt.Errorf("%s is of another scenario, or was replayed with other flags (hash %.12s, want %.12s): give the flags of that replay", path, hash, s.Hash), r.Close())
	}
	b := history.New(history.Config{})
	err = recordSource{path: path}.readRemaining(r, stderr, func(m protocol.Message) error { b.AddMessage(m); return nil })
	if _, end := r.ReadMessage(); err == nil && errors.Is(end, wal.ErrTorn) {
		err = fmt.Errorf("%s has no end, so the cost of jobs that still ran is unknown: replay the scenario to its end", path)
	}
	return b, err
}

// explainRun returns what a run cost above a bound, by cause.
func explainRun(s spec.Scenario, c bound.Certificate, b *history.History) (bound.CostBreakdown, error) {
	return bound.ExplainGap(s, c, scenarios.CompletedJobs(b, c.Weights), b.ComputeTotals(scenarios.RunMetadata(s, "")).JobsUSD)
}

// printParts writes the parts of a gap as a table.
func printParts(out io.Writer, p bound.CostBreakdown) error {
	if p.BoundUSD <= 0 {
		_, err := fmt.Fprintf(out, "jobs cost $%.2f against a bound of $%.2f\n", p.JobsUSD, p.BoundUSD)
		return err
	}
	part := func(usd float64) string { return fmt.Sprintf("%.2f", 100*usd/p.BoundUSD) }
	fmt.Fprintf(out, "jobs cost $%.2f, %s %% above the bound of $%.2f; causes, in %% of the bound:\n\n", p.JobsUSD, part(p.JobsUSD-p.BoundUSD), p.BoundUSD)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "jobs\tnumber\tGPU-hours\tsite\tway\thour\tparts\tdelay\tlate\tall\t")
	var all bound.JobGroup
	for _, g := range p.Groups {
		name := fmt.Sprintf("%d GPUs", g.GPUs)
		if g.GPUs == 0 {
			name = "under 1 GPU"
		}
		name += map[bool]string{true: ", can wait", false: ", cannot wait"}[g.Waits] + map[bool]string{true: ", 2 h or more", false: ", under 2 h"}[g.Long]
		writePartsRow(w, name, g, part)
		all.Jobs += g.Jobs
		all.GPUHours += g.GPUHours
		all.SiteUSD += g.SiteUSD
		all.WayUSD += g.WayUSD
		all.HourUSD += g.HourUSD
		all.PartsUSD += g.PartsUSD
		all.DelayUSD += g.DelayUSD
		all.LateUSD += g.LateUSD
	}
	writePartsRow(w, "all jobs", all, part)
	idle := bound.IdleCapacity{}
	for _, x := range p.Idle {
		fmt.Fprintf(w, "idle room with a price, %s\t\t%.0f\t\t\t\t\t\t\t%s\t\n", x.Site, x.GPUHours, part(x.USD))
		idle.GPUHours += x.GPUHours
		idle.USD += x.USD
	}
	fmt.Fprintf(w, "all idle room\t\t%.0f\t\t\t\t\t\t\t%s\t\n", idle.GPUHours, part(idle.USD))
	fmt.Fprintf(w, "rest\t\t\t\t\t\t\t\t\t%s\t\n", part(p.RestUSD))
	return w.Flush()
}

// writePartsRow writes one row of the table of parts; part formats dollars in per cent of the
// bound.
func writePartsRow(w io.Writer, name string, g bound.JobGroup, part func(float64) string) {
	fmt.Fprintf(w, "%s\t%d\t%.0f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", name, g.Jobs, g.GPUHours,
		part(g.SiteUSD), part(g.WayUSD), part(g.HourUSD), part(g.PartsUSD), part(g.DelayUSD), part(g.LateUSD), part(g.TotalUSD()))
}
