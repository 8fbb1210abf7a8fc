package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/explain/ask/translate"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
)

// newChatCommand is `gridbid chat`: a session of questions, in which one can refer to the
// one before.
func newChatCommand() *cobra.Command {
	var f ledgerSelector
	var model modelFlags
	var o outputFlags
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "ask questions about a run, one after the other",
		Long: `Ask questions about a run, one per line, as with "gridbid ask". A question can refer
to the one before: "why not oslo?", "and on wednesday?", "what about lyon", "how
long did it wait?". A number chooses one of the readings that an answer offers. A
ledger that has grown is read again before the next answer, so answers about a live
federation are up to date.

  /help     list what can be asked
  /history  list the questions so far; !3 repeats the third, !! the last
  /quit     end the session, as end of input does

A question changes nothing. With -o json each answer is one line of JSON: docs/ask.md.
` + readsHelp,
		Example: `  gridbid chat
  printf '%s\n' 'late jobs' 'and of team-a?' | gridbid chat -o json | jq .text`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Answers come one after the other, each with figures of its own: JSON alone has a form for that.
			if o.forPrograms() && o.format != printer.JSON && cmd.Flags().Changed("output") {
				return usageError{fmt.Errorf("chat: -o %s: a session has one answer after the other: want table, or json for a line per answer; `gridbid ask` has all formats", o.format)}
			}
			from, err := f.source()
			if err != nil {
				return fmt.Errorf("chat: %w", err)
			}
			reads, err := model.openTranslator()
			if err != nil {
				return fmt.Errorf("chat: %w", err)
			}
			t := chatSession{reads: reads, from: from, flags: f.flagText(), asJSON: o.format == printer.JSON, out: cmd.OutOrStdout(), diagnostics: cmd.ErrOrStderr()}
			if err := t.runSession(cmd.Context(), cmd.InOrStdin()); err != nil {
				return fmt.Errorf("chat: %w", err)
			}
			return nil
		},
	}
	f.registerFlags(cmd, "`FOLDER` of the run, written by gridbid replay")
	model.registerFlags(cmd)
	o.registerOutput(cmd)
	return cmd
}

// A chatSession is one run of `gridbid chat`, at a terminal or in a pipe.
type chatSession struct {
	from             recordSource
	flags            string
	reads            *translate.Translator
	asJSON           bool
	out, diagnostics io.Writer

	version string // of the ledger when it was read
	session *query.Session
	history []string
}

// maxLineBytes bounds the length of a question.
const maxLineBytes = 64 << 10

// runSession answers questions, one per line, until the input or ctx ends. It prompts only at a
// terminal; only answers go to out, so that a pipe gets nothing else.
func (t *chatSession) runSession(ctx context.Context, in io.Reader) error {
	if err := t.rereadLedger(ctx); err != nil {
		return err
	}
	f, ok := in.(*os.File)
	prompt := ok && isTerminal(f)
	if prompt {
		fmt.Fprintf(t.diagnostics, "Questions about %s. /help lists what can be asked, /quit ends.\n", t.from.path)
	}
	lines := bufio.NewScanner(cancellableReader{ctx, in})
	lines.Buffer(nil, maxLineBytes)
	for {
		if prompt {
			fmt.Fprint(t.diagnostics, "\n? ")
		}
		if ctx.Err() != nil || !lines.Scan() {
			return errors.Join(ctx.Err(), lines.Err())
		}
		line := strings.TrimSpace(lines.Text())
		switch line {
		case "":
			continue
		case "/quit", "/exit", "/q":
			return nil
		case "/history":
			for i, q := range t.history {
				fmt.Fprintf(t.diagnostics, "%4d  %s\n", i+1, quoteForTerminal(q))
			}
			continue
		case "/help":
			line = "help"
		}
		if strings.HasPrefix(line, "!") {
			earlier, err := t.recallQuestion(line)
			if err != nil {
				fmt.Fprintln(t.diagnostics, err)
				continue
			}
			line = earlier
		}
		// The history keeps what was asked after "!" was resolved, so that "!!" repeats a question.
		t.history = append(t.history, line)
		if err := t.answerQuestion(ctx, line); err != nil {
			return err
		}
	}
}

// recallQuestion returns the question of this session that "!3" or "!!" refers to.
func (t *chatSession) recallQuestion(line string) (string, error) {
	n, err := strconv.Atoi(line[1:])
	if line == "!!" {
		n, err = len(t.history), nil
	}
	if err != nil || n < 1 || n > len(t.history) {
		return "", fmt.Errorf("%q is no question of this session: /history lists all %d", quoteForTerminal(line), len(t.history))
	}
	return t.history[n-1], nil
}

// quoteForTerminal returns a line with control characters escaped.
func quoteForTerminal(s string) string { return strings.Trim(strconv.Quote(s), `"`) }

// answerQuestion answers one question from the ledger as it is now.
func (t *chatSession) answerQuestion(ctx context.Context, question string) error {
	if err := t.rereadLedger(ctx); err != nil {
		return err
	}
	a := t.reads.AnswerQuestion(ctx, question, t.session.AnswerQuestion(question), t.session.KnownNames(), t.session.AnswerModelQuery)
	addLedgerFlags(&a, t.flags)
	if t.asJSON {
		line, err := json.Marshal(askAnswer{1, question, t.from.path, a})
		if err == nil {
			_, err = t.out.Write(append(protocol.EscapeUnprintable(line), '\n'))
		}
		return err
	}
	if err := a.WriteText(t.out); err != nil {
		return err
	}
	if a.Kind == "ambiguous" && len(a.Readings) > 0 {
		fmt.Fprintf(t.diagnostics, "A number from 1 to %d chooses one.\n", len(a.Readings))
	}
	return nil
}

// rereadLedger reads the ledger if it has grown since it was read. The session
// keeps what the last question was about.
func (t *chatSession) rereadLedger(ctx context.Context) error {
	version, err := ledgerVersion(t.from.path)
	if err != nil {
		return err
	}
	if t.session != nil && version == t.version {
		return nil
	}
	log, err := readRun(t.from, t.diagnostics)
	if err != nil {
		return err
	}
	log.SetReplay(whatIfReplay(ctx, t.from, t.diagnostics))
	t.version = version
	if t.session == nil {
		t.session = log.NewSession()
	} else {
		t.session.UseDataset(log)
	}
	return nil
}
