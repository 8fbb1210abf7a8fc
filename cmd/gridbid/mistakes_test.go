package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever mistypes a word reads which one was meant.
func TestMistypedWordsAreNamed(t *testing.T) {
	run := ledgerOf(t, "auction", "home-fifo")
	for want, args := range map[string][]string{
		`unknown command "replya" (did you mean "replay"?)`:            {"replya"},
		`unknown command "repaly" (did you mean "replay"?)`:            {"repaly", "--policy", "x"},
		`unknown command "jbos" (did you mean "jobs"?)`:                {"jbos", "--watch"},
		`unknown command "lst" (did you mean "list"?); see `:           {"scenario", "lst"},
		`unknown command "add-sit" (did you mean "add-site"`:           {"federation", "add-sit", "--dir", "x"},
		`unknown flag --polcy (did you mean "--policy"?)`:              {"replay", "--polcy", "x"},
		`unknown flag --colour`:                                        {"replay", "--colour"},
		`unknown policy "aution" (did you mean "auction" or "auction-`: {"replay", "--policy", "aution"},
		`unknown signals "perfct" (did you mean "perfect"?)`:           {"replay", "--policy", "auction/perfct"},
		`no scenario "six-region" (did you mean "six-regions"?)`:       {"replay", "six-region"},
		`no ledger of policy "home-fif" (did you mean "home-fifo"?)`:   {"why", "train-1", "--run", run, "--policy", "home-fif"},
		`no messages of kind "awrad" (did you mean "award"?)`:          {"messages", "--run", run, "--kind", "awrad"},
		`no messages of kind "foo": the kinds are accept, `:            {"messages", "--run", run, "--kind", "foo"},
	} {
		if _, _, err := execute(newRootCommand(), args...); !errors.As(err, new(usageError)) || !strings.Contains(legibleError(err), want) {
			t.Errorf("gridbid %v: %v; want %s", args, err, want)
		}
	}
}

// A wrong number of arguments is answered by a sentence with the usage.
func TestAMissingArgumentIsNamed(t *testing.T) {
	for want, args := range map[string][]string{
		"gridbid job needs ID: the usage is `gridbid job ID`; see `gridbid job --help`":                                  {"job"},
		"gridbid why needs JOB | D-14 | SERVICE: the usage is `gridbid why JOB | D-14 | SERVICE`":                        {"why"},
		"gridbid why takes JOB | D-14 | SERVICE, and got 2 arguments: the usage":                                         {"why", "a", "b"},
		"gridbid version takes no argument, and got \"x\": the usage is `gridbid version`":                               {"version", "x"},
		"gridbid sites remove needs SITE: the usage is `gridbid sites remove SITE --lost`":                               {"sites", "remove"},
		"gridbid policy say needs SENTENCE: the usage is `gridbid policy say SENTENCE`; see `gridbid policy say --help`": {"policy", "say"},
	} {
		if _, _, err := execute(newRootCommand(), args...); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("gridbid %v: %v; want %s", args, err, want)
		}
	}
}

