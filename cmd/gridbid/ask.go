package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/explain/ask/translate"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
)

// An askAnswer is `gridbid ask --json`, schema version 1.
type askAnswer struct {
	Schema   int    `json:"schema"`
	Question string `json:"question"`
	Ledger   string `json:"ledger"`
	query.Answer
}

// Errors for a question without an answer. errAskOtherwise is a usageError, as other words
// may get an answer; errNotAnswered is not.
var (
	errAskOtherwise = errors.New("the question has no answer in these words")
	errNotAnswered  = errors.New("the question was understood, but the ledger has no answer")
)

// newAskCommand is `gridbid ask`: it answers one question in plain words.
func newAskCommand() *cobra.Command {
	var f ledgerSelector
	var model modelFlags
	var o outputFlags
	cmd := &cobra.Command{
		Use:   "ask QUESTION",
		Short: "answer a question in plain words from the ledger of a run",
		Long: `Answer a question from the ledger of a run. No language model is needed: a grammar
reads the question as a typed query, which the answer states first, with every
default; code computes the figures; ids such as D-14 name the decisions from which
they come. An ambiguous question gets a list of readings to choose from. A question
that the grammar does not read is refused, never guessed at.

Exit codes: 0 answered, or Gridbid has no such thing (quotas, for example);
1 understood, but the ledger does not record it, or it asks for an action; 2 ask in
other words: it is ambiguous, not understood, or names something that the run lacks.`,
		Example: `  gridbid ask help
  gridbid ask why did job-0721 wait
  gridbid ask --live which sites are silent
  gridbid ask --live --at 2026-03-11T03:00:00Z which sites are silent
  gridbid ask "why not coal-plains for job-0007"
  gridbid ask "carbon by site on 2026-03-11" --policy home-fifo
  gridbid ask "what did waiting save" -o json | jq '.figures[]'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			question := strings.TrimSpace(strings.Join(args, " "))
			if question == "" {
				return usageError{errors.New(`ask: no question: "gridbid ask help" lists what can be asked`)}
			}
			from, err := f.source()
			if err != nil {
				return fmt.Errorf("ask: %w", err)
			}
			reads, err := model.openTranslator()
			if err != nil {
				return fmt.Errorf("ask: %w", err)
			}
			if err := printAnswer(cmd, &o, question, from, f.flagText(), reads); err != nil {
				if errors.Is(err, errAskOtherwise) {
					return usageError{fmt.Errorf("ask: %w", err)}
				}
				return fmt.Errorf("ask: %w", err)
			}
			return nil
		},
	}
	f.registerFlags(cmd, "`FOLDER` of the run, written by gridbid replay")
	model.registerFlags(cmd)
	o.registerOutput(cmd)
	return cmd
}

// printAnswer answers a question and prints the answer. An answer of another kind than "answer" and
// "absent" is printed too, and then decides the exit code.
func printAnswer(cmd *cobra.Command, o *outputFlags, question string, from recordSource, flags string, reads *translate.Translator) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	log, err := readRun(from, stderr)
	if err != nil {
		return err
	}
	log.SetReplay(whatIfReplay(ctx, from, stderr))
	session := log.NewSession()
	a := reads.AnswerQuestion(ctx, question, session.AnswerQuestion(question), session.KnownNames(), session.AnswerModelQuery)
	addLedgerFlags(&a, flags)
	switch err = o.printView(cmd, figuresOf(a, askAnswer{1, question, from.path, a}, func(out io.Writer) { _ = a.WriteText(out) })); {
	case err != nil:
		return err
	case a.Kind == "answer" || a.Kind == "absent":
		return nil
	case a.Kind == "refused":
		return fmt.Errorf("%w: %s", errNotAnswered, a.Kind)
	}
	return fmt.Errorf("%w: %s", errAskOtherwise, a.Kind)
}

// figuresOf returns an answer as a listing of its figures; data is the whole of it, text what
// people read.
func figuresOf(a query.Answer, data any, text func(io.Writer)) printer.View {
	type figure = query.Figure
	return printer.Listing[figure]{
		Rows: a.Figures, Data: data, Text: text,
		Columns: []printer.Column[figure]{
			{Head: "SUBJECT", Value: func(f figure) any { return f.Subject }},
			{Head: "NAME", Value: func(f figure) any { return f.Name }},
			{Head: "VALUE", Value: func(f figure) any { return f.Value }},
			{Head: "UNIT", Value: func(f figure) any { return f.Unit }},
			{Head: "FROM", Value: func(f figure) any { return strings.Join(f.From, " ") }},
		},
	}
}

// addLedgerFlags adds the flags that select the ledger to the commands that an answer and
// its parts print, so that each command runs as printed.
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

// readRun reads a ledger, and the totals of all policies of its run where the folder has
// them.
func readRun(from recordSource, stderr io.Writer) (*query.Dataset, error) {
	log := query.NewDataset(totalsNextToLedger(from, stderr))
	return log, from.readMessages(nil, stderr, func(m protocol.Message) error { log.AddMessage(m); return nil })
}
