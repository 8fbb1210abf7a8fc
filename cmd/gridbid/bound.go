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

// boundFlags is what `gridbid bound` was told.
type boundFlags struct {
	scenarioFlags
	steps  int
	rounds int
	idle   bool
	asJSON bool
	out    string
	check  string
	run    string
}

// newBoundCommand is `gridbid bound`: what no policy can beat, with its proof.
func newBoundCommand() *cobra.Command {
	var f boundFlags
	cmd := &cobra.Command{
		Use:   "bound [SCENARIO]",
		Short: "prove what no policy can beat",
		Long: `Compute a lower bound on the objective of a scenario for any scheduler at all,
also one that knows every arrival, price and intensity from the start; and its
certificate: a price for each GPU-hour, from which anybody can recompute it.

With --explain the ledger of a run of the same scenario is held against the
bound: what its jobs cost more, by cause.

With --check a certificate is held to the scenario instead, by arithmetic of its
own. docs/bound.md says what is bounded and what was relaxed.`,
		Example: `  gridbid bound
  gridbid bound real-days/ordinary_2022-04-13 --out proof.json
  gridbid bound real-days/ordinary_2022-04-13 --check proof.json
  gridbid bound real-days/ordinary_2022-04-13 --explain .gridbid/last/auction.ledger
  gridbid bound --window day.csv --max-jobs 5000 --idle --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.runBound(cmd, args) },
	}
	f.registerFlags(cmd)
	fl := cmd.Flags()
	fl.IntVar(&f.steps, "steps", 200, "of the search: more are slower and come closer")
	fl.IntVar(&f.rounds, "schedule", 0, "also search in so many `rounds` for a schedule near the bound, to see how tight it is")
	fl.BoolVar(&f.idle, "idle", false, "bound the objective with the idle draw of nodes, not of jobs alone")
	fl.BoolVar(&f.asJSON, "json", false, "write the certificate as JSON on standard output")
	fl.StringVar(&f.out, "out", "", "write the certificate as JSON to this `FILE`")
	fl.StringVar(&f.run, "explain", "", "say by cause what the run of this `LEDGER` cost above the bound")
	fl.StringVar(&f.check, "check", "", "recompute the bound of the certificate in this `FILE`")
	return cmd
}

func (f *boundFlags) runBound(cmd *cobra.Command, args []string) error {
	switch {
	case f.steps < 1 || f.steps > 100_000 || f.rounds < 0 || f.rounds > 100_000:
		return usageError{fmt.Errorf("--steps %d, --schedule %d: want 1..100000 and 0..100000", f.steps, f.rounds)}
	case f.idle && f.rounds > 0:
		return usageError{fmt.Errorf("--schedule counts what jobs draw: drop it, or --idle")}
	case f.idle && f.run != "":
		return usageError{fmt.Errorf("--explain counts what jobs draw: drop it, or --idle")}
	case f.check != "" && (f.out != "" || f.run != "" || f.asJSON || f.idle || f.rounds > 0):
		return usageError{fmt.Errorf("--check says whether a certificate holds, and computes none: drop it, or --out, --explain, --json, --idle and --schedule")}
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
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "holds: its prices give $%.4f, it claims $%.4f (%s)\n", got, c.BoundUSD, c.ScopeText())
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d jobs at %d sites, %s to %s\n", s.Name, len(s.Jobs), len(s.Sites), s.Start, s.End)
	printNotes(cmd.ErrOrStderr(), s)
	var ran *history.History
	if f.run != "" { // before the work: it may take minutes
		if ran, err = readScenarioRun(s, f.run, cancellableReader{cmd.Context(), cmd.InOrStdin()}, cmd.ErrOrStderr()); err != nil {
			return usageError{fmt.Errorf("--explain: %w", err)}
		}
	}
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
	if f.asJSON {
		return writeJSON(cmd.OutOrStdout(), c)
	}
	if _, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", c); err != nil || c.KnownUSD == 0 {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), `a schedule was found at $%.4f, %s
jobs placed as they arrive, by actual prices: $%.4f, %s, with the bound's price of room;
                                              $%.4f, %s, with none
`, c.KnownUSD, gapText(c, c.KnownUSD), c.OnlineUSD, gapText(c, c.OnlineUSD), c.BlindUSD, gapText(c, c.BlindUSD))
	return err
}

// gapText says how far an objective lies above a bound: in per cent, unless the bound
// is not above zero.
func gapText(c bound.Certificate, usd float64) string {
	if gap, ok := c.GapToBound(usd); ok {
		return fmt.Sprintf("%.2f %% above it", 100*gap)
	}
	return fmt.Sprintf("$%.4f above it", usd-c.BoundUSD)
}

// explainGap says what a run cost above a bound, and for what.
func (f *boundFlags) explainGap(cmd *cobra.Command, s spec.Scenario, c bound.Certificate, ran *history.History) error {
	p, err := explainRun(s, c, ran)
	if err != nil {
		return err
	}
	if f.asJSON {
		return writeJSON(cmd.OutOrStdout(), p)
	}
	return printParts(cmd.OutOrStdout(), p)
}

// maxCertificateBytes bounds a certificate that is read.
const maxCertificateBytes = 64 << 20

func readCertificate(path string) (c bound.Certificate, err error) {
	file, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer file.Close()
	if err := json.NewDecoder(io.LimitReader(file, maxCertificateBytes)).Decode(&c); err != nil {
		return c, fmt.Errorf("%s: %w: want a certificate that `gridbid bound --out` wrote", path, err)
	}
	return c, nil
}
