package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/lab/adversary"
	"github.com/gridbid/gridbid/lab/bench"
	"github.com/gridbid/gridbid/protocol"
)

// explainFlags are the flags of `gridbid bench explain`.
type explainFlags struct {
	ledgerSelector
	outputFlags
	questions, adversarial string
	auctions               int
	seed                   uint64
}

// newBenchExplainCommand is `gridbid bench explain`: it measures and attacks the parts of the
// product that explain decisions and advise on them.
func newBenchExplainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "measure answers on a set of questions, and attack explanations and advice",
		Long: `Test the explanations of decisions and the advice on them. No language model is
needed: scripts that lie and misbehaving servers on loopback take its place.

  questions   asks a run every question of --questions and counts how many are read
              right, declined (the user must rephrase) or wrong (must never happen).
              Names of the run replace $D, $J and the other placeholders
  grounding   compares every figure, time and name with the ledger: in all answers,
              in the output of why for every job, in a chat, on the page and its
              cards, in the output of MCP tools and in the report of a replay;
              counted by surface
  attacks     runs every attack of --adversarial: hostile names, notes and questions;
              impossible bids; misbehaving servers. Searches prompts, ledger, why,
              records, answers, policies, page, charts, MCP tools, report and logs
              for each; counted by attack and surface
  auctions    clears so many random auctions under hostile judges, and compares every
              award with the offers, the leeway and the budget
  hang        runs a live market with a model server that hangs, and measures how long
              after the budget it sends awards, against a bare timer
  days        replays a day with the model's port closed, with every fault of a
              server, and from its recorded verdicts without the model

-o takes json and yaml: the parts have rows of different kinds, so there is no CSV.

The command fails if a question in its canonical words is not read right, if any
question is read wrong, or if any other check fails.`,
		Example: `  gridbid bench explain --questions questions.yaml --adversarial adversarial.yaml
  gridbid bench explain --auctions 0 --adversarial more.yaml -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.runExplainBench(cmd) },
	}
	f.registerRun(cmd, "`FOLDER` of the run to ask, written by gridbid replay")
	cmd.Flags().StringVar(&f.questions, "questions", "", "YAML `FILE` with questions: id, q, alt, truth")
	cmd.Flags().StringVar(&f.adversarial, "adversarial", "", "YAML `FILE` with attacks: payloads, bids, models")
	cmd.Flags().IntVar(&f.auctions, "auctions", 200_000, "number of random auctions; 0 skips auctions, hang and days")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "seed of the random auctions")
	f.registerOutput(cmd)
	return cmd
}

// An explainReport is `gridbid bench explain --json`, schema version 1.
type explainReport struct {
	Schema    int                      `json:"schema"`
	Questions []bench.JudgedAnswer     `json:"questions,omitempty"`
	Grounding []bench.SurfaceGrounding `json:"grounding,omitempty"`
	Rows      []adversary.AttackResult `json:"rows,omitempty"`
}

// runExplainBench runs the parts that the flags select, prints the report, and fails if any check
// failed. The report comes first, as it names what failed.
func (f *explainFlags) runExplainBench(cmd *cobra.Command) error {
	if f.questions == "" && f.adversarial == "" && f.auctions <= 0 {
		return usageError{errors.New("bench explain: nothing to run: add --questions, --adversarial or --auctions")}
	}
	got := explainReport{Schema: 1}
	bad := 0
	if f.questions != "" {
		read, ground, err := f.askQuestions(cmd.Context(), cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		for _, e := range read {
			if e.Verdict == "wrong" || e.Canonical && e.Verdict == "declined" {
				bad++
			}
		}
		got.Questions, got.Grounding = read, ground
		for _, g := range ground {
			bad += len(g.Loose)
		}
	}
	rows, err := f.runAttacks(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	got.Rows = rows
	if err := f.printValue(cmd, got, got.writeText); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("bench: %d questions read wrongly or claims without a source in the ledger: the report names them", bad)
	}
	if n := adversary.CountBroken(rows); n > 0 {
		return fmt.Errorf("bench: %d of %d checks failed: the report names them", n, len(rows))
	}
	return nil
}

// askQuestions asks the run every question of --questions, and checks that the claims of all
// surfaces are grounded in its ledger.
func (f *explainFlags) askQuestions(ctx context.Context, stderr io.Writer) ([]bench.JudgedAnswer, []bench.SurfaceGrounding, error) {
	text, err := os.ReadFile(f.questions)
	if err != nil {
		return nil, nil, usageError{err}
	}
	all, err := bench.ReadQuestions(f.questions, text)
	if err != nil {
		return nil, nil, usageError{err}
	}
	from, err := f.source()
	if err != nil {
		return nil, nil, err
	}
	totals := totalsNextToLedger(from, stderr)
	log, book := query.NewDataset(totals), history.New(history.Config{})
	var first, last protocol.Time
	var messages []protocol.Message
	if err := from.readMessages(nil, stderr, func(m protocol.Message) error {
		messages = append(messages, m)
		log.AddMessage(m)
		book.AddMessage(m)
		if first == 0 || m.At < first {
			first = m.At
		}
		last = max(last, m.At)
		return nil
	}); err != nil {
		return nil, nil, err
	}
	stage := memoizeReplays(whatIfReplay(ctx, from, stderr))
	log.SetReplay(stage)
	read := bench.JudgeQuestions(log, book, all)
	ground := bench.NewGroundingCheck(log, first, last)
	more, err := ground.CheckSurfaces(ctx, messages, stage, totals, read)
	return read, append(ground.CheckAnswersAndReasons(read), more...), err
}

// memoizeReplays caches the replay of each what-if, as several wordings of a question ask for
// the same one.
func memoizeReplays(st query.ReplaySetup) query.ReplaySetup {
	play, cache := st.Replay, make(map[query.DayChange]query.DayReplay)
	if play == nil {
		return st
	}
	st.Replay = func(d query.DayChange) (query.DayReplay, error) {
		if r, ok := cache[d]; ok {
			return r, nil
		}
		r, err := play(d)
		if err == nil {
			cache[d] = r
		}
		return r, err
	}
	return st
}

// runAttacks runs the attacks of --adversarial and, unless --auctions is 0, the parts
// auctions, hang and days.
func (f *explainFlags) runAttacks(ctx context.Context, stderr io.Writer) (rows []adversary.AttackResult, err error) {
	progress := func(what string) func(int, int) {
		return func(done, of int) { fmt.Fprintf(stderr, "\r%s %d of %d", what, done, of) }
	}
	if f.adversarial != "" {
		text, err := os.ReadFile(f.adversarial)
		if err != nil {
			return nil, usageError{err}
		}
		set, err := adversary.ReadAttackSet(f.adversarial, text)
		if err != nil {
			return nil, usageError{err}
		}
		if rows, err = set.RunAttacks(ctx, progress("attack")); err != nil {
			return nil, err
		}
		fmt.Fprintln(stderr)
	}
	if f.auctions <= 0 {
		return rows, nil
	}
	auctions, err := adversary.FuzzAuctions(ctx, f.auctions, f.seed, progress("auction"))
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(stderr)
	hang, err := adversary.MeasureHangingJudge(ctx, 300)
	if err != nil {
		return nil, err
	}
	days, err := adversary.RunModelFailureDays(ctx)
	return append(append(append(rows, auctions...), hang), days...), err
}

// writeText writes the results as tables. It never fails: out is a buffer in memory. The parts have
// rows of their own kinds, so there is no CSV.
func (got explainReport) writeText(out io.Writer) {
	if got.Questions != nil {
		_ = bench.WriteJudgedAnswers(out, got.Questions)
		_ = bench.WriteGrounding(out, got.Grounding)
	}
	_ = adversary.WriteResults(out, got.Rows)
}
