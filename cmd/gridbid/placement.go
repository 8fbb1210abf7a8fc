package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/lab/packing"
)

// placementFlags are the flags of `gridbid placement`.
type placementFlags struct {
	outputFlags
	nodes, pods, json string
	policies          []string
	tune              float64
	seed              int64
	all, exact        bool
}

// newPlacementCommand is `gridbid placement`: it repeats the published experiment on
// fragmentation (docs/fgd.md) with the placement policies of package fgd.
func newPlacementCommand() *cobra.Command {
	var f placementFlags
	cmd := &cobra.Command{
		Use:   "placement --nodes FILE --pods FILE",
		Short: "replay a published trace and measure how a placement policy fragments GPUs",
		Long: `Replay an openb trace: shuffle and inflate its pods by a seed, place each pod with a
policy or reject it, and report which share of the GPUs is allocated and which is
lost to fragmentation as load arrives.

Policies: fgd, bestfit, dotprod, gpupacking, gpuclustering, random,
least-allocated, most-allocated, fgd-tight; several joined by commas, or all.`,
		Example: `  gridbid placement --nodes openb_node_list_gpu_node.csv --pods openb_pod_list_default.csv
  gridbid placement --nodes N.csv --pods P.csv --policy fgd,bestfit --all-seeds -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.runPlacement(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.nodes, "nodes", "", "node list, `FILE.csv`")
	flags.StringVar(&f.pods, "pods", "", "pod list, `FILE.csv`")
	flags.StringSliceVar(&f.policies, "policy", []string{"fgd"}, "placement policies")
	flags.Float64Var(&f.tune, "tune", 1.3, "requested GPUs over the GPUs of the cluster; 0 leaves the trace as it is")
	flags.Int64Var(&f.seed, "seed", 42, "seed of the arrival sequence")
	flags.BoolVar(&f.all, "all-seeds", false, "run the published seeds 42 to 51, and report mean and standard deviation")
	flags.BoolVar(&f.exact, "exact-reference", false, "add up floats in the order of the published program, with its rounding errors")
	flags.StringVar(&f.json, "json", "", "write figures and curves as JSON to this `FILE`; - is standard output")
	f.registerFormat(cmd)
	for _, name := range []string{"nodes", "pods"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // Invariant: the flag is declared above.
		}
	}
	cmd.AddCommand(newPlacementParityCommand(), newPlacementStudyCommand())
	return cmd
}

// runPlacement replays a trace under each policy and seed, and writes the table and, with --json,
// the figures.
func (f *placementFlags) runPlacement(cmd *cobra.Command) error {
	if f.json == "-" && cmd.Flags().Changed("output") {
		return usageError{errors.New("--json - and -o both print the figures to standard output: drop one of them")}
	}
	policies, err := parsePolicies(f.policies)
	if err != nil {
		return usageError{err}
	}
	trace, err := readTrace(f.nodes, f.pods)
	if err != nil {
		return usageError{err}
	}
	// Opened before the replays, so that a wrong path fails at once.
	figures, err := openResultFile(f.json, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	defer figures.discardIfUnused()
	seeds := []int64{f.seed}
	if f.all {
		seeds = packing.PublishedSeeds[:]
	}
	start := time.Now()
	o := packing.ReplayOptions{Tune: f.tune, Reference: f.exact, Clock: func() int64 { return int64(time.Since(start)) }}
	progressLine := func(done, all int, what string) {
		if all > 1 {
			fmt.Fprintf(notesOf(cmd), "placement: %d of %d: %s\n", done+1, all, what)
		}
	}
	report := packing.PlacementReport{Nodes: f.nodes, Pods: f.pods, Tune: f.tune, Reference: f.exact}
	if report.Policies, err = trace.ReplayAll(o, policies, seeds, progressLine); err != nil {
		return usageError{err} // the trace has too few pods for --tune
	}
	if f.json != "-" {
		if err := f.printView(cmd, placementListing(report, policies)); err != nil {
			return err
		}
	}
	return figures.writeResult(func(w io.Writer) error { return writeJSON(w, report) })
}

// placementListing returns the figures of a report as a listing, a row for each policy and load.
func placementListing(report packing.PlacementReport, policies []fgd.Policy) printer.View {
	type row = packing.PlacementRow
	reached := func(value func(row) float64) func(row) any {
		return func(r row) any {
			if r.Load == 0 {
				return nil
			}
			return value(r)
		}
	}
	return printer.Listing[row]{Rows: report.Rows(policies), Data: report, Columns: []printer.Column[row]{
		{Head: "POLICY", Value: func(r row) any { return r.Policy }},
		{Head: "LOAD", Value: reached(func(r row) float64 { return float64(r.Load) })},
		{Head: "ALLOC PCT", Value: reached(func(r row) float64 { return r.Alloc }), Verb: "%.2f"},
		{Head: "FRAG PCT", Value: reached(func(r row) float64 { return r.Frag }), Verb: "%.2f"},
		{Head: "RATIO PCT", Value: reached(func(r row) float64 { return r.Ratio }), Verb: "%.2f"},
		{Head: "FINAL PCT", Value: func(r row) any { return r.FinalAlloc }, Verb: "%.2f"},
		{Head: "FAILED", Value: func(r row) any { return r.Failed }, Verb: "%.1f"},
		{Head: "DECISIONS", Value: func(r row) any { return r.Decisions }, Verb: "%.1f"},
		{Head: "NS/DECISION", Value: func(r row) any { return r.NsPerChoice }, Verb: "%.0f"},
	}}
}

// parsePolicies parses names of placement policies, each once; "all" stands for every policy.
func parsePolicies(names []string) (out []fgd.Policy, err error) {
	for _, name := range names {
		some := fgd.AllPolicies()
		if name = strings.TrimSpace(name); name != "all" {
			p, err := fgd.ParsePolicy(name)
			if err != nil {
				return nil, err
			}
			some = []fgd.Policy{p}
		}
		for _, p := range some {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("placement: --policy is empty: name one, such as fgd, or all")
	}
	return out, nil
}

// readTrace reads a trace from a node list and a pod list, both CSV.
func readTrace(nodeFile, podFile string) (*packing.PlacementTrace, error) {
	n, err := os.Open(nodeFile)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	nodes, err := packing.ReadNodes(nodeFile, n)
	if err != nil {
		return nil, err
	}
	p, err := os.Open(podFile)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	pods, err := packing.ReadPods(podFile, p, nodes)
	if err != nil {
		return nil, err
	}
	return packing.NewPlacementTrace(nodes, pods), nil
}

// newPlacementParityCommand is `gridbid placement parity`: it compares our results with all
// published ones of a folder.
func newPlacementParityCommand() *cobra.Command {
	var nodes, page string
	var o outputFlags
	cmd := &cobra.Command{
		Use:   "parity DIR",
		Short: "compare every trace in a folder with its published results",
		Long: `Replay every trace for which DIR/expected_summary.csv has results, with the
arithmetic of the published program and seeds 42 to 51, and compare the means of
allocation and fragmentation at 90, 100, 110, 120 and 130 % load. The command fails
if a mean differs by more than 0.02 points; Random is compared statistically.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runParity(cmd, &o, args[0], nodes, page)
		},
	}
	cmd.Flags().StringVar(&nodes, "nodes", "", "node list; default DIR/openb_node_list_gpu_node.csv")
	cmd.Flags().StringVar(&page, "write", "", "write the table into this `PAGE`, between its parity marks")
	o.registerOutput(cmd)
	cmd.MarkFlagsMutuallyExclusive("write", "output")
	return cmd
}

