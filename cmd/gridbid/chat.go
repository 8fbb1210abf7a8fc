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
	"github.com/gridbid/gridbid/protocol"
)

// newChatCommand is `gridbid chat`: questions one after the other.
func newChatCommand() *cobra.Command {
	var f ledgerSelector
	var model modelFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "ask questions about a run, one after the other",
		Long: `Ask questions about a run, a line each, as with "gridbid ask". A question may lean
on the one before: "why not oslo?", "and on wednesday?", "what about lyon", "how
long did it wait?". A number chooses one of the readings that an answer offers.
A ledger that is still being written is read again when it has grown, so a live
federation is asked about as it is now.

  /help     what can be asked
  /history  what was asked; !3 asks the third again, !! the last
  /quit     ends, as the end of input does

Nothing is written by a question. With --json each answer is one line of JSON.
` + readsHelp,
		Example: `  gridbid chat
  printf '%s\n' 'late jobs' 'and of tenant team-a?' | gridbid chat --json | jq .text`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := f.ledgerPath()
			if err != nil {
				return fmt.Errorf("chat: %w", err)
			}
			reads, err := model.openTranslator()
			if err != nil {
				return fmt.Errorf("chat: %w", err)
			}
			t := chatSession{reads: reads, path: path, flags: f.flagText(), asJSON: asJSON, out: cmd.OutOrStdout(), diagnostics: cmd.ErrOrStderr()}
			if err := t.runSession(cmd.Context(), cmd.InOrStdin()); err != nil {
				return fmt.Errorf("chat: %w", err)
			}
			return nil
		},
	}
	f.registerFlags(cmd, "folder of the run, as replay wrote it")
	model.registerFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write each answer as a line of JSON: docs/ask.md")
	return cmd
}

// A chatSession is a session at a terminal, or of a program.
type chatSession struct {
	path, flags      string
	reads            *translate.Translator
	asJSON           bool
	out, diagnostics io.Writer

	size    int64 // of the ledger, as it was read
	session *query.Session
	history []string
}

// maxLineBytes bounds a question that is read, in bytes.
const maxLineBytes = 64 << 10

func (t *chatSession) runSession(ctx context.Context, in io.Reader) error {
	if err := t.rereadLedger(ctx); err != nil {
		return err
	}
	f, ok := in.(*os.File)
	prompt := ok && isTerminal(f)
	if prompt {
		fmt.Fprintf(t.diagnostics, "Asking %s. /help says what can be asked, /quit ends.\n", t.path)
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
			again, err := t.recallQuestion(line)
			if err != nil {
				fmt.Fprintln(t.diagnostics, err)
				continue
			}
			line = again
		}
		t.history = append(t.history, line)
		if err := t.answerQuestion(ctx, line); err != nil {
			return err
		}
	}
}

// recallQuestion returns what "!3" or "!!" stands for.
func (t *chatSession) recallQuestion(line string) (string, error) {
	n, err := strconv.Atoi(line[1:])
	if line == "!!" {
		n, err = len(t.history), nil
	}
	if err != nil || n < 1 || n > len(t.history) {
		return "", fmt.Errorf("%q names no question before: /history lists %d", quoteForTerminal(line), len(t.history))
	}
	return t.history[n-1], nil
}

// quoteForTerminal returns a line as a terminal may show it.
func quoteForTerminal(s string) string { return strings.Trim(strconv.Quote(s), `"`) }

func (t *chatSession) answerQuestion(ctx context.Context, question string) error {
	if err := t.rereadLedger(ctx); err != nil {
		return err
	}
	a := t.reads.AnswerQuestion(ctx, question, t.session.Ask(question), translate.NamesOf(t.session.Names()), t.session.Understood)
	addLedgerFlags(&a, t.flags)
	if t.asJSON {
		line, err := json.Marshal(askAnswer{1, question, t.path, a})
		if err == nil {
			_, err = t.out.Write(append(protocol.EscapeUnprintable(line), '\n'))
		}
		return err
	}
	if err := a.Write(t.out); err != nil {
		return err
	}
	if a.Kind == "ambiguous" && len(a.Readings) > 0 {
		fmt.Fprintf(t.diagnostics, "A number from 1 to %d chooses one.\n", len(a.Readings))
	}
	return nil
}

// rereadLedger reads the ledger, if it has grown since.
func (t *chatSession) rereadLedger(ctx context.Context) error {
	info, err := os.Stat(t.path)
	if err != nil {
		return err
	}
	if t.session != nil && info.Size() == t.size {
		return nil
	}
	log, err := readRun(t.path, t.diagnostics)
	if err != nil {
		return err
	}
	log.Set(whatIfReplay(ctx, t.path, t.diagnostics))
	t.size = info.Size()
	if t.session == nil {
		t.session = log.Talk()
	} else {
		t.session.On(log)
	}
	return nil
}
