package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/advisor"
	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/internal/format"
)

// A briefAnswer is `gridbid brief --json`, schema version 1. Worded is what a model chose of the
// sentences, if one was asked.
type briefAnswer struct {
	Schema int      `json:"schema"`
	Ledger string   `json:"ledger"`
	Worded []string `json:"worded,omitempty"`
	query.Answer
}

// newBriefCommand is `gridbid brief`: what happened in the last hour or day, and what needs a person.
func newBriefCommand() *cobra.Command {
	var f ledgerSelector
	var model modelFlags
	var o outputFlags
	var hour, day bool
	var since, wait time.Duration
	cmd := &cobra.Command{
		Use:   "brief",
		Short: "what needs a person, what was decided, what changed and what it saved",
		Long: `Sum up the last hour or day of a run or a federation: what needs a person (silent
sites, late, stuck and failed jobs, near misses), what was decided, what changed, and
what waiting saved. Code computes every figure. With --model a language model chooses
and orders the most telling sentences, which come first; it writes none of its own.

The same as a question: gridbid ask brief, or "brief of 12:00 to 13:00".`,
		Example: `  gridbid brief
  gridbid brief --hour
  gridbid brief --live
  gridbid brief --since 8h -o json | jq '.figures[]'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			long := since
			switch given := cmd.Flags().Changed("since"); {
			case hour && day || given && (hour || day):
				return usageError{errors.New("brief: --hour, --day and --since exclude each other: keep one")}
			case given && (since < time.Minute || since > 365*24*time.Hour):
				return usageError{fmt.Errorf("brief: --since %v: want 1m to 8760h", since)}
			case hour:
				long = time.Hour
			}
			from, err := f.source()
			if err != nil {
				return fmt.Errorf("brief: %w", err)
			}
			m, err := model.openModel()
			if err != nil {
				return fmt.Errorf("brief: %w", err)
			}
			log, err := readRun(from, cmd.ErrOrStderr())
			if err != nil {
				return fmt.Errorf("brief: %w", err)
			}
			a := briefOf(log, long)
			addLedgerFlags(&a, f.flagText())
			var worded []string
			if m != nil && a.Kind == "answer" {
				worded = wordBrief(cmd.Context(), m, wait, a.TextWithoutNames(log.History().ReportingSiteNames()), a.Text, cmd.ErrOrStderr())
			}
			b := briefAnswer{1, from.path, worded, a}
			return o.printView(cmd, figuresOf(a, b, b.writeText))
		},
	}
	f.registerFlags(cmd, "`FOLDER` of the run, written by gridbid replay")
	model.registerFlags(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&hour, "hour", false, "the last hour")
	fl.BoolVar(&day, "day", false, "the last day (the default)")
	fl.DurationVar(&since, "since", 24*time.Hour, "another length of `TIME`, such as 8h")
	fl.DurationVar(&wait, "model-wait", time.Minute, "longest wait for the model")
	o.registerOutput(cmd)
	return cmd
}

// briefOf returns the brief of the last stretch of a record.
func briefOf(log *query.Dataset, long time.Duration) query.Answer {
	from, to := log.LastHours(long)
	return log.AnswerQuery(ask.Query{Ask: "brief", From: from, To: to})
}

// wordBrief returns the sentences of a brief that a model chose, most telling first; none if it did
// not answer or its answer broke a rule, which stderr then says.
func wordBrief(ctx context.Context, m advisor.Model, wait time.Duration, shown, sentences []string, stderr io.Writer) []string {
	worded, err := advisor.ChooseSentences(ctx, m, wait, shown, sentences)
	if err != nil {
		fmt.Fprintf(stderr, "brief: without the model: %s\n", format.CleanText(err.Error()))
	}
	return worded
}

// writeText writes a brief for people. It never fails: out is a buffer in memory.
func (b briefAnswer) writeText(out io.Writer) {
	if len(b.Worded) > 0 {
		w := bufio.NewWriter(out)
		format.WrapText(w, strings.Join(b.Worded, " "))
		fmt.Fprintln(w)
		_ = w.Flush()
	}
	_ = b.WriteText(out)
}