// runParity compares our means with the published ones, trace by trace. It writes the table even
// if one differs, and then returns an error that names each difference.
func runParity(cmd *cobra.Command, o *outputFlags, dir, nodes, page string) error {
	if nodes == "" {
		nodes = filepath.Join(dir, "openb_node_list_gpu_node.csv")
	}
	summary := filepath.Join(dir, "expected_summary.csv")
	f, err := os.Open(summary)
	if err != nil {
		return usageError{err}
	}
	defer f.Close()
	expected, err := packing.ReadExpected(summary, f)
	if err != nil {
		return usageError{err}
	}
	table := pageSlot{page, "<!-- parity -->\n", "<!-- /parity -->"}
	if page != "" { // checked first, as the replays take minutes
		if _, _, err := table.splitPage(); err != nil {
			return usageError{fmt.Errorf("--write: %w", err)}
		}
	}
	var verdicts []packing.ParityVerdict
	var trace *packing.PlacementTrace
	for i, e := range expected {
		// Expected results stand in order of traces, so each trace is read once.
		if i == 0 || e.Trace != expected[i-1].Trace {
			if trace, err = readTrace(nodes, filepath.Join(dir, e.Trace+".csv")); err != nil {
				return usageError{err}
			}
		}
		fmt.Fprintf(notesOf(cmd), "placement: %d of %d: %s, %s\n", i+1, len(expected), e.Trace, e.Policy)
		v, err := trace.CheckParity(e)
		if err != nil {
			return usageError{err}
		}
		verdicts = append(verdicts, v)
	}
	err = table.writeOrPrint(cmd, o, parityListing(verdicts))
	if err != nil {
		return err
	}
	for _, v := range verdicts {
		if !v.Within {
			err = errors.Join(err, fmt.Errorf("placement: %s, %s: %s differs by %.4f points from the published result", v.Trace, v.Policy, v.Where, v.Worst))
		}
	}
	return err
}

