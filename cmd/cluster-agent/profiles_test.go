package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/gridbid/gridbid/agents/runtimeest"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/protocol"
)

// Names that submitters give move no cursor where an operator reads them.
func TestNamesOfProfilesAreSafeToPrint(t *testing.T) {
	p := runtimeest.New(runtimeest.Config{})
	p.Learn(protocol.Job{Tenant: "a\x1b[2J\u009b2J\tb", Image: "x\u202ey", GPUs: 1, Share: 1000}, time.Hour, 0, protocol.Use{})
	for name, write := range map[string]func(io.Writer, []runtimeest.Row) error{"for people": printProfiles, "as JSON": func(to io.Writer, rows []runtimeest.Row) error { return tellJSON(to, rows) }} {
		var out strings.Builder
		err := write(&out, p.Rows())
		odd := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
		if err != nil || strings.ContainsFunc(out.String(), odd) || !strings.Contains(out.String(), "[2J") {
			t.Errorf("%s: %q, %v", name, out.String(), err)
		}
	}
}

func TestProfilesAreReadFromTheAgentsFacts(t *testing.T) {
	folder := t.TempDir()
	l, err := wal.Begin(filepath.Join(folder, "agent"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // the agent is running while its profiles are read
	mouth := protocol.Mouth{Who: "agent/oslo", Life: l.Life()}
	for range 20 {
		m := mouth.Say(1, "agent/oslo", protocol.Ran{
			Job: protocol.Job{Tenant: "vision", GPUs: 1, Share: 1000}, Lasted: time.Hour, Power: 250_000, Use: protocol.Use{GPU: 900, Memory: 2048},
		})
		if err := l.Append([]protocol.Message{m}); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := remembered(folder, 1)
	if err != nil || len(rows) != 4 {
		t.Fatalf("remembered = %+v, %v; want all, vision, and each of one shape", rows, err)
	}
	var out strings.Builder
	if err := printProfiles(&out, rows); err != nil || !strings.Contains(out.String(), "vision  all    gpu=1  20") || !strings.Contains(out.String(), "90 %") || !strings.Contains(out.String(), "2.0 GiB") {
		t.Errorf("it prints\n%s", out.String())
	}
	out.Reset()
	if err := tellJSON(&out, rows); err != nil || !strings.Contains(out.String(), `"p90_ns"`) {
		t.Errorf("as JSON %s, %v", out.String(), err)
	}
	if rows, err := remembered(folder, 21); err != nil || len(rows) != 0 {
		t.Errorf("of 21 runs or more: %+v, %v", rows, err)
	}
	if _, err := remembered(t.TempDir(), 1); err == nil || !strings.Contains(err.Error(), "has the agent run") {
		t.Errorf("of an empty folder: %v", err)
	}
}
