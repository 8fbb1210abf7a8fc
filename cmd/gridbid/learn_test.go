package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/scenarios/learned"
)

// alteredWeights writes weights with one digit changed.
func alteredWeights(t *testing.T, text []byte) string {
	t.Helper()
	at := bytes.Index(text, []byte(`"weights":[`)) + len(`"weights":[-0.`)
	text[at] = '0' + (text[at]-'0'+1)%10
	file := filepath.Join(t.TempDir(), "altered.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLearnCheckRefusesAlteredWeights(t *testing.T) {
	out, _, err := execute(newLearnCommand(), "check")
	if err != nil || !strings.Contains(out, "greensched") || !strings.Contains(out, "lessons") {
		t.Errorf("the shipped weights: %v\n%s", err, out)
	}
	if _, _, err := execute(newLearnCommand(), "check", alteredWeights(t, learned.ShippedBytes())); err == nil || !strings.Contains(err.Error(), "they were altered") {
		t.Errorf("altered weights: %v", err)
	}
	if _, _, err := execute(newLearnCommand(), "check", alteredWeights(t, forecast.ShippedBytes())); err == nil || !strings.Contains(err.Error(), "they were altered") {
		t.Errorf("altered weights of forecasts: %v", err)
	}
	if _, _, err := execute(newLearnCommand(), "check", "/nowhere/w.json"); !errors.As(err, new(usageError)) {
		t.Errorf("no weights: %v; want a usage error", err)
	}
}

func TestLearnRuleRefusesWhatItCannotTrain(t *testing.T) {
	for _, args := range [][]string{{"grid"}, {"rule"}, {"rule", "--out", t.TempDir(), "--reward", "gold"}, {"rule", "--out", t.TempDir(), "--decisions", "5"}} {
		if _, _, err := execute(newLearnCommand(), args...); !errors.As(err, new(usageError)) {
			t.Errorf("learn %v: %v; want a usage error", args, err)
		}
	}
}

// Where weights are refused the auction decides in the row, and a warning says why.
func TestAReplayWithRefusedWeightsIsTheAuctions(t *testing.T) {
	replay := func(args ...string) (rows []history.Totals, stderr string) {
		t.Helper()
		out, stderr, err := execute(newReplayCommand(), append(args, "--max-jobs", "20", "--bus", "mem", "--no-bound", "--run", t.TempDir(), "--json", "-", "--policy", "auction,greensched")...)
		if err != nil || json.Unmarshal([]byte(out), &rows) != nil || len(rows) != 2 {
			t.Fatalf("replay: %v\n%s", err, out)
		}
		return rows, stderr
	}
	rows, stderr := replay("--weights", alteredWeights(t, learned.ShippedBytes()))
	if rows[0].ObjectiveUSD != rows[1].ObjectiveUSD || rows[1].Policy != "greensched" {
		t.Errorf("the auction costs $%v, its stand-in as %s $%v", rows[0].ObjectiveUSD, rows[1].Policy, rows[1].ObjectiveUSD)
	}
	if !strings.Contains(stderr, "they were altered") || !strings.Contains(strings.Join(rows[1].Warnings, ""), "the auction decides") {
		t.Errorf("no reason: %s%v", stderr, rows[1].Warnings)
	}
	if rows, stderr := replay(); rows[0].ObjectiveUSD == rows[1].ObjectiveUSD || strings.Contains(stderr, "refused") {
		t.Errorf("with the shipped weights it costs what the auction does, $%v: %s", rows[1].ObjectiveUSD, stderr)
	}
	if _, _, err := execute(newReplayCommand(), "--policy", "auction", "--weights", "w.json"); !errors.As(err, new(usageError)) {
		t.Errorf("weights that no policy needs: %v; want a usage error", err)
	}
}

// Where weights of forecasts are refused the usual rules forecast, and a warning says why; weights that no
// policy needs, or two of a kind, are a mistake.
func TestAReplayWithRefusedForecastWeightsIsByTheUsualRules(t *testing.T) {
	replay := func(args ...string) (rows []history.Totals, stderr string, err error) {
		t.Helper()
		out, stderr, err := execute(newReplayCommand(), append(args, "--max-jobs", "20", "--bus", "mem", "--no-bound", "--run", t.TempDir(), "--json", "-", "--policy", "auction,auction/learned")...)
		if err == nil {
			err = json.Unmarshal([]byte(out), &rows)
		}
		return rows, stderr, err
	}
	altered := alteredWeights(t, forecast.ShippedBytes())
	rows, stderr, err := replay("--weights", altered)
	if err != nil || len(rows) != 2 || rows[0].ObjectiveUSD != rows[1].ObjectiveUSD {
		t.Fatalf("the auction and its row with refused weights: %v, %v", rows, err)
	}
	if !strings.Contains(stderr, "they were altered") || !strings.Contains(strings.Join(rows[1].Warnings, ""), "the usual rules forecast") {
		t.Errorf("no reason: %s%v", stderr, rows[1].Warnings)
	}
	if rows, _, err := replay(); err != nil || strings.Contains(strings.Join(rows[1].Warnings, ""), "refused") || rows[0].JobsUSD == rows[1].JobsUSD {
		t.Errorf("the shipped weights are refused, or correct nothing: %v, %v", rows, err)
	}
	rule := filepath.Join(t.TempDir(), "rule.json")
	if err := os.WriteFile(rule, learned.ShippedBytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--weights", rule}, {"--weights", altered, "--weights", altered}} {
		if _, _, err := replay(args...); !errors.As(err, new(usageError)) {
			t.Errorf("%v: %v; want a usage error", args, err)
		}
	}
}