// parityListing returns verdicts as a listing; people read a Markdown table, as docs/fgd.md has it.
func parityListing(verdicts []packing.ParityVerdict) printer.View {
	type verdict = packing.ParityVerdict
	l := printer.Listing[verdict]{Rows: verdicts, Text: func(w io.Writer) { _ = packing.WriteParity(w, verdicts) }, Columns: []printer.Column[verdict]{
		{Head: "TRACE", Value: func(v verdict) any { return v.Trace }},
		{Head: "POLICY", Value: func(v verdict) any { return v.Policy }},
	}}
	for _, load := range []string{"90", "100", "110", "120", "130"} {
		l.Columns = append(l.Columns, printer.Column[verdict]{Head: "ALLOC " + load, Value: func(v verdict) any { return v.Ours.Load[load].Alloc }})
	}
	l.Columns = append(l.Columns,
		printer.Column[verdict]{Head: "LARGEST", Value: func(v verdict) any { return v.Worst }},
		printer.Column[verdict]{Head: "AT", Value: func(v verdict) any { return v.Where }},
		printer.Column[verdict]{Head: "WITHIN", Value: func(v verdict) any { return v.Within }})
	return l
}

// A pageSlot is the part of a page between two marks, which a table replaces.
type pageSlot struct{ page, begin, end string }

// splitPage returns the text before and after the slot, marks included. It fails if the
// page cannot be written or lacks a mark.
func (g pageSlot) splitPage() (before, after string, err error) {
	file, err := os.OpenFile(g.page, os.O_RDWR, 0)
	if err != nil {
		return "", "", err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return "", "", err
	}
	head, rest, ok1 := strings.Cut(string(text), g.begin)
	_, tail, ok2 := strings.Cut(rest, g.end)
	if !ok1 || !ok2 {
		return "", "", fmt.Errorf("%s lacks the marks %q and %q: add them where the table belongs", g.page, g.begin, g.end)
	}
	return head + g.begin, g.end + tail, nil
}

// writeOrPrint writes the text of a view into the slot of the page or, without a page, prints it.
func (g pageSlot) writeOrPrint(cmd *cobra.Command, o *outputFlags, v printer.View) error {
	if g.page == "" {
		return o.printView(cmd, v)
	}
	var text bytes.Buffer
	if err := v.Print(&text, printer.Table); err != nil {
		return err
	}
	return g.fillSlot(text.String())
}

// fillSlot writes text into the slot of the page.
func (g pageSlot) fillSlot(text string) error {
	before, after, err := g.splitPage()
	if err != nil {
		return err
	}
	return os.WriteFile(g.page, []byte(before+text+after), 0o644)
}
