package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program itself is spoken to as a model's program does: lines of JSON on
// its standard input and output, and nothing else on either.
func TestMCPOverStandardInput(t *testing.T) {
	if os.Getenv("GRIDBID_TEST_MCP") != "" {
		root := newRootCommand()
		root.SetArgs([]string{"mcp", os.Getenv("GRIDBID_TEST_MCP")})
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	}
	ledger := filepath.Join(ledgerOf(t, "auction"), "auction.ledger")
	cmd := exec.Command(os.Args[0], "-test.run", "TestMCPOverStandardInput")
	cmd.Env = append(os.Environ(), "GRIDBID_TEST_MCP="+ledger)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	say := func(line string) (answer struct {
		Result map[string]any
		Error  any
	}) {
		t.Helper()
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		raw, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &answer); err != nil || answer.Error != nil {
			t.Fatalf("%s is answered with %s (%v)", line, raw, err)
		}
		return answer
	}
	say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	a := say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{"question":"summary"}}}`)
	raw, _ := json.Marshal(a.Result)
	if !strings.Contains(string(raw), "decisions") {
		t.Errorf("ask: %s", raw)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("at the end of input: %v; want it to end well", err)
	}
}
