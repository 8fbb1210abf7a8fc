package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/explain/ask/translate"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/protocol"
)

// An askAnswer is `gridbid ask --json`, schema version 1.
type askAnswer struct {
	Schema   int    `json:"schema"`
	Question string `json:"question"`
	Ledger   string `json:"ledger"`
	query.Answer
}

// Why a question has no answer. The first two can be mended by asking
// otherwise.
var (
	errAskOtherwise = errors.New("the question has no answer as it stands")
	errNotAnswered  = errors.New("this is not answered")
)

// newAskCommand is `gridbid ask`: one question in plain words.
func newAskCommand() *cobra.Command {
	var f ledgerSelector
	var model modelFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ask QUESTION",
		Short: "answer a question in plain words from the ledger of a run",
		Long: `Answer a question from the ledger of a run. No model is needed. The question is read by
a grammar as a typed query, which the answer states first, with every default;
code computes the figures; ids such as D-14 name the decisions they come from.
What can be read in several ways is given back as readings to choose from, and
what is not understood is refused, never guessed at.

Exit codes: 0 answered, or known not to exist here (quotas, say); 1 understood,
and not answered, because it is not recorded or wants something done; 2 ask
otherwise: it is ambiguous, not understood, or names what is not in the run.`,
		Example: `  gridbid ask help
  gridbid ask why did job-0721 wait
  gridbid ask "why not coal-plains for job-0007"
  gridbid ask "carbon by site on 2026-03-11" --policy home-fifo
  gridbid ask "what did waiting save" --json | jq '.figures[]'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			question := strings.TrimSpace(strings.Join(args, " "))
			if question == "" {
				return usageError{errors.New(`ask: no question; try "gridbid ask help"`)}
			}
			path, err := f.ledgerPath()
			if err != nil {
				return fmt.Errorf("ask: %w", err)
			}
			reads, err := model.openTranslator()
			if err != nil {
				return fmt.Errorf("ask: %w", err)
			}
			if err := printAnswer(cmd.Context(), question, path, f.flagText(), reads, asJSON, cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
				if errors.Is(err, errAskOtherwise) {
					return usageError{fmt.Errorf("ask: %w", err)}
				}
				return fmt.Errorf("ask: %w", err)
			}
			return nil
		},
	}
	f.registerFlags(cmd, "folder of the run, as replay wrote it")
	model.registerFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the answer as JSON: docs/ask.md")
	return cmd
}

func printAnswer(ctx context.Context, question, path, flags string, reads *translate.Translator, asJSON bool, out, talk io.Writer) error {
	log, err := readRun(path, talk)
	if err != nil {
		return err
	}
	log.Set(whatIfReplay(ctx, path, talk))
	session := log.Talk()
	a := reads.AnswerQuestion(ctx, question, session.Ask(question), translate.NamesOf(session.Names()), session.Understood)
	addLedgerFlags(&a, flags)
	if asJSON {
		err = writeJSON(out, askAnswer{1, question, path, a})
	} else {
		err = a.Write(out)
	}
	switch {
	case err != nil:
		return err
	case a.Kind == "answer" || a.Kind == "absent":
		return nil
	case a.Kind == "refused":
		return fmt.Errorf("%w: %s", errNotAnswered, a.Kind)
	}
	return fmt.Errorf("%w: %s", errAskOtherwise, a.Kind)
}

// addLedgerFlags adds the flags that name the ledger to the commands of an answer.
func addLedgerFlags(a *query.Answer, flags string) {
	a.Flags = flags
	if a.Command != "" {
		a.Command += flags
	}
	if a.Draw != "" {
		a.Draw += flags
	}
	for i := range a.More {
		addLedgerFlags(&a.More[i], flags)
	}
}

// readRun reads a ledger, and the totals that lie beside it if there are any.
func readRun(path string, talk io.Writer) (*query.Log, error) {
	log := query.New(totalsNextToLedger(path, talk))
	return log, readLedger(path, nil, talk, func(m protocol.Message) error { log.Add(m); return nil })
}
