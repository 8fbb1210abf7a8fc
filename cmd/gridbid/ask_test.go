package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/llm/faultyserver"
)

func TestAskAnswersFromTheLedger(t *testing.T) {
	dir := ledgerOf(t, "auction", "home-fifo")
	out, stderr, err := execute(newAskCommand(), "why", "did", "train-1", "go", "to", "oslo?", "--run", dir)
	if err != nil || stderr != "" {
		t.Fatalf("ask: %v, said %q", err, stderr)
	}
	for _, want := range []string{"read as: why job train-1 at site oslo", "was awarded to oslo in round 1", "D-2", "again: gridbid why train-1 --run"} {
		if !strings.Contains(out, want) {
			t.Errorf("ask does not say %q:\n%s", want, out)
		}
	}
}

// What is offered to be asked instead is asked of the same run.
func TestAReadingIsOfferedWithItsRun(t *testing.T) {
	dir := ledgerOf(t, "auction", "home-fifo")
	out, _, err := execute(newAskCommand(), "train-1", "--run", dir, "--policy", "home-fifo")
	flags := ledgerSelector{run: dir, policy: "home-fifo"}.flagText()
	if !errors.Is(err, errAskOtherwise) || !strings.Contains(out, "  gridbid ask 'why job train-1'"+flags+"\n") {
		t.Errorf("readings: %v; want them with%s\n%s", err, flags, out)
	}
}

func TestAskAsJSON(t *testing.T) {
	out, _, err := execute(newAskCommand(), "how many jobs ran", "--run", ledgerOf(t, "home-fifo"), "--json")
	if err != nil {
		t.Fatal(err)
	}
	var got askAnswer
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != 1 || got.Kind != "answer" || got.Query == nil || got.Query.Ask != "jobs" || len(got.Figures) == 0 {
		t.Errorf("ask --json = %+v", got)
	}
}

// Exit codes: errors that usageError marks end in 2, others in 1.
func TestAskExitCodeDependsOnTheAnswer(t *testing.T) {
	dir := ledgerOf(t, "auction")
	for _, tc := range []struct {
		name, q   string
		otherwise bool
		err       error
	}{
		{"answered", "late jobs", false, nil},
		{"known not to be here", "who preempted train-1", false, nil},
		{"ambiguous", "train-1", true, errAskOtherwise},
		{"not understood", "sing a song", true, errAskOtherwise},
		{"not found", "why train-11", true, errAskOtherwise},
		{"not recorded", "how much water did oslo use", false, errNotAnswered},
		{"nothing", " ", true, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, _, err := execute(newAskCommand(), tc.q, "--run", dir)
			if tc.err != nil && (!errors.Is(err, tc.err) || out == "") {
				t.Errorf("ask %q: %v, wrote %q; want %v, and why on standard output", tc.q, err, out, tc.err)
			}
			if got := errors.As(err, new(usageError)); got != tc.otherwise {
				t.Errorf("ask %q: %v; bad input %v, want %v", tc.q, err, got, tc.otherwise)
			}
			if tc.err == nil && !tc.otherwise && err != nil {
				t.Errorf("ask %q: %v", tc.q, err)
			}
		})
	}
}

func TestAskComparesPoliciesByTheTotalsBeside(t *testing.T) {
	dir := ledgerOf(t, "auction", "home-fifo")
	if err := os.WriteFile(filepath.Join(dir, "totals.json"), []byte(`[{"policy":"auction","carbon_kg":1.5},{"policy":"home-fifo","carbon_kg":2.5}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _, err := execute(newAskCommand(), "compare auction and home-fifo", "--run", dir)
	if err != nil || !strings.Contains(out, "1.5") || !strings.Contains(out, "2.5") {
		t.Errorf("ask: %v, wrote %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "totals.json"), []byte(`{`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := execute(newAskCommand(), "late jobs", "--run", dir); err != nil || !strings.Contains(stderr, "cannot be compared") {
		t.Errorf("ask beside broken totals: %v, said %q", err, stderr)
	}
}

// With a model a question that the grammar does not read is answered by the query that
// the model made of it, in ask and in chat; what the grammar reads needs none.
func TestAModelReadsWhatTheGrammarDoesNot(t *testing.T) {
	s, err := faultyserver.StartServer(faultyserver.FixedText(`{"ask":"bill","metric":"carbon","by":"site"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir := ledgerOf(t, "auction")
	model := []string{"--run", dir, "--model", s.BaseURL(), "--model-name", "m"}
	const question = "kohlendioxid nach standorten"
	if _, _, err := execute(newAskCommand(), question, "--run", dir); !errors.Is(err, errAskOtherwise) {
		t.Fatalf("without a model: %v", err)
	}
	want, _, err := execute(newAskCommand(), "carbon by site", "--run", dir)
	if err != nil {
		t.Fatal(err)
	}
	_, want, _ = strings.Cut(want, "\n\n") // after how it was read
	out, _, err := execute(newAskCommand(), append([]string{question}, model...)...)
	if err != nil || !strings.HasPrefix(out, "I understood: carbon used by site") || !strings.Contains(out, "(read by model m)") || !strings.HasSuffix(out, want) {
		t.Errorf("ask: %v\n%s\nwant it to end as\n%s", err, out, want)
	}
	chat := newChatCommand()
	chat.SetIn(strings.NewReader(question + "\ncarbon by site\n"))
	out, _, err = execute(chat, model...)
	if err != nil || strings.Count(out, "I understood: ") != 1 || strings.Count(out, "read as: carbon used by site") != 1 {
		t.Errorf("chat: %v\n%s", err, out)
	}
	if n := len(s.RequestBodies()); n != 2 {
		t.Errorf("the model was asked %d times; want once for each question that is not read", n)
	}
	if _, _, err := execute(newAskCommand(), question, "--run", dir, "--model-name", "m"); !errors.As(err, new(usageError)) {
		t.Errorf("a model without its address: %v", err)
	}
}
