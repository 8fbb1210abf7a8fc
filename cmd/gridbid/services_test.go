package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
)

// A replayed run lists its services as they stood at an instant, and says why.
func TestServicesOfARunAreListedAndExplained(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	file := "../../scenarios/acceptance/s1-stuck-replicas-go-where-room-is.yaml"
	if _, _, err := execute(newReplayCommand(), file, "--policy", "auction", "--no-bound", "--run", run); err != nil {
		t.Fatal(err)
	}
	show := func(args ...string) string {
		t.Helper()
		cmd := newServicesCommand()
		if args[0] == "why" {
			cmd, args = newWhyCommand(), args[1:]
		}
		out, _, err := execute(cmd, append(args, "--run", run)...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := show("--at", "2026-01-05T00:11:00Z"); !strings.Contains(out, "m1 5 (2 run), m2 3, m3 2") {
		t.Errorf("while three wait:\n%s", out)
	}
	var rows []jobstatus.Service
	if err := json.Unmarshal([]byte(show("-o", "json")), &rows); err != nil {
		t.Fatal(err)
	}
	last := rows[len(rows)-1]
	if last.Service != "llm" || last.Running != 10 || last.Pending != 0 || len(last.Sites) != 3 || last.Why != "rescheduled" {
		t.Errorf("at the end: %+v", rows)
	}
	out := strings.Join(strings.Fields(show("why", "llm", "--at", "2026-01-05T00:11:00Z")), " ")
	for _, want := range []string{"llm wants 10 replicas, and 7 run: 2 at m1, 3 at m2 and 2 at m3.", "At m1, 3 replicas have found no node since 5 Jan 00:10."} {
		if !strings.Contains(out, want) {
			t.Errorf("why at 00:11 lacks %q:\n%s", want, out)
		}
	}
	if _, _, err := execute(newWhyCommand(), "lm", "--run", run); err == nil {
		t.Error("a name that is neither a job nor a service is explained")
	}
}
