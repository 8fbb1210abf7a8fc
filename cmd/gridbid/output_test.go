package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/internal/printer"
)

// liveAPI serves two sites, three jobs and a round.
func liveAPI(t *testing.T) string {
	t.Helper()
	return serveAPI(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/sites":
			_, _ = io.WriteString(w, `[{"name":"oslo","gpus":8,"free_gpus":1.5,"pue":1.1,"price_usd_mwh":40.25},{"name":"lyon","gpus":4,"free_gpus":4,"pue":1.2,"price_usd_mwh":39}]`)
		case "/v1/jobs":
			_, _ = io.WriteString(w, `[{"id":"train-1","tenant":"vision","state":"done","site":"oslo","gpus":2,"measured":{"energy_kwh":1.23456,"cost_usd":0.5}},{"id":"train-2","tenant":"=cmd()","state":"pending","gpus":1},{"id":"train-3","tenant":"speech","state":"done","site":"lyon","gpus":8,"measured":{"energy_kwh":12,"cost_usd":3}}]`)
		case "/v1/auctions":
			_, _ = io.WriteString(w, `[{"round":7,"jobs":3,"awards":2,"cost_usd":1.5}]`)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":"unknown"}`)
		}
	})
}

// Every command that lists prints every format, and the same names in each.
func TestEveryListingHasEveryFormat(t *testing.T) {
	at, fed := liveAPI(t), filepath.Join(t.TempDir(), "fed")
	t.Setenv("GRIDBID_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	for _, args := range [][]string{{"federation", "init", "--host", "127.0.0.1", "--dir", fed}, {"config", "set-context", "north"}} {
		if _, _, err := execute(newRootCommand(), args...); err != nil {
			t.Fatal(err)
		}
	}
	for name, args := range map[string][]string{
		"train-1": {"jobs", "--api", at}, "oslo": {"sites", "--api", at}, "7": {"auctions", "--api", at}, "six-regions": {"scenario", "list"},
		"coordinator": {"federation", "show", "--dir", fed}, "north": {"config", "get-contexts"},
	} {
		for _, f := range printer.Formats() {
			out, _, err := execute(newRootCommand(), append(slices.Clone(args), "-o", f)...)
			if err != nil || !strings.Contains(out, name) {
				t.Errorf("gridbid %v -o %s: %v:\n%s\nwant %s in it", args, f, err, out, name)
			}
			switch f {
			case "json":
				if !json.Valid([]byte(out)) {
					t.Errorf("gridbid %v -o json:\n%s", args, out)
				}
				if alias, _, err := execute(newRootCommand(), append(slices.Clone(args), "--json")...); err != nil || alias != out {
					t.Errorf("gridbid %v --json differs from -o json: %v", args, err)
				}
			case "csv":
				rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
				if err != nil || len(rows) < 2 {
					t.Errorf("gridbid %v -o csv: %v:\n%s", args, err, out)
				}
			case "name":
				if strings.Contains(out, "  ") || !strings.HasPrefix(out, name) && !strings.Contains(out, "\n"+name+"\n") {
					t.Errorf("gridbid %v -o name:\n%s", args, out)
				}
			}
		}
	}
	for _, args := range [][]string{{"version"}, {"policy", "show", "--api", at}, {"config", "view"}} {
		for _, f := range []string{"table", "wide", "json", "yaml"} {
			if out, _, err := execute(newRootCommand(), append(slices.Clone(args), "-o", f)...); args[0] != "policy" && (err != nil || out == "") {
				t.Errorf("gridbid %v -o %s: %v: %q", args, f, err, out)
			}
		}
	}
	if _, _, err := execute(newRootCommand(), "version", "-o", "csv"); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), "want table, json or yaml") {
		t.Errorf("version -o csv: %v", err)
	}
	if _, _, err := execute(newRootCommand(), "jobs", "-o", "jsn"); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), `did you mean "json"?`) {
		t.Errorf("jobs -o jsn: %v", err)
	}
}

func TestJobsAreFilteredOrderedAndCounted(t *testing.T) {
	at := liveAPI(t)
	for _, tc := range []struct{ args, want, note string }{
		{"", "train-1 train-2 train-3", ""},
		{"--site oslo", "train-1", ""},
		{"-l state=done,gpus>2", "train-3", ""},
		{"-l tenant!=vision --sort -gpus", "train-3 train-2", ""},
		{"--sort kwh", "train-1 train-3 train-2", ""},
		{"--limit 1", "train-1", "2 more jobs; --limit 0 shows all\n"},
		{"--limit 1 --quiet", "train-1", ""},
		{"--limit 0", "train-1 train-2 train-3", ""},
	} {
		out, stderr, err := execute(newRootCommand(), append([]string{"jobs", "--api", at, "-o", "name"}, strings.Fields(tc.args)...)...)
		if err != nil || strings.Join(strings.Fields(out), " ") != tc.want || stderr != tc.note {
			t.Errorf("jobs %s: %v: %q, said %q; want %q, %q", tc.args, err, out, stderr, tc.want, tc.note)
		}
	}
	// A tenant's name is no formula, and figures have all their digits.
	out, _, err := execute(newRootCommand(), "jobs", "--api", at, "-o", "csv")
	if err != nil || !strings.Contains(out, "train-2,'=cmd(),pending") || !strings.Contains(out, ",1.23456,") {
		t.Errorf("jobs -o csv: %v:\n%s", err, out)
	}
	if _, _, err := execute(newRootCommand(), "jobs", "--api", at, "--sort", "stat"); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), `did you mean "state" or`) {
		t.Errorf("jobs --sort stat: %v", err)
	}
}

