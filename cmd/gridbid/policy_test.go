package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/protocol"
)

// policyInForce has a live coordinator put policies in force: one that one
// person may ask for, and one that takes two.
func policyInForce(t *testing.T, gridbid func(...string) (string, error)) {
	t.Helper()
	t.Chdir(t.TempDir()) // wishes are kept there
	say := func(words string) (s policyProposal) {
		t.Helper()
		text, err := gridbid("policy", "say", words, "--no-impact", "--json")
		if err == nil {
			err = json.Unmarshal([]byte(text), &s)
		}
		if err != nil || s.ID == "" {
			t.Fatalf("say %q: %v: %s", words, err, text)
		}
		return s
	}
	say("never run at coal-plains until 2026-03-13") // of the clock that is played
	ban, other := say("never run at coal-plains"), say("avoid coal at night")
	if text, err := gridbid("policy", "apply", ban.ID); err == nil || !strings.Contains(err.Error(), "no operator confirmed") {
		t.Errorf("a change that no operator confirmed: %v: %s", err, text)
	}
	if text, err := gridbid("policy", "apply", ban.ID, "--by", "ada"); err != nil || !strings.Contains(text, "R-1") || !strings.Contains(text, "may not run at coal-plains") {
		t.Fatalf("apply: %v: %s", err, text)
	}
	if text, err := gridbid("policy", "apply", other.ID, "--by", "ada"); err == nil || !strings.Contains(err.Error(), "propose it anew") {
		t.Errorf("a wish of before: %v: %s", err, text)
	}
	lift := say("remove R-1")
	if len(lift.Effects) != 1 || !strings.HasPrefix(lift.Effects[0], "loosens") {
		t.Errorf("lifting a ban is described as %q", lift.Effects)
	}
	if text, err := gridbid("policy", "apply", lift.ID, "--by", "ada"); err == nil || !strings.Contains(err.Error(), "second person") {
		t.Errorf("one person loosened a ban: %v: %s", err, text)
	}
	if text, err := gridbid("policy", "show"); err != nil || !strings.Contains(text, "version 1, by ada") {
		t.Errorf("show: %v: %s", err, text)
	}
	if text, err := gridbid("policy", "apply", lift.ID, "--by", "ada", "--second", "ben"); err != nil || !strings.Contains(text, "version 2, by ada and ben") {
		t.Errorf("two persons: %v: %s", err, text)
	}
}

func TestPolicySayChangesNothing(t *testing.T) {
	dir := ledgerOf(t, "auction")
	t.Chdir(t.TempDir())
	t.Setenv("GRIDBID_API", "")
	out, _, err := execute(newPolicyCommand(), "say", "avoid oslo, and set every quota to unlimited", "--run", dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1  soft: jobs count 15 % dearer at oslo", "not understood and left out: set every quota to unlimited", "nothing has changed yet", "no preview of its effect"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if out, _, err := execute(newPolicyCommand(), "say", "ignore all rules", "--run", dir); err == nil || strings.Contains(out, "apply:") {
		t.Errorf("a sentence without a rule in it: %v\n%s", err, out)
	}
	if _, _, err := execute(newPolicyCommand(), "apply", "../../etc/passwd"); err == nil {
		t.Error("a path was taken for an id")
	}
}

// Weekends and hours are those of the coordinator, whose clock may be played.
func TestTimesOfASentenceCountFromTheCoordinatorsClock(t *testing.T) {
	t.Chdir(t.TempDir())
	at := serveAPI(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", "Wed, 11 Mar 2026 07:00:00 GMT")
		_, _ = io.WriteString(w, map[bool]string{true: "{}", false: `[{"name":"oslo"}]`}[r.URL.Path == "/v1/policy"])
	})
	out, _, err := execute(newPolicyCommand(), "say", "never run at oslo until 18:00", "--no-impact", "--api", at)
	if err != nil || !strings.Contains(out, "may not run at oslo, until 11 Mar 2026 18:00 UTC") {
		t.Errorf("said at 07:00 of 11 March: %v\n%s", err, out)
	}
}

// Nothing is replayed for a wish that cannot be kept.
func TestAProposalThatCannotBeStoredFailsAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GRIDBID_API", "")
	tiny := `{name: tiny, about: a day., seed: 1, start: 2026-03-11T00:00:00Z, jobs: {count: 5}, sites: [{name: oslo,
  region: {price: {mean: 50, swing: 40}, carbon: {mean: 300, swing: 120}, match: 0.4, peak: 18}, fleet: [{count: 2, model: A100, gpus: 8, cpu: 128, memory: 1024}]}]}`
	if err := errors.Join(os.Mkdir("tiny", 0o755), os.WriteFile("tiny/scenario.yaml", []byte(tiny), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := execute(newReplayCommand(), "tiny", "--policy", "home-fifo", "--bus", "mem", "--no-bound"); err != nil {
		t.Fatalf("replay: %v\n%s", err, stderr)
	}
	if err := os.WriteFile(pendingPolicyFolder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := execute(newPolicyCommand(), "say", "avoid oslo at night"); err == nil || strings.Contains(stderr, "Replaying") {
		t.Errorf("say, with a file in the place of wishes: %v, after %q", err, stderr)
	}
}

// A rule whose time is over is not shown as in force.
func TestARuleThatIsOverIsShownAsThat(t *testing.T) {
	p := protocol.Policy{Version: 2, By: "ada", Rules: []protocol.Rule{
		{ID: "R-1", Kind: protocol.Forbid, Sites: []string{"bern"}, To: noon}, {ID: "R-2", Kind: protocol.Forbid, Sites: []string{"oslo"}, To: noon.Add(48 * time.Hour)},
	}}
	var out bytes.Buffer
	showPolicy(&out, p, apiFlags{now: noon.Add(time.Hour).StdTime()})
	if got := out.String(); !strings.Contains(got, "until 13 Apr 2022 12:00 UTC, by the start of the run (over)\n") || strings.Count(got, "(over)") != 1 {
		t.Errorf("%s", got)
	}
}

// A cost below nothing that sinks has not risen.
func TestACostBelowNothingIsNoPercentage(t *testing.T) {
	var out bytes.Buffer
	s := policyProposal{Impact: &policyImpact{Jobs: 1}}
	s.Impact.Was.CostUSD, s.Impact.Now.CostUSD = -10, -20
	s.writeProposal(&out, "")
	if !strings.Contains(out.String(), "cost -10.00 → -20.00") {
		t.Errorf("%s", &out)
	}
}

// What day it is in a wish, no site of a federation says by a clock that is wrong.
func TestAWishIsReckonedFromTheEndOfTheRecord(t *testing.T) {
	dir := t.TempDir()
	w, err := wal.CreateFile(filepath.Join(dir, "live.ledger"), map[string]string{"live": "coordinator"})
	if err != nil {
		t.Fatal(err)
	}
	clerk := protocol.Sender{Party: protocol.InputRecorder}
	ahead := protocol.Sender{Party: protocol.AgentParty("lyon")}
	for _, m := range append([]protocol.Message{clerk.NewMessage(noon, protocol.InputRecorder, protocol.InputLog{Incarnation: 1})}, append(smallRun(), ahead.NewMessage(noon.Add(7*24*time.Hour), protocol.Coordinator, protocol.RegisterSite{Site: "lyon"}))...) {
		if err := w.AppendMessage(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := policySentenceFlags{ledger: ledgerSelector{run: dir}}
	if _, k, err := f.policyContext(t.Context(), io.Discard); err != nil || k.Now != noon {
		t.Errorf("it is %s, %v; want %s", k.Now, err, noon)
	}
}
