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

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/lab/bound"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/report"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// replayFlags are the flags of `gridbid replay`.
type replayFlags struct {
	scenarioFlags
	adviceFlags
	outputFlags
	outsidePolicies
	weights  learnedWeights
	policies []string
	bus      string
	run      string
	json     string
	report   string
	speed    float64
	noBound  bool
	wide     bool
}

// newReplayCommand is `gridbid replay`: it replays a day under each policy and compares them.
func newReplayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay [SCENARIO]",
		Short: "replay a day and compare policies",
		Long: `Replay a day of jobs at several sites under each policy, and compare the policies.
The agents, the coordinator and their messages are those of a live federation; only
time, machines and grids are simulated.

SCENARIO is a name that "gridbid scenario list" prints, a folder, or a
scenario.yaml. Without SCENARIO the embedded six-regions is replayed. With --window
a file of hourly prices and carbon is replayed in place of a scenario.

Each run writes a ledger per policy into the folder of --run; "gridbid why" and
"gridbid messages" read them. The same input and seed give the same ledger, byte for
byte, over either bus.

With --model a language model may choose among offers that cost nearly the same, by
the notes of --notes: docs/models.md. The ledger holds its verdicts: --verdicts
LEDGER repeats the run without the model.`,
		Example: `  gridbid replay
  gridbid replay real-days/ordinary_2022-04-13 --policy auction,home-fifo
  gridbid replay --window day.csv --max-jobs 5000 --report out/
  gridbid replay --policy auction --json - | jq '.[0].carbon_kg'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.runReplay(cmd, args) },
	}
	f.scenarioFlags.registerFlags(cmd)
	f.adviceFlags.registerFlags(cmd, "")
	f.registerFormat(cmd)
	fl := cmd.Flags()
	fl.StringSliceVar(&f.policies, "policy", nil, "policies to compare: "+strings.Join(scenarios.PolicyNames(), ", ")+", "+scenarios.PolicyOutside+"; a suffix /perfect, /wrong, /none, /learned or /own sets what its sites know ahead, /runtimes states run times wrong by up to 30 % (default: the scenario's)")
	fl.StringVar(&f.command, "outside", "", "`CMD` of the shell that starts the program which decides under the policy outside, whose row is outside:NAME (docs/learners.md)")
	fl.StringSliceVar(&f.weights.files, "weights", nil, "`FILE` of weights, written by gridbid learn: by which the policy greensched decides, or by which sites correct forecasts under a suffix /learned; repeatable (default: those in the program)")
	fl.StringVar(&f.bus, "bus", "nats", "transport of messages: nats (an embedded server) or mem (in memory)")
	fl.StringVar(&f.run, "run", lastRunFolder, "folder for the ledgers of this run")
	fl.StringVar(&f.json, "json", "", "write the figures as JSON to this `FILE`; - is standard output, instead of the table")
	fl.StringVar(&f.report, "report", "", "write a page with charts, and the charts as SVG and PNG, into this `FOLDER`")
	fl.Float64Var(&f.speed, "speed", 0, "simulated seconds per second (default: as fast as possible)")
	fl.BoolVar(&f.wide, "wide", false, "print all blocks of the table: also energy, waits by kind of job, throughput and use of GPUs, cores and memory")
	fl.BoolVar(&f.noBound, "no-bound", false, "do not compute the lower bound on the objective (docs/bound.md)")
	return cmd
}

// runReplay checks all flags, replays the policies one after the other, computes the lower bound
// once for all of them, and writes the results.
func (f *replayFlags) runReplay(cmd *cobra.Command, args []string) error {
	s, err := f.loadScenario(args)
	if err != nil {
		return err
	}
	policies, err := f.choosePolicies(s)
	if err != nil {
		return err
	}
	if !(f.speed >= 0) {
		return usageError{fmt.Errorf("--speed %g: want simulated seconds per second, or 0 for as fast as possible", f.speed)}
	}
	if f.json == "-" && cmd.Flags().Changed("output") {
		return usageError{errors.New("--json - and -o both print the figures to standard output: drop one of them")}
	}
	if f.bus != "nats" && f.bus != "mem" {
		return usageError{fmt.Errorf("--bus: want nats or mem, not %q", f.bus)}
	}
	stderr := cmd.ErrOrStderr()
	if f.verdicts != "" && len(policies) != 1 {
		return usageError{errors.New("--verdicts: a ledger holds the verdicts of one policy: name that policy with --policy")}
	}
	if err := f.openAdvisor(s, stderr); err != nil {
		return err
	}
	if f.verdicts != "" && wouldRemove(f.run, f.verdicts) {
		return usageError{fmt.Errorf("--verdicts: %s belongs to the last run in %s, which this run would replace: choose another folder with --run", f.verdicts, f.run)}
	}
	if err := f.weights.readWeightsFor(policies); err != nil {
		return err
	}
	if err := f.startLearners(cmd.Context(), s, policies); err != nil {
		return err
	}
	defer f.closeLearners(cmd.Context())
	// Outputs are opened before the replays, whose results could be lost otherwise.
	figures, err := f.openOutputs(cmd)
	if err != nil {
		return err
	}
	defer figures.discardIfUnused()
	// Nothing of the last run is removed before every flag and output has been checked.
	notes := notesOf(cmd)
	release, err := f.beginRun(notes, s)
	if err != nil {
		return err
	}
	defer release()
	printWarnings(stderr, f.weights.warningsBefore(scenarios.MisleadingFigures(s, nil)))
	day := newDayReport(s)
	all, err := f.replayPolicies(cmd.Context(), s, policies, notes, func(policy string, res *scenarios.ReplayResult) {
		f.judged(cmd.Context(), policy, &res.Totals, notes, stderr)
		f.adviceFlags.printJudgeSummary(notes, *res)
		day.Policies = append(day.Policies, policyReport(day, *res))
	})
	if err != nil {
		return err
	}
	day.Warnings = f.weights.warningsBefore(scenarios.MisleadingFigures(s, all))
	for i := range all {
		all[i].Warnings = day.Warnings
	}
	// The bound depends on the scenario alone, not on a policy.
	if !f.noBound && s.HasEvents() {
		fmt.Fprintf(notes, "no lower bound: %s has events, or jobs that fail\n", s.Name)
	} else if !f.noBound {
		fmt.Fprintf(notes, "computing the lower bound of a clairvoyant scheduler\n")
		c, err := bound.ComputeCertificate(s, bound.Config{Stop: cmd.Context().Err})
		if err != nil {
			return err
		}
		for i := range all {
			all[i] = all[i].WithBound(c.BoundUSD)
			day.Policies[i].Totals = all[i]
		}
	}
	return f.reportResults(cmd, figures, s, all, day)
}

// replayPolicies replays one policy after the other, each with a bus, a ledger and a judge of its
// own. Each is called with each result as its run ends. The totals and the run's metas are
// those that it leaves.
func (f *replayFlags) replayPolicies(ctx context.Context, s spec.Scenario, policies []string, notes io.Writer, each func(policy string, res *scenarios.ReplayResult)) (all []history.Totals, err error) {
	var metas []history.Meta
	show := newReplayProgress(notes, len(policies))
	defer show.stopBars()
	for _, policy := range policies {
		res, err := f.replayPolicy(ctx, s, policy, show)
		if err != nil {
			return nil, err
		}
		show.policyEnded(res.Totals)
		each(policy, &res)
		all, metas = append(all, res.Totals), append(metas, res.Meta)
	}
	return all, writeMetas(f.run, metas)
}

// beginRun locks the folder of the run until release is called, removes the last run from it, and
// says what is replayed.
func (f *replayFlags) beginRun(notes io.Writer, s spec.Scenario) (release func(), err error) {
	release, err = lockFolder(f.run)
	if err != nil {
		return nil, usageError{fmt.Errorf("%w: choose another folder with --run", err)}
	}
	if err = clearRun(f.run); err == nil {
		fmt.Fprintf(notes, "%s: %d jobs at %d sites, %s to %s\n", s.Name, len(s.Jobs), len(s.Sites), s.Start, s.End)
		err = writeNotes(notes, f.run, s, f.usesOwnData())
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// openOutputs creates the folders of ledgers and report, and opens the file of the figures,
// which it returns. It runs before the replays, whose results could be lost otherwise, and
// before the last run is removed.
func (f *replayFlags) openOutputs(cmd *cobra.Command) (figures *resultFile, err error) {
	if err := ensureWritableFolder(f.run); err != nil {
		return nil, usageError{fmt.Errorf("--run: %w", err)}
	}
	if f.report != "" {
		if err := ensureWritableFolder(f.report); err != nil {
			return nil, usageError{fmt.Errorf("--report: %w", err)}
		}
	}
	return openResultFile(f.json, cmd.OutOrStdout())
}

// choosePolicies returns the policies to compare: those of --policy, else those of the
// scenario, else the default ones.
func (f *replayFlags) choosePolicies(s spec.Scenario) ([]string, error) {
	names := f.policies
	if len(names) == 0 {
		names = s.Policies
	}
	if len(names) == 0 {
		names = scenarios.DefaultPolicies(s)
	}
	policies, err := parsePolicyNames("--policy", names)
	if err != nil {
		return nil, err
	}
	return policies, f.nameOutside(policies)
}

// parsePolicyNames returns the canonical names of policies, and refuses one that is named
// twice: both would write the same ledger file.
func parsePolicyNames(flag string, names []string) (out []string, err error) {
	for _, text := range names {
		name, err := scenarios.CanonicalPolicyName(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", flag, err)}
		}
		if slices.Contains(out, name) {
			return nil, usageError{fmt.Errorf("%s: %s is named twice: name it once", flag, text)}
		}
		out = append(out, name)
	}
	return out, nil
}

// replayPolicy replays one policy and writes its ledger. A replay that fails before it has
// totals leaves a ledger without an end, which readers report as cut off.
func (f *replayFlags) replayPolicy(ctx context.Context, s spec.Scenario, policy string, show *replayProgress) (res scenarios.ReplayResult, err error) {
	hub, closeHub, err := openBus(f.bus)
	if err != nil {
		return res, err
	}
	defer closeHub()
	ledger, err := wal.CreateCompressedFile(ledgerFile(f.run, policy), addAdviceToHeader(mergeHeader(map[string]string{
		"scenario": s.Name, "hash": s.Hash, "policy": policy, "seed": fmt.Sprint(s.Seed),
		"protocol": fmt.Sprint(protocol.Current),
	}, inHeader(f.options)), f.advice))
	if err != nil {
		return res, err
	}
	began := time.Now()
	// The ledger gets every message as it is sent; the judge is a fresh one for each policy.
	o := scenarios.Options{
		NoBids:   true, // they are in the ledger
		Advice:   f.advice,
		Judge:    f.replayJudge(ctx),
		Record:   ledger.AppendMessage,
		Progress: show.trackPolicy(policy, len(s.Jobs)),
		Pace:     f.paceFunc(ctx, s.Start),
		Wall:     func() time.Duration { return time.Since(began) },
	}
	if isGreensched(policy) {
		o.Rule = f.weights.rule
	}
	o.Learned = f.weights.grid
	if l := f.learners[policy]; l != nil {
		o = l.Seat(ctx, s, policy, o)
	}
	res, err = scenarios.Replay(ctx, s, policy, hub, o)
	if err != nil && res.Totals.Policy == "" {
		return res, errors.Join(err, ledger.CloseWithoutEnd())
	}
	return res, errors.Join(err, ledger.Close())
}

// paceFunc returns a function that sleeps until the wall clock has reached a simulated
// instant at --speed; nil for no pacing.
func (f *replayFlags) paceFunc(ctx context.Context, start protocol.Time) func(protocol.Time) {
	if f.speed == 0 {
		return nil
	}
	began := time.Now()
	return func(now protocol.Time) {
		at := began.Add(time.Duration(float64(now.Sub(start)) / f.speed))
		select {
		case <-time.After(time.Until(at)):
		case <-ctx.Done():
		}
	}
}

// openBus returns the bus of a replay by its name, and a function that closes it. Both give the
// same ledgers.
func openBus(name string) (bus.Bus, func(), error) {
	if name == "mem" {
		return new(membus.Bus), func() {}, nil
	}
	server, err := natsbus.StartServer(natsbus.Config{})
	if err != nil {
		return nil, nil, err
	}
	return server, func() { server.Close() }, nil
}

// reportResults writes the results of all policies: figures to standard output or the file
// of --json, everything else to standard error.
func (f *replayFlags) reportResults(cmd *cobra.Command, figures *resultFile, s spec.Scenario, all []history.Totals, day report.ReplayReport) error {
	if err := writeTotals(filepath.Join(f.run, "totals.json"), all); err != nil {
		return err
	}
	if err := figures.writeResult(func(w io.Writer) error { return report.WriteJSON(w, all) }); err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	// Standard output holds either the JSON or the table, so that it can be piped.
	if f.json != "-" {
		view, err := totalsListing(all, f.wide || f.format == printer.Wide)
		if err == nil {
			err = f.printView(cmd, view)
		}
		if err != nil {
			return err
		}
	}
	printWarnings(stderr, day.Warnings)
	if f.report != "" {
		page, err := report.WriteReport(f.report, day)
		if err != nil {
			return err
		}
		fmt.Fprintf(notesOf(cmd), "\nreport: %s\n", page)
	}
	f.printNextSteps(notesOf(cmd), s, all)
	return nil
}

// printNextSteps prints commands that are useful next, such as the explanation of one job.
func (f *replayFlags) printNextSteps(stderr io.Writer, s spec.Scenario, all []history.Totals) {
	fmt.Fprintf(stderr, "\nNext:\n")
	if len(s.Jobs) > 0 {
		ledger := ledgerSelector{run: f.run}
		if len(all) > 1 && !slices.ContainsFunc(all, func(t history.Totals) bool { return t.Policy == scenarios.PolicyAuction }) {
			ledger.policy = all[0].Policy
		}
		flags := ledger.flagText()
		fmt.Fprintf(stderr, "  gridbid why %s%s      why that job ran where and when it did\n", shellWord(string(s.Jobs[len(s.Jobs)/2].ID)), flags)
		fmt.Fprintf(stderr, "  gridbid ask 'summary'%s      one question; chat%s takes one after the other\n", flags, flags)
		fmt.Fprintf(stderr, "  gridbid page%s      the run in a browser, at any hour\n", flags)
	}
	if f.report == "" {
		fmt.Fprintf(stderr, "  the same with --report out/      a page with charts\n")
	}
	fmt.Fprintf(stderr, "  gridbid scenario list            other days\n")
}

// writeTotals writes totals.json next to the ledgers: page and ask compare policies by it.
func writeTotals(path string, all []history.Totals) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(report.WriteJSON(out, all), out.Close())
}

// ensureWritableFolder creates a folder, and fails if no file can be written there.
func ensureWritableFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// clearRun removes the files of an older run from its folder, and nothing else: ledgers that
// a user kept there under other names stay.
func clearRun(dir string) error {
	for _, file := range filesOfRun(dir) {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// filesOfRun returns the paths of all files that a run may write into its folder.
func filesOfRun(dir string) []string {
	files := []string{filepath.Join(dir, "totals.json"), filepath.Join(dir, metaFile), filepath.Join(dir, notesFile)}
	for _, policy := range scenarios.AllPolicyNames() {
		files = append(files, ledgerFile(dir, policy), shadowBeside(ledgerFile(dir, policy)))
	}
	// Of outside policies a name says nothing, so that all of them count.
	outside, _ := filepath.Glob(ledgerFile(globEscaper.Replace(dir), scenarios.PolicyOutside+":*")) // the pattern is valid
	return append(files, outside...)
}

// globEscaper escapes what has a meaning in patterns.
var globEscaper = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`)

// wouldRemove reports whether a new run in a folder would remove a file, which may be named
// by another path or link.
func wouldRemove(dir, file string) bool {
	kept, err := os.Stat(file)
	return err == nil && slices.ContainsFunc(filesOfRun(dir), func(old string) bool {
		info, err := os.Stat(old)
		return err == nil && os.SameFile(info, kept)
	})
}
