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

// explainFlags is what `gridbid bench explain` was told.
type explainFlags struct {
	ledgerSelector
	questions, adversarial string
	auctions               int
	seed                   uint64
	asJSON                 bool
}

// newBenchExplainCommand is `gridbid bench explain`: what explains and advises,
// asked and attacked.
func newBenchExplainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "ask a run a set of questions, and attack what explains and advises",
		Long: `Try what explains decisions and what may advise on them. It needs no model: its
models are scripts that lie, and servers on loopback that misbehave.

  questions   every question of --questions, asked of a run: how many are read
              right; declined, which costs a second try; or wrong, which must
              not be. Names of the run stand in place of $D, $J and the like
  grounding   every figure, time and name in every answer, in what why says of every
              job, in a talk, on the page and its cards, in what tools for models
              print and in the page of a replay, held to figures with an origin and
              to the record; counted by surface
  attacks     every attack of --adversarial: names, notes and questions; bids that
              cannot be true; servers that misbehave. Each is looked for in prompts,
              ledger, why, records, answers, policies, page, charts, tools for
              models, the page of a replay and logs; counted by attack and surface
  auctions    so many random auctions under hostile judges: every award is held
              to what was offered, to the band and to the purse
  hang        a live market beside a server that hangs: how long after its
              budget awards are said, each beside a bare timer of its own
  days        a day with the model's port closed, beside every fault of a
              server, and from its verdicts without the model

It fails if a question in its own words is not read right, any is read wrong, or
anything does not hold.`,
		Example: `  gridbid bench explain --questions questions.yaml --adversarial adversarial.yaml
  gridbid bench explain --auctions 0 --adversarial more.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.runExplainBench(cmd) },
	}
	f.registerFlags(cmd, "folder of the run to ask, as replay wrote it")
	cmd.Flags().StringVar(&f.questions, "questions", "", "question set `FILE`, as YAML: id, q, alt, truth")
	cmd.Flags().StringVar(&f.adversarial, "adversarial", "", "set of attacks `FILE`, as YAML: payloads, bids, models")
	cmd.Flags().IntVar(&f.auctions, "auctions", 200_000, "random auctions; 0 leaves out auctions, hang and days")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "of the random auctions")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write what came of it as JSON")
	return cmd
}

// An explainReport is `gridbid bench explain --json`, schema version 1.
type explainReport struct {
	Schema    int                      `json:"schema"`
	Questions []bench.JudgedAnswer     `json:"questions,omitempty"`
	Grounding []bench.SurfaceGrounding `json:"grounding,omitempty"`
	Rows      []adversary.AttackResult `json:"rows,omitempty"`
}

func (f *explainFlags) runExplainBench(cmd *cobra.Command) error {
	if f.questions == "" && f.adversarial == "" && f.auctions <= 0 {
		return usageError{errors.New("bench explain: nothing to try: give --questions, --adversarial or --auctions")}
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
	if err := f.writeReport(cmd.OutOrStdout(), got); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("bench: %d questions are not read as they should be, or claims not borne out", bad)
	}
	if n := adversary.CountBroken(rows); n > 0 {
		return fmt.Errorf("bench: %d of %d things tried did not hold", n, len(rows))
	}
	return nil
}

func (f *explainFlags) askQuestions(ctx context.Context, talk io.Writer) ([]bench.JudgedAnswer, []bench.SurfaceGrounding, error) {
	text, err := os.ReadFile(f.questions)
	if err != nil {
		return nil, nil, usageError{err}
	}
	all, err := bench.ReadQuestions(f.questions, text)
	if err != nil {
		return nil, nil, usageError{err}
	}
	path, err := f.ledgerPath()
	if err != nil {
		return nil, nil, err
	}
	totals := totalsNextToLedger(path, talk)
	log, book := query.New(totals), history.New(history.Config{})
	var first, last protocol.Time
	var said []protocol.Message
	if err := readLedger(path, nil, talk, func(m protocol.Message) error {
		said = append(said, m)
		log.Add(m)
		book.AddMessage(m)
		if first == 0 || m.At < first {
			first = m.At
		}
		last = max(last, m.At)
		return nil
	}); err != nil {
		return nil, nil, err
	}
	stage := memoizeReplays(whatIfReplay(ctx, path, talk))
	log.Set(stage)
	read := bench.JudgeQuestions(log, book, all)
	ground := bench.NewGroundingCheck(log, first, last)
	more, err := ground.CheckSurfaces(ctx, said, stage, totals, read)
	return read, append(ground.CheckAnswersAndReasons(read), more...), err
}

// memoizeReplays keeps what came of each day: other words for a question replay it no
// second time.
func memoizeReplays(st query.Stage) query.Stage {
	play, kept := st.Play, make(map[query.Day]query.Rehearsal)
	if play == nil {
		return st
	}
	st.Play = func(d query.Day) (query.Rehearsal, error) {
		if r, ok := kept[d]; ok {
			return r, nil
		}
		r, err := play(d)
		if err == nil {
			kept[d] = r
		}
		return r, err
	}
	return st
}

// runAttacks runs the parts that were asked for.
func (f *explainFlags) runAttacks(ctx context.Context, talk io.Writer) (rows []adversary.AttackResult, err error) {
	progress := func(what string) func(int, int) {
		return func(done, of int) { fmt.Fprintf(talk, "\r%s %d of %d", what, done, of) }
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
		fmt.Fprintln(talk)
	}
	if f.auctions <= 0 {
		return rows, nil
	}
	auctions, err := adversary.FuzzAuctions(ctx, f.auctions, f.seed, progress("auction"))
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(talk)
	hang, err := adversary.MeasureHangingJudge(ctx, 300)
	if err != nil {
		return nil, err
	}
	days, err := adversary.RunModelFailureDays(ctx)
	return append(append(append(rows, auctions...), hang), days...), err
}

func (f *explainFlags) writeReport(out io.Writer, got explainReport) error {
	if f.asJSON {
		return writeJSON(out, got)
	}
	if got.Questions != nil {
		if err := errors.Join(bench.WriteJudgedAnswers(out, got.Questions), bench.WriteGrounding(out, got.Grounding)); err != nil {
			return err
		}
	}
	return adversary.WriteResults(out, got.Rows)
}