// No error that a user of the command line can bring about names a package.
func TestErrorsNameNoPackages(t *testing.T) {
	dir := t.TempDir()
	odd := filepath.Join(dir, "odd.yaml")
	if err := os.WriteFile(odd, []byte("colour: red\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(dir, "none")
	for _, args := range [][]string{
		{"replay", "nowhere"}, {"replay", odd}, {"scenario", "check", odd, odd}, {"replay", "--window", none}, {"replay", "--jobs", none},
		{"messages", none}, {"messages", odd}, {"why", "x", "--run", none}, {"ask", "late jobs", "--run", none}, {"page", none}, {"bound", "--check", none},
		{"federation", "show", "--dir", none}, {"federation", "add-site", "Oslo!", "--dir", none}, {"site", "--config", odd}, {"submit", "-f", odd},
		{"placement", "--nodes", none, "--pods", none}, {"policy", "apply", "p-x"}, {"up", "--traces", "x"}, {"up", "--listen", "0.0.0.0:1"},
	} {
		_, _, err := execute(newRootCommand(), args...)
		if err == nil {
			t.Errorf("gridbid %v worked", args)
			continue
		}
		for line := range strings.Lines(legibleError(err)) {
			first, _, _ := strings.Cut(line, ":")
			for _, name := range []string{"spec", "scenarios", "wal", "federation", "api", "why", "ask", "messages", "page", "mcp", "policy", "bound", "trace", "natsbus", "placement", "packing", "site", "program", "yamlschema", "telemetry", "cluster-agent", "attack", "submit"} {
				if first == name {
					t.Errorf("gridbid %v: %s", args, line)
				}
			}
		}
	}
}

func TestVersionsNameTheCommit(t *testing.T) {
	was := commit
	defer func() { commit = was }()
	commit = "0123456789abcdef"
	short, _, err := execute(newRootCommand(), "--version")
	long, _, err2 := execute(newRootCommand(), "version")
	if errors.Join(err, err2) != nil || short != long || !strings.HasPrefix(short, "gridbid ") || !strings.Contains(short, "commit ") || !strings.Contains(short, "protocol 3") {
		t.Errorf("--version: %q, version: %q; %v", short, long, errors.Join(err, err2))
	}
}

func TestQuietLeavesOnlyTheResult(t *testing.T) {
	args := []string{"replay", "--policy", "auction", "--bus", "mem", "--max-jobs", "10", "--run", t.TempDir(), "--no-bound"}
	out, stderr, err := execute(newRootCommand(), append(args, "--quiet")...)
	if err != nil || !strings.Contains(out, "auction") || strings.Contains(stderr, "notes on") || strings.Contains(stderr, "Next") || strings.Contains(stderr, "replaying") {
		t.Errorf("replay --quiet: %v:\n%s%s", err, stderr, out)
	}
	_, stderr, err = execute(newRootCommand(), args...)
	for _, want := range []string{"notes on what was assumed", "Next:", "gridbid ask 'summary'", "chat", "gridbid page"} {
		if err != nil || !strings.Contains(stderr, want) {
			t.Errorf("replay: %v: it does not say %q:\n%s", err, want, stderr)
		}
	}
}

func TestScenariosAreListedWithWhatTheyAre(t *testing.T) {
	out, _, err := execute(newRootCommand(), "scenario", "list", "--data", t.TempDir())
	if err != nil || !strings.Contains(out, "2026-03-11  not needed") || !strings.Contains(out, "2022-12-24  missing") || !strings.Contains(out, "Winter storm Elliott") {
		t.Errorf("scenario list: %v:\n%s", err, out)
	}
	out, _, err = execute(newRootCommand(), "scenario", "list", "--data", t.TempDir(), "-l", "data!=missing", "-o", "name")
	if err != nil || out != "six-regions\n" {
		t.Errorf("scenarios that can be replayed without data: %v: %q", err, out)
	}
}

// Each command has its page, and the same build writes the same bytes.
func TestTheManualHasAPagePerCommand(t *testing.T) {
	read := func() map[string]string {
		dir := t.TempDir()
		if _, _, err := execute(newRootCommand(), "man", "--folder", dir); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "man1", "*.1"))
		if err != nil {
			t.Fatal(err)
		}
		pages := make(map[string]string)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pages[filepath.Base(file)] = string(text)
		}
		return pages
	}
	a, b := read(), read()
	for _, name := range []string{"gridbid.1", "gridbid-replay.1", "gridbid-config-set-context.1", "gridbid-policy-say.1"} {
		if !strings.Contains(a[name], ".SH SYNOPSIS") || a[name] != b[name] {
			t.Errorf("%s: %d bytes, then %d; want a page, and the same again", name, len(a[name]), len(b[name]))
		}
	}
}
