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
	"github.com/gridbid/gridbid/lab/packing"
)

// placementFlags are the flags of `gridbid pack`.
type placementFlags struct {
	nodes, pods, json string
	policies          []string
	tune              float64
	seed              int64
	all, exact        bool
}

// newPlacementCommand is `gridbid pack`: the published packing experiment.
func newPlacementCommand() *cobra.Command {
	var f placementFlags
	cmd := &cobra.Command{
		Use:   "pack --nodes FILE --pods FILE",
		Short: "replay a published trace and measure how well a policy packs it",
		Long: `Replay an openb trace: shuffle and inflate its pods as a seed says, place each
with a policy or drop it, and report the share of GPU allocated and the share
lost in fragments as load arrives.

Policies: fgd, bestfit, dotprod, gpupacking, gpuclustering, random,
least-allocated, most-allocated, fgd-tight; several with commas, or all.`,
		Example: `  gridbid pack --nodes openb_node_list_gpu_node.csv --pods openb_pod_list_default.csv
  gridbid pack --nodes N.csv --pods P.csv --policy fgd,bestfit --all-seeds --json -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runPlacement(f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.nodes, "nodes", "", "node list, CSV")
	flags.StringVar(&f.pods, "pods", "", "pod list, CSV")
	flags.StringSliceVar(&f.policies, "policy", []string{"fgd"}, "who places")
	flags.Float64Var(&f.tune, "tune", 1.3, "GPUs asked for over GPUs there; 0 leaves the trace as it is")
	flags.Int64Var(&f.seed, "seed", 42, "of the arrival sequence")
	flags.BoolVar(&f.all, "all-seeds", false, "run the published seeds 42 to 51; mean and standard deviation")
	flags.BoolVar(&f.exact, "exact-reference", false, "sum in floats as the published program does, its rounding noise included")
	flags.StringVar(&f.json, "json", "", "write figures and curves to this file; - is standard output")
	for _, name := range []string{"nodes", "pods"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // Invariant: the flag is declared above.
		}
	}
	cmd.AddCommand(newPlacementParityCommand(), newPlacementStudyCommand())
	return cmd
}

func runPlacement(f placementFlags, out, progress io.Writer) error {
	policies, err := parsePolicies(f.policies)
	if err != nil {
		return usageError{err}
	}
	trace, err := readTrace(f.nodes, f.pods)
	if err != nil {
		return usageError{err}
	}
	figures, err := openResultFile(f.json, out)
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
	say := func(done, all int, what string) {
		if all > 1 {
			fmt.Fprintf(progress, "pack: %d of %d: %s\n", done+1, all, what)
		}
	}
	report := packing.PlacementReport{Nodes: f.nodes, Pods: f.pods, Tune: f.tune, Reference: f.exact}
	if report.Policies, err = trace.ReplayAll(o, policies, seeds, say); err != nil {
		return usageError{err} // --tune asks for what the trace has not
	}
	if f.json != "-" {
		if err := report.WriteText(out, policies, f.seed); err != nil {
			return err
		}
	}
	return figures.writeResult(func(w io.Writer) error { return writeJSON(w, report) })
}

// parsePolicies reads names; "all" is every policy.
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
		return nil, errors.New("pack: no policy named")
	}
	return out, nil
}

// readTrace reads a node list and a pod list.
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

// newPlacementParityCommand is `gridbid pack parity`: all published results in a
// folder against ours.
func newPlacementParityCommand() *cobra.Command {
	var nodes, page string
	cmd := &cobra.Command{
		Use:   "parity DIR",
		Short: "compare every trace in a folder with its published results",
		Long: `Replay every trace that DIR/expected_summary.csv has results for, in the
published program's own arithmetic, seeds 42 to 51, and compare the means of
allocation and fragmentation at 90, 100, 110, 120 and 130% load. Fails if one is
more than 0.02 points off; Random is compared statistically.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runParity(args[0], nodes, page, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&nodes, "nodes", "", "node list; default DIR/openb_node_list_gpu_node.csv")
	cmd.Flags().StringVar(&page, "write", "", "put the table into this page, between its parity marks")
	return cmd
}

func runParity(dir, nodes, page string, out, progress io.Writer) error {
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
	if page != "" { // before the work: it takes minutes
		if _, _, err := table.splitPage(); err != nil {
			return usageError{fmt.Errorf("--write: %w", err)}
		}
	}
	var verdicts []packing.ParityVerdict
	var trace *packing.PlacementTrace
	for i, e := range expected {
		if i == 0 || e.Trace != expected[i-1].Trace {
			if trace, err = readTrace(nodes, filepath.Join(dir, e.Trace+".csv")); err != nil {
				return usageError{err}
			}
		}
		fmt.Fprintf(progress, "pack: %d of %d: %s, %s\n", i+1, len(expected), e.Trace, e.Policy)
		v, err := trace.CheckParity(e)
		if err != nil {
			return usageError{err}
		}
		verdicts = append(verdicts, v)
	}
	var text bytes.Buffer
	if err := packing.WriteParity(&text, verdicts); err != nil {
		return err
	}
	if page == "" {
		_, err = out.Write(text.Bytes())
	} else {
		err = table.fillSlot(text.String())
	}
	if err != nil {
		return err
	}
	for _, v := range verdicts {
		if !v.Within {
			err = errors.Join(err, fmt.Errorf("pack: %s, %s: %s is %.4f points off", v.Trace, v.Policy, v.Where, v.Worst))
		}
	}
	return err
}

// A pageSlot is the place between two marks in a page.
type pageSlot struct{ page, begin, end string }

// splitPage returns what stands before and after the place, of a page that can be
// written.
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
		return "", "", fmt.Errorf("%s has no place between %q and %q", g.page, g.begin, g.end)
	}
	return head + g.begin, g.end + tail, nil
}

// fillSlot puts text there.
func (g pageSlot) fillSlot(text string) error {
	before, after, err := g.splitPage()
	if err != nil {
		return err
	}
	return os.WriteFile(g.page, []byte(before+text+after), 0o644)
}
