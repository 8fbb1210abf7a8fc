package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/protocol"
)

const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

// ledgerOf writes a small run's ledger and returns its folder.
func ledgerOf(t *testing.T, policies ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, policy := range policies {
		w, err := wal.CreateFile(filepath.Join(dir, policy+".ledger"), map[string]string{"policy": policy})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range smallRun() {
			if err := w.AppendMessage(m); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func smallRun() []protocol.Message {
	submitter, market := protocol.Sender{Party: protocol.Submitter}, protocol.Sender{Party: protocol.Coordinator}
	oslo := protocol.Sender{Party: protocol.AgentParty("oslo")}
	j := protocol.Job{Urgency: protocol.UrgencyNow, ID: "train-1", Tenant: "vision", GPUs: 1, Share: 1000, Arrival: noon, Run: time.Hour, Deadline: noon.Add(3 * time.Hour)}
	k := j
	k.ID = "train-2"
	o := protocol.BidOption{Start: noon, Finish: noon.Add(time.Hour), Model: "V100", Energy: 3_600_000_000, Carbon: 200_000, Money: 50_000}
	return []protocol.Message{
		oslo.NewMessage(noon, protocol.Coordinator, protocol.RegisterSite{Site: "oslo"}),
		submitter.NewMessage(noon, protocol.Coordinator, protocol.Submit{Job: j}),
		submitter.NewMessage(noon, protocol.Coordinator, protocol.Submit{Job: k}),
		market.NewMessage(noon, "", protocol.CallForBids{Round: 1, Closes: noon.Add(time.Second), Jobs: []protocol.Job{j}, Weights: protocol.Weights{Carbon: 100_000}}),
		oslo.NewMessage(noon, protocol.Coordinator, protocol.Bids{Round: 1, Jobs: []protocol.JobBids{{Job: "train-1", Options: []protocol.BidOption{o}}}}),
		market.NewMessage(noon, protocol.AgentParty("oslo"), protocol.Award{Round: 1, Job: "train-1", Epoch: 1, Option: o, Why: protocol.Reason{Code: protocol.Cheapest}}),
	}
}

func execute(cmd *cobra.Command, args ...string) (out, stderr string, err error) {
	var a, b bytes.Buffer
	cmd.SetOut(&a)
	cmd.SetErr(&b)
	cmd.SetArgs(args)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err = cmd.Execute()
	return a.String(), b.String(), err
}

func TestWhyExplainsTheDecision(t *testing.T) {
	dir := ledgerOf(t, "auction", "home-fifo")
	out, stderr, err := execute(newWhyCommand(), "train-1", "--run", dir)
	if err != nil || stderr != "" {
		t.Fatalf("why train-1: %v, said %q", err, stderr)
	}
	for _, want := range []string{"was awarded to oslo in round 1", "oslo  $0.0700", "1.0000"} {
		if !strings.Contains(out, want) {
			t.Errorf("why train-1 does not say %q:\n%s", want, out)
		}
	}
}

func TestWhyAsJSONHasFacts(t *testing.T) {
	out, _, err := execute(newWhyCommand(), "train-1", "--run", ledgerOf(t, "home-fifo"), "--json")
	if err != nil {
		t.Fatal(err)
	}
	var got whyAnswer
	if err := json.Unmarshal([]byte(out), &got); err == nil && (got.Schema != 2 || got.Job != "train-1" || got.State != "planned") {
		t.Errorf("why --json = %+v", got)
	}
	if !strings.Contains(out, `"name": "total-cost"`) {
		t.Errorf("why --json has no total cost:\n%s", out)
	}
}

func TestWhyErrorsNameTheNextStep(t *testing.T) {
	two, empty := ledgerOf(t, "home-fifo", "random"), t.TempDir()
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"an unknown job names the nearest", []string{"train-11", "--run", two, "--policy", "random"}, `the run has 2 jobs; the nearest ids are "train-1", "train-2"`},
		{"an unknown policy names those there are", []string{"train-1", "--run", two, "--policy", "fifo"}, "choose --policy from home-fifo, random"},
		{"two ledgers and no auction want a choice", []string{"train-1", "--run", two}, "choose --policy from home-fifo, random"},
		{"an empty folder wants a replay", []string{"train-1", "--run", empty}, "gridbid replay"},
		{"no folder wants a replay", []string{"train-1", "--run", filepath.Join(empty, "none")}, "gridbid replay"},
		{"a policy is not a path", []string{"train-1", "--run", two, "--policy", "../random"}, "choose --policy from home-fifo, random"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := execute(newWhyCommand(), tc.args...)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("why %q: %v; want %q in it", tc.args, err, tc.want)
			}
		})
	}
	if _, _, err := execute(newWhyCommand(), "nobody", "--run", two, "--policy", "random"); !errors.Is(err, errUnknownJob) {
		t.Errorf("why nobody: %v; want errUnknownJob", err)
	}
}

func TestATornLedgerIsReadAsFarAsItGoes(t *testing.T) {
	dir := ledgerOf(t, "auction")
	path := filepath.Join(dir, "auction.ledger")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw[:len(raw)-60], 0o644); err != nil {
		t.Fatal(err)
	}
	out, stderr, err := execute(newWhyCommand(), "train-2", "--run", dir)
	if err != nil || !strings.Contains(stderr, "cut off") || !strings.Contains(out, "Nothing was decided") {
		t.Errorf("why train-2 of a torn ledger: %v, said %q, wrote %q", err, stderr, out)
	}
	raw[len(raw)/2] ^= 1
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := execute(newWhyCommand(), "train-2", "--run", dir); !errors.Is(err, wal.ErrDamaged) {
		t.Errorf("why train-2 of a damaged ledger: %v; want ErrDamaged", err)
	}
}