// As kubectl does, a watch prints all once, and then what is new or different.
func TestAWatchPrintsChangesOnly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := 0
	at := serveAPI(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		state, heard := "pending", fmt.Sprintf("2026-03-11T14:00:%02dZ", asked)
		if asked > 2 {
			state = "running"
		}
		if asked > 4 {
			cancel()
		}
		_, _ = fmt.Fprintf(w, `[{"id":"a","name":"a","state":%q,"heard":%q},{"id":"b","name":"b","state":"pending","heard":%q}]`, state, heard, heard)
	})
	cmd := newRootCommand()
	cmd.SetContext(ctx)
	out, _, err := execute(cmd, "jobs", "--watch", "--every", "1ms", "--api", at)
	if lines := strings.Split(strings.TrimSpace(out), "\n"); err != nil || len(lines) != 4 || !strings.HasPrefix(lines[3], "a ") || !strings.Contains(lines[3], "running") {
		t.Errorf("jobs --watch: %v:\n%s\nwant the headings, two jobs, and one of them once more", err, out)
	}
}

// An answer, a decision and a chart are lists of figures for programs.
func TestFiguresHaveEveryFormat(t *testing.T) {
	run := ledgerOf(t, "auction")
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"ask", "how many jobs"}, "subject,name,value,unit,from\nrun,"},
		{[]string{"brief"}, "subject,name,value,unit,from\n"},
		{[]string{"why", "train-1"}, "subject,name,value,unit,from\nsite/oslo,"},
		{[]string{"chart", "day"}, "\n"},
		{[]string{"chart", "--list"}, "chart,shows\n"},
	} {
		for _, f := range printer.Formats() {
			out, _, err := execute(newRootCommand(), append(slices.Clone(tc.args), "--run", run, "-o", f)...)
			if err != nil || out == "" || f == "csv" && !strings.Contains(out, tc.want) || f == "json" && !json.Valid([]byte(out)) {
				t.Errorf("gridbid %v -o %s: %v:\n%s", tc.args, f, err, out)
			}
		}
	}
}

// Messages are lines of JSON, or a listing; a session of questions has one form for programs.
func TestMessagesAreListed(t *testing.T) {
	run := ledgerOf(t, "auction")
	for _, tc := range []struct{ args, want string }{
		{"-o csv", "message,at,kind,from,to,job\nagent/oslo:1,2022-04-13T12:00:00Z,"},
		{"-o table --kind award", "award  agent/oslo  train-1\n"},
		{"-o name --kind award", "coordinator:2\n"},
		{"-o yaml --kind award", "- at: "},
		{"-l kind=award", `{"kind":"award",`},
		{"--limit 1", "\n"},
	} {
		out, _, err := execute(newMessagesCommand(), append(strings.Fields(tc.args), "--run", run)...)
		if err != nil || !strings.Contains(out, tc.want) {
			t.Errorf("messages %s: %v:\n%s\nwant %q", tc.args, err, out, tc.want)
		}
	}
	var list []map[string]any
	out, _, err := execute(newMessagesCommand(), "-o", "json", "--run", run)
	if err = errors.Join(err, json.Unmarshal([]byte(out), &list)); err != nil || len(list) != len(smallRun()) {
		t.Errorf("messages -o json: %v, %d messages; want %d", err, len(list), len(smallRun()))
	}
	if out, stderr, err := execute(newMessagesCommand(), "--run", run, "--limit", "2"); err != nil || strings.Count(out, "\n") != 2 || !strings.Contains(stderr, "4 more messages; --limit 0 shows all") {
		t.Errorf("messages --limit 2: %v:\n%s\nsaid %q", err, out, stderr)
	}
	if _, _, err := execute(newChatCommand(), "-o", "csv", "--run", run); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), "json for a line per answer") {
		t.Errorf("chat -o csv: %v", err)
	}
}

// The figures of a replay, a row per policy.
func TestAReplayPrintsItsFiguresInEveryFormat(t *testing.T) {
	args := []string{"replay", "--policy", "auction,home-fifo", "--bus", "mem", "--max-jobs", "5", "--run", t.TempDir(), "--no-bound", "-q"}
	out, _, err := execute(newRootCommand(), append(slices.Clone(args), "-o", "csv")...)
	rows, fault := csv.NewReader(strings.NewReader(out)).ReadAll()
	if errors.Join(err, fault) != nil || len(rows) != 3 || rows[0][0] != "policy" || rows[1][0] != "auction" || rows[2][0] != "home-fifo" || !slices.Contains(rows[0], "carbon_kg") || !slices.Contains(rows[0], "wait_s_mean") {
		t.Errorf("replay -o csv: %v:\n%s", errors.Join(err, fault), out)
	}
	if _, _, err := execute(newRootCommand(), append(slices.Clone(args), "-o", "csv", "--json", "-")...); !errors.As(err, new(usageError)) {
		t.Errorf("replay -o csv --json -: %v; want bad input", err)
	}
}
