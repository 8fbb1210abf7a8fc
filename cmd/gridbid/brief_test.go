package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/llm/faultyserver"
)

func TestABriefIsPrinted(t *testing.T) {
	dir := ledgerOf(t, "auction")
	for _, args := range [][]string{nil, {"--hour"}, {"--day"}, {"--since", "8h"}} {
		out, stderr, err := execute(newBriefCommand(), append(args, "--run", dir)...)
		if err != nil || stderr != "" {
			t.Errorf("brief %v: %v, %q", args, err, stderr)
		}
		for _, want := range []string{"Needs a person: ", "Decided: The coordinator said", "Changed: ", "Saved: "} {
			if !strings.Contains(out, want) {
				t.Errorf("brief %v lacks %q:\n%s", args, want, out)
			}
		}
	}
	out, _, err := execute(newBriefCommand(), "--run", dir, "--json")
	var got briefAnswer
	if err != nil || json.Unmarshal([]byte(out), &got) != nil || got.Schema != 1 || len(got.Figures) < 5 || got.Query == nil || got.Query.Ask != "brief" {
		t.Errorf("brief --json: %v\n%s", err, out)
	}
	for _, args := range [][]string{{"--hour", "--day"}, {"--hour", "--since", "2h"}, {"--since", "0s"}} {
		if _, _, err := execute(newBriefCommand(), append(args, "--run", dir)...); !errors.As(err, new(usageError)) {
			t.Errorf("brief %v: %v; want bad input", args, err)
		}
	}
}

// A model orders the sentences of a brief and adds none; without it the brief is whole.
func TestAModelOrdersABrief(t *testing.T) {
	s, err := faultyserver.StartServer(faultyserver.FixedText(`{"sentences":[3,1]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir := ledgerOf(t, "auction")
	args := []string{"--run", dir, "--json", "--model", s.BaseURL(), "--model-name", "m"}
	brief := func() (b briefAnswer, stderr string) {
		out, stderr, err := execute(newBriefCommand(), args...)
		if err != nil || json.Unmarshal([]byte(out), &b) != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return b, stderr
	}
	b, stderr := brief()
	if len(b.Worded) != 2 || b.Worded[0] != b.Text[2] || b.Worded[1] != b.Text[0] || stderr != "" {
		t.Errorf("worded %q of %q; %q", b.Worded, b.Text, stderr)
	}
	for _, body := range s.RequestBodies() {
		if strings.Contains(string(body), "train-1") {
			t.Errorf("the model sees the name of a job: %s", body)
		}
	}
	s.SetBehaviour(faultyserver.FixedText(`{"sentences":[99]}`))
	if b, stderr := brief(); len(b.Worded) != 0 || len(b.Text) < 4 || !strings.Contains(stderr, "without the model") {
		t.Errorf("a choice that does not exist: %q, %q", b.Worded, stderr)
	}
}
