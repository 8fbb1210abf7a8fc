package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/chat"
	"github.com/gridbid/gridbid/coordinator/record"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/bench"
)

// newBenchExplainCommand is `gridbid bench explain`: a set of questions asked of
// one run.
func newBenchExplainCommand() *cobra.Command {
	var f ledgerFlag
	var questions string
	cmd := &cobra.Command{
		Use:   "explain --questions FILE",
		Short: "ask a run a set of questions, and count those read right",
		Long: `Ask a run every question of a set, in its own words and in others, with names of
the run in place of $D, $J and the like. Counted is how each was read: right;
declined, which costs a second try; or wrong, which must not be. It fails if a
question in its own words is not read right, or any is read wrong.`,
		Example: `  gridbid bench explain --questions questions.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := os.ReadFile(questions)
			if err != nil {
				return badInput{err}
			}
			all, err := bench.ReadQuestions(text)
			if err != nil {
				return badInput{err}
			}
			path, err := f.path()
			if err != nil {
				return err
			}
			log, book := chat.New(nil), record.New(record.Config{})
			if err := readLedger(path, nil, cmd.ErrOrStderr(), func(m protocol.Message) error { log.Add(m); book.Add(m); return nil }); err != nil {
				return err
			}
			read := bench.Explain(log, book, all)
			if err := bench.WriteExplained(cmd.OutOrStdout(), read); err != nil {
				return err
			}
			bad := 0
			for _, e := range read {
				if e.Verdict == "wrong" || e.Canonical && e.Verdict == "declined" {
					bad++
				}
			}
			if bad > 0 {
				return errors.New(fmt.Sprint(bad, " of the questions are not read as they should be"))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&f.run, "run", lastRun, "folder of the run, as replay wrote it")
	cmd.Flags().StringVar(&f.policy, "policy", "", "whose ledger to read (default: the only one there, or auction)")
	cmd.Flags().StringVar(&questions, "questions", "", "question set, as YAML: id, q, alt, truth")
	return cmd
}
