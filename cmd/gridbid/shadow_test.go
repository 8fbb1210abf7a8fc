package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/coordinator/shadow"
	"github.com/gridbid/gridbid/scenarios/learned"
)

// replayForShadow replays a small day and returns the folder of its run.
func replayForShadow(t *testing.T, dir string) string {
	t.Helper()
	if _, _, err := execute(newReplayCommand(), "--max-jobs", "30", "--bus", "mem", "--no-bound", "--run", dir, "--policy", "auction"); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Each job of a run gets a choice; it stands in the file beside the ledger, in the sum and in why; and
// the ledger stays as it was. A new run removes the choices of the old one.
func TestShadowSaysWhatTheLearnedPolicyWouldHaveDone(t *testing.T) {
	dir := replayForShadow(t, t.TempDir())
	before, err := os.ReadFile(filepath.Join(dir, "auction.ledger"))
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := execute(newShadowCommand(), "--run", dir, "--json")
	var sum shadow.Sum
	if err != nil || json.Unmarshal([]byte(out), &sum) != nil || sum.Jobs != 30 || sum.Agreed+sum.Differed+sum.Held+sum.NoPlace != 30 || sum.Agreed == 0 || sum.Differed == 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "auction.shadow.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	h, all, err := shadow.ParseStream(text)
	if w, _ := learned.Shipped(); err != nil || len(all) != 30 || h.Weights != w.SHA256 {
		t.Fatalf("%v, %d choices by %+v", err, len(all), h)
	}
	var again shadow.Sum
	for _, c := range all {
		again.Add(c)
		why, _, err := execute(newWhyCommand(), string(c.Job), "--run", dir)
		want := "would have chosen the same"
		if !c.Agrees() {
			want = "The rule in force chose: " + c.Did.Site
		}
		if err != nil || !strings.Contains(why, h.Policy+", in shadow, would") || !strings.Contains(why, want) {
			t.Errorf("why %s: %v; want %q\n%s", c.Job, err, want, why)
		}
	}
	for _, agrees := range []bool{true, false} {
		c := all[slices.IndexFunc(all, func(c shadow.Choice) bool { return c.Would != nil && c.Agrees() == agrees })]
		want := h.Policy + ", in shadow, would have chosen in round "
		if agrees {
			want = h.Policy + ", in shadow, would have chosen the same in round "
		}
		if said, _, err := execute(newAskCommand(), "why "+string(c.Job), "--run", dir); err != nil || !strings.Contains(said, want) {
			t.Errorf("ask why %s: %v; want %q\n%s", c.Job, err, want, said)
		}
	}
	if again != sum {
		t.Errorf("the file sums to %+v, the command said %+v", again, sum)
	}
	if why, _, err := execute(newWhyCommand(), string(all[0].Job), "--run", dir, "--json"); err != nil || !strings.Contains(why, `"shadow": {`) {
		t.Errorf("why --json: %v\n%s", err, why)
	}
	if after, _ := os.ReadFile(filepath.Join(dir, "auction.ledger")); !bytes.Equal(before, after) {
		t.Error("the ledger was changed")
	}
	replayForShadow(t, dir)
	if why, _, err := execute(newWhyCommand(), string(all[0].Job), "--run", dir); err != nil || strings.Contains(why, "in shadow") {
		t.Errorf("after a new run: %v, and why tells the choices of the old one", err)
	}
}

// Weights that are altered, of another schema, or no numbers end the command before it reads or writes.
func TestShadowRefusesBadWeights(t *testing.T) {
	dir := replayForShadow(t, t.TempDir())
	for want, change := range map[string]func([]byte) []byte{
		"altered": func(text []byte) []byte { text[bytes.Index(text, []byte(`"weights":[`))+14] ^= 1; return text },
		"schema":  func(text []byte) []byte { return bytes.Replace(text, []byte(`"schema":1`), []byte(`"schema":2`), 1) },
		"NaN": func(text []byte) []byte {
			return bytes.Replace(text, []byte(`"weights":[`), []byte(`"weights":[NaN,`), 1)
		},
	} {
		file := filepath.Join(t.TempDir(), "w.json")
		if err := os.WriteFile(file, change(learned.ShippedBytes()), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := execute(newShadowCommand(), "--run", dir, "--weights", file)
		if err == nil || !strings.Contains(err.Error(), "nothing runs in shadow") {
			t.Errorf("%s: %v", want, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "auction.shadow.jsonl")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a file of choices was written", want)
		}
	}
}

func TestShadowSaysWhatItCannotRead(t *testing.T) {
	dir := replayForShadow(t, t.TempDir())
	taken := filepath.Join(dir, "meta.json")
	for _, args := range [][]string{{"--follow"}, {"--out", taken}, {"--weights", "/nowhere.json"}, {"--at", "noon"}} {
		if _, _, err := execute(newShadowCommand(), append(args, "--run", dir)...); !errors.As(err, new(usageError)) {
			t.Errorf("%v: %v; want a usage error", args, err)
		}
	}
	// Rounds of another rule than the auction cannot be stepped again.
	if _, _, err := execute(newReplayCommand(), "--max-jobs", "20", "--bus", "mem", "--no-bound", "--run", dir, "--policy", "home-fifo"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := execute(newShadowCommand(), "--run", dir, "--policy", "home-fifo"); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), "choose --policy auction") {
		t.Errorf("a ledger of home-fifo: %v", err)
	}
	bad := filepath.Join(t.TempDir(), "choices.jsonl")
	for _, text := range []string{"", "{}\n", "{\"schema\":9}\n", "{\"schema\":1}\n{\"job\":\"a\"}\n", "{\"schema\":1}\nno\n"} {
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := execute(newWhyCommand(), "job-0001", "--run", dir, "--shadow", bad); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("choices %q: %v; want the line", text, err)
		}
	}
}
