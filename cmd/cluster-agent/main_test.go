package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A simulated site has a program of its own: the error says which, and names the
// line that asks for it. Its tools only read, and read such a configuration too.
func TestASimulatedSiteIsRefusedWithItsLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.yaml")
	text := "site: oslo\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\nsimulate: {scenario: six-regions, as: hydro-north}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--config", file, "--check"}, {"--config", file}} {
		var out strings.Builder
		if code := runCommand(args, &out); code != 2 || !strings.Contains(out.String(), "agent.yaml:4: simulate: ") || !strings.Contains(out.String(), "run `gridbid site --config FILE`") {
			t.Errorf("cluster-agent %v = %d, %s", args, code, out.String())
		}
	}
	var out strings.Builder
	if code := runCommand([]string{"profiles", "--config", file}, &out); code != 1 || !strings.Contains(out.String(), "run the agent with this configuration first") {
		t.Errorf("cluster-agent profiles = %d, %s", code, out.String())
	}
}
