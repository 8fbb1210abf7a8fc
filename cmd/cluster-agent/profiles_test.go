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
	p.LearnRun(protocol.Job{Tenant: "a\x1b[2J\u009b2J\tb", Image: "x\u202ey", GPUs: 1, Share: 1000}, time.Hour, 0, protocol.Utilization{})
	for name, write := range map[string]func(io.Writer, []runtimeest.ProfileRow) error{"for people": printProfiles, "as JSON": func(to io.Writer, rows []runtimeest.ProfileRow) error { return writeJSON(to, rows) }} {
		var out strings.Builder
		err := write(&out, p.ProfileRows())
		odd := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
		if err != nil || strings.ContainsFunc(out.String(), odd) || !strings.Contains(out.String(), "[2J") {
			t.Errorf("%s: %q, %v", name, out.String(), err)
		}
	}
}

func TestProfilesAreReadFromTheAgentsLog(t *testing.T) {
	folder := t.TempDir()
	l, err := wal.OpenFileLog(filepath.Join(folder, "agent"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // the agent is running while its profiles are read
	sender := protocol.Sender{Party: "agent/oslo", Incarnation: l.Incarnation()}
	for range 20 {
		m := sender.NewMessage(1, "agent/oslo", protocol.CompletedRun{
			Job: protocol.Job{Tenant: "vision", GPUs: 1, Share: 1000}, Lasted: time.Hour, Power: 250_000, Use: protocol.Utilization{GPU: 900, Memory: 2048},
		})
		if err := l.AppendEvents([]protocol.Message{m}); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := rememberedProfiles(folder, 1)
	if err != nil || len(rows) != 4 {
		t.Fatalf("remembered = %+v, %v; want all, vision, and each of one shape", rows, err)
	}
	var out strings.Builder
	if err := printProfiles(&out, rows); err != nil || !strings.Contains(out.String(), "vision  all    gpu=1  20") || !strings.Contains(out.String(), "90 %") || !strings.Contains(out.String(), "2.0 GiB") {
		t.Errorf("it prints\n%s", out.String())
	}
	out.Reset()
	if err := writeJSON(&out, rows); err != nil || !strings.Contains(out.String(), `"p90_ns"`) {
		t.Errorf("as JSON %s, %v", out.String(), err)
	}
	if rows, err := rememberedProfiles(folder, 21); err != nil || len(rows) != 0 {
		t.Errorf("of 21 runs or more: %+v, %v", rows, err)
	}
	if _, err := rememberedProfiles(t.TempDir(), 1); err == nil || !strings.Contains(err.Error(), "run the agent with this configuration") {
		t.Errorf("of an empty folder: %v", err)
	}
}