func TestTap(t *testing.T) {
	dir := ledgerOf(t, "auction")
	for _, tc := range []struct {
		name string
		args []string
		want int
	}{
		{"everything", nil, 6},
		{"by kind", []string{"--kind", "submit,award"}, 3},
		{"by job, in calls and offers too", []string{"--job", "train-1"}, 4},
		{"by speaker", []string{"--from", "agent/oslo"}, 2},
		{"by all of them", []string{"--from", "coordinator", "--kind", "award", "--job", "train-1"}, 1},
		{"nothing", []string{"--kind", "decline"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, stderr, err := execute(newMessagesCommand(), append([]string{"--run", dir}, tc.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(out, "\n"); n != tc.want {
				t.Errorf("messages %q has %d lines; want %d:\n%s", tc.args, n, tc.want, out)
			}
			if (tc.want == 0) != strings.Contains(stderr, "None of the 6 messages") {
				t.Errorf("messages %q printed %q", tc.args, stderr)
			}
			for line := range strings.Lines(out) {
				if !json.Valid([]byte(line)) {
					t.Errorf("not JSON: %s", line)
				}
			}
		})
	}
}

func TestMessagesReadsAFileOrStandardInput(t *testing.T) {
	path := filepath.Join(ledgerOf(t, "auction"), "auction.ledger")
	fromFile, _, err := execute(newMessagesCommand(), path)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cmd := newMessagesCommand()
	cmd.SetIn(bytes.NewReader(raw))
	if got, _, err := execute(cmd, "-"); err != nil || got != fromFile || got == "" {
		t.Errorf("messages - = %q, %v; want the output of messages FILE", got, err)
	}
}

// A ledger of somebody else's may call a site anything; no words on it move a cursor.
func TestNarratedNamesMoveNoCursor(t *testing.T) {
	dir := t.TempDir()
	w, err := wal.CreateFile(filepath.Join(dir, "auction.ledger"), map[string]string{"policy": "auction"})
	if err != nil {
		t.Fatal(err)
	}
	evil := protocol.AgentParty("os\x1b[2Jlo")
	for _, m := range smallRun() {
		switch b := m.Body.(type) {
		case protocol.RegisterSite:
			m.From, m.Body = evil, protocol.RegisterSite{Site: evil.SiteName()}
		case protocol.Bids:
			m.From = evil
		case protocol.Award:
			m.To, m.Body = evil, b
		}
		if err := w.AppendMessage(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out, _, err := execute(newWhyCommand(), "train-1", "--run", dir, "--narrator", "template")
	if err != nil || !strings.Contains(out, "lo, because") || strings.ContainsRune(out, '\x1b') {
		t.Errorf("%q, %v", out, err)
	}
}

// A tenant may call a job what a decision is called: which is meant is asked, for what
// is told of the one must not be taken for the other.
func TestWhyAsksWhetherAJobOrADecisionIsMeant(t *testing.T) {
	dir := ledgerWith(t, func(all []protocol.Message) []protocol.Message {
		submitter := protocol.Sender{Party: protocol.Submitter, Incarnation: 1}
		j := protocol.Job{Urgency: protocol.UrgencyNow, ID: "D-2", Tenant: "speech", GPUs: 1, Share: 1000, Arrival: noon, Run: time.Hour, Deadline: noon.Add(3 * time.Hour)}
		return append(all, submitter.NewMessage(noon, protocol.Coordinator, protocol.Submit{Job: j}))
	})
	for _, args := range [][]string{{"D-2", "--run", dir}, {"D-2", "--run", dir, "--record"}} {
		out, _, err := execute(newWhyCommand(), args...)
		if err == nil || out != "" || !strings.Contains(err.Error(), "of a job and of a decision") || !strings.Contains(err.Error(), "why job D-2") {
			t.Errorf("why %v: %q, %v", args, out, err)
		}
	}
}

// A decision on one of several jobs of an id explains that one.
func TestWhyOfADecisionIsOfTheJobThatItWasOn(t *testing.T) {
	dir := ledgerWith(t, func(all []protocol.Message) []protocol.Message {
		submitter, market := protocol.Sender{Party: protocol.Submitter, Incarnation: 1}, protocol.Sender{Party: protocol.Coordinator, Incarnation: 1}
		later := noon.Add(48 * time.Hour)
		j := protocol.Job{Urgency: protocol.UrgencyNow, ID: "train-2", Tenant: "speech", GPUs: 1, Share: 1000, Arrival: later, Run: time.Hour, Deadline: later.Add(3 * time.Hour)}
		return append(all,
			market.NewMessage(noon, protocol.Submitter, protocol.Reject{Job: "train-2", Why: protocol.Reason{Code: protocol.Cancelled}}),
			submitter.NewMessage(later, protocol.Coordinator, protocol.Submit{Job: j}),
			market.NewMessage(later, "", protocol.CallForBids{Round: 2, Closes: later.Add(time.Second), Jobs: []protocol.Job{j}}))
	})
	if out, _, err := execute(newWhyCommand(), "D-1001", "--run", dir); err != nil || !strings.Contains(out, "Job train-2 was cancelled at 13 Apr 12:00.") {
		t.Errorf("%v, %s", err, out)
	}
	if out, _, err := execute(newWhyCommand(), "train-2", "--run", dir); err != nil || strings.Contains(out, "refused") {
		t.Errorf("%v, %s", err, out)
	}
}

// ledgerWith writes a small run's ledger with a change, and returns its folder.
func ledgerWith(t *testing.T, change func([]protocol.Message) []protocol.Message) string {
	t.Helper()
	dir := t.TempDir()
	w, err := wal.CreateFile(filepath.Join(dir, "auction.ledger"), map[string]string{"policy": "auction"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range change(smallRun()) {
		if err := w.AppendMessage(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}
