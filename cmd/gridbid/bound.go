package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/lab/bound"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// boundFlags are the flags of `gridbid bound`.
type boundFlags struct {
	scenarioFlags
	outputFlags
	steps  int
	rounds int
	idle   bool
	out    string
	check  string
	run    string
}

// newBoundCommand is `gridbid bound`: a lower bound on the objective, with its certificate.
func newBoundCommand() *cobra.Command {
	var f boundFlags
	cmd := &cobra.Command{
		Use:   "bound [SCENARIO]",
		Short: "compute a lower bound on the objective, with a certificate",
		Long: `Compute a lower bound on the objective of a scenario. It holds for every scheduler,
also for one that knows all arrivals, prices and intensities from the start. Its
certificate is a price for each GPU-hour, from which the bound can be recomputed.

--explain LEDGER compares a run of the same scenario with the bound, and splits what
its jobs cost above it by cause.

--check FILE verifies a certificate against the scenario with separate code in place
of computing one. docs/bound.md explains what is bounded and what is relaxed.`,
		Example: `  gridbid bound
  gridbid bound real-days/ordinary_2022-04-13 --out proof.json
  gridbid bound real-days/ordinary_2022-04-13 --check proof.json
  gridbid bound real-days/ordinary_2022-04-13 --explain .gridbid/last/auction.ledger
  gridbid bound --window day.csv --max-jobs 5000 --idle -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.runBound(cmd, args) },
	}
	f.registerFlags(cmd)
	f.registerOutput(cmd)
	fl := cmd.Flags()
	fl.IntVar(&f.steps, "steps", 200, "steps of the search: more take longer and give a tighter bound")
	fl.IntVar(&f.rounds, "schedule", 0, "also search for a schedule near the bound in so many `STEPS`, to see how tight it is; not for a day with a gang that no node holds whole")
	fl.BoolVar(&f.idle, "idle", false, "include the idle draw of nodes in the objective, not only the draw of jobs")
	fl.StringVar(&f.out, "out", "", "write the certificate as JSON to this `FILE`")
	fl.StringVar(&f.run, "explain", "", "split the cost of this `LEDGER`'s run above the bound by cause")
	fl.StringVar(&f.check, "check", "", "verify the certificate in this `FILE`")
	return cmd
}

// runBound checks a certificate, or computes one and, with --explain, splits what a run cost
// above it.
func (f *boundFlags) runBound(cmd *cobra.Command, args []string) error {
	switch {
	case f.steps < 1 || f.steps > 100_000 || f.rounds < 0 || f.rounds > 100_000:
		return usageError{fmt.Errorf("--steps %d, --schedule %d: want 1..100000 and 0..100000", f.steps, f.rounds)}
	case f.idle && f.rounds > 0:
		return usageError{fmt.Errorf("--schedule and --idle exclude each other, as a schedule counts the draw of jobs only: drop one of them")}
	case f.idle && f.run != "":
		return usageError{fmt.Errorf("--explain and --idle exclude each other, as the causes count the draw of jobs only: drop one of them")}
	case f.check != "" && (f.out != "" || f.run != "" || cmd.Flags().Changed("output") || f.idle || f.rounds > 0):
		return usageError{fmt.Errorf("--check verifies a certificate and computes none: use it without --out, --explain, -o, --json, --idle and --schedule")}
	}
	s, err := f.loadScenario(args)
	if err != nil {
		return err
	}
	if f.check != "" {
		c, err := readCertificate(f.check)
		if err != nil {
			return usageError{err}
		}
		got, err := bound.VerifyCertificate(s, c)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "certificate is valid: its prices give $%.4f, it claims $%.4f (%s)\n", got, c.BoundUSD, c.ScopeText())
		return err
	}
	if s.HasEvents() {
		return usageError{fmt.Errorf("%s has events, or jobs that fail: a bound is computed for scenarios without", s.Name)}
	}
	fmt.Fprintf(notesOf(cmd), "%s: %d jobs at %d sites, %s to %s\n", s.Name, len(s.Jobs), len(s.Sites), s.Start, s.End)
	printNotes(notesOf(cmd), s)
	var ran *history.History
	if f.run != "" { // read first, as the bound may take minutes
		if ran, err = readScenarioRun(s, f.run, cancellableReader{cmd.Context(), cmd.InOrStdin()}, cmd.ErrOrStderr()); err != nil {
			return usageError{fmt.Errorf("--explain: %w", err)}
		}
	}
	// Opened before the search, which may take minutes.
	proof, err := openResultFile(f.out, cmd.OutOrStdout())
	if err != nil {
		return usageError{fmt.Errorf("--out: %w", err)}
	}
	defer proof.discardIfUnused()
	c, err := bound.ComputeCertificate(s, bound.Config{Steps: f.steps, Idle: f.idle, Rounds: f.rounds, Stop: cmd.Context().Err})
	if err != nil {
		return err
	}
	if err := proof.writeResult(func(w io.Writer) error { return writeJSON(w, c) }); err != nil {
		return err
	}
	if ran != nil {
		return f.explainGap(cmd, s, c, ran)
	}
	return f.printValue(cmd, c, func(out io.Writer) { writeCertificate(out, c) })
}

// writeCertificate writes the bound and, where one was searched, how near a schedule comes.
func writeCertificate(out io.Writer, c bound.Certificate) {
	fmt.Fprintf(out, "%s\n", c)
	if c.KnownUSD == 0 {
		return
	}
	fmt.Fprintf(out, `best schedule found: $%.4f, %s
jobs placed as they arrive, at actual prices: $%.4f, %s, with the bound's price of GPU-hours;
                                              $%.4f, %s, without it
`, c.KnownUSD, gapText(c, c.KnownUSD), c.OnlineUSD, gapText(c, c.OnlineUSD), c.BlindUSD, gapText(c, c.BlindUSD))
}

// gapText returns how far an objective lies above a bound: in per cent or, if the bound is
// not above zero, in dollars.
func gapText(c bound.Certificate, usd float64) string {
	if gap, ok := c.GapToBound(usd); ok {
		return fmt.Sprintf("%.2f %% above it", 100*gap)
	}
	return fmt.Sprintf("$%.4f above it", usd-c.BoundUSD)
}

// explainGap prints what a run cost above a bound, by cause.
func (f *boundFlags) explainGap(cmd *cobra.Command, s spec.Scenario, c bound.Certificate, ran *history.History) error {
	p, err := explainRun(s, c, ran)
	if err != nil {
		return err
	}
	return f.printValue(cmd, p, func(out io.Writer) { _ = printParts(out, p) })
}

// maxCertificateBytes bounds how much of a certificate file is read.
const maxCertificateBytes = 64 << 20

// readCertificate reads a certificate from a file of at most maxCertificateBytes.
func readCertificate(path string) (c bound.Certificate, err error) {
	file, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer file.Close()
	if err := json.NewDecoder(io.LimitReader(file, maxCertificateBytes)).Decode(&c); err != nil {
		return c, fmt.Errorf("%s: %w: want a certificate written by `gridbid bound --out`", path, err)
	}
	return c, nil
}
