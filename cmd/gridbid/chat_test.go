package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// chatting runs a chat session of some lines.
func chatting(t *testing.T, lines string, args ...string) (out, stderr string) {
	t.Helper()
	cmd := newChatCommand()
	cmd.SetIn(strings.NewReader(lines))
	out, stderr, err := execute(cmd, args...)
	if err != nil {
		t.Fatalf("chat: %v, said %q", err, stderr)
	}
	return out, stderr
}

func TestChatGoesOnFromTheQuestionBefore(t *testing.T) {
	out, stderr := chatting(t, "why did train-1 go to oslo\n\nhow long did it wait?\n/history\n!1\n!9\n/quit\nlate jobs\n", "--run", ledgerOf(t, "auction"))
	if n := strings.Count(out, "read as: why job train-1 at site oslo"); n != 2 {
		t.Errorf("the first question was answered %d times; want twice:\n%s", n, out)
	}
	if !strings.Contains(out, "read as: how long did job train-1 wait") {
		t.Errorf("the second question does not lean on the first:\n%s", out)
	}
	if strings.Contains(out, "late jobs") {
		t.Error("it went on after /quit")
	}
	for _, want := range []string{"1  why did train-1 go to oslo", `"!9" is no question`} {
		if !strings.Contains(stderr, want) {
			t.Errorf("it did not say %q:\n%s", want, stderr)
		}
	}
}

func TestChatAsJSONIsALineForEachAnswer(t *testing.T) {
	out, _ := chatting(t, "late jobs\nsing a song\n\x1b[2Jhello\n", "--json", "--run", ledgerOf(t, "auction"))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 3 || bytes.ContainsRune([]byte(out), 0x1b) {
		t.Fatalf("%d lines: %q; want three, and no escape", len(lines), out)
	}
	for i, kind := range []string{"answer", "unclear", "not-found"} {
		var a askAnswer
		if err := json.Unmarshal([]byte(lines[i]), &a); err != nil || a.Kind != kind {
			t.Errorf("line %d: %v, kind %q; want %q", i+1, err, a.Kind, kind)
		}
	}
}

// Who waits for a line is let go when the program is to end.
func TestWaitingForInputEnds(t *testing.T) {
	for _, cmd := range []*cobra.Command{newChatCommand(), newMessagesCommand(), newSubmitCommand(), newBoundCommand()} {
		in, typed := io.Pipe() // nobody types
		defer typed.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cmd.SetContext(ctx)
		cmd.SetIn(waiting{in, cancel})
		args := map[string][]string{
			"chat": {"--run", ledgerOf(t, "auction")}, "messages": {"-"}, "submit": {"-f", "-"}, "bound": {"--max-jobs", "5", "--explain", "-"},
		}[cmd.Name()]
		if _, _, err := execute(cmd, args...); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v; want it to be given up", cmd.Name(), err)
		}
	}
}

// waiting is an input that is told when somebody waits for it.
type waiting struct {
	io.Reader
	told func()
}

func (w waiting) Read(to []byte) (int, error) {
	w.told()
	return w.Reader.Read(to)
}
