package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheckSaysWhatIsWrong(t *testing.T) {
	const right = "listen: 127.0.0.1:0\nnats: {url: \"nats://127.0.0.1:4222\"}\nlease: 3s\nmarket: {gather: 500ms, margin: 50, kappa: 80}\nlog: {format: json}\n"
	swap := func(old, new string) string { return strings.Replace(right, old, new, 1) }
	for _, c := range []struct {
		name, text, want string
		code             int
	}{
		{"all right", right, "is right", 0},
		{"an unknown key", right + "mraket: {}\n", ":6: mraket: unknown key", 2},
		{"no server", "listen: 127.0.0.1:0\n", "no NATS server is configured", 2},
		{"a server in clear", swap("127.0.0.1:4222", "10.0.0.1:4222"), "unencrypted", 2},
		{"open to others", swap("127.0.0.1:0", "0.0.0.0:7480"), "add tls: {cert: FILE, key: FILE} and credentials_file", 2},
		{"open to others in clear", swap("127.0.0.1:0", "0.0.0.0:7480") + "credentials_file: c.json\n", "add tls: {cert: FILE, key: FILE} to the configuration", 2},
		{"open to others without credentials", swap("127.0.0.1:0", "0.0.0.0:7480") + "tls: {cert: c.pem, key: c.key}\n", "add credentials_file", 2},
		{"a certificate that is not there", right + "tls: {cert: c.pem, key: c.key}\n", "tls: open", 2},
		{"half a certificate", right + "tls: {cert: c.pem}\n", "key", 2},
		{"a provider in clear", right + "oidc: {issuer: 'http://login.example', audience: gridbid, rules: [{value: ops, role: auditor}]}\n", "want https", 2},
		{"a provider that is not asked yet", right + "oidc: {issuer: 'https://login.example', audience: gridbid, rules: [{value: ops, role: auditor}]}\n", "is right", 0},
		{"a role of a provider that there is not", right + "oidc: {issuer: 'https://login.example', audience: gridbid, rules: [{value: ops, role: root}]}\n", "oidc/rules/0/role", 2},
		{"credentials that are not there", right + "credentials_file: none.json\n", "none.json", 2},
		{"half a second of lease", swap("3s", "1500ms"), "whole seconds", 2},
		{"a span in words", swap("500ms", "soon"), "time span", 2},
		{"a collector without a scheme", right + "traces: {endpoint: \"localhost:4318\"}\n", "want a URL", 2},
		{"a server that it runs and that is not there", right + "host: none.conf\n", "none.conf", 2},
		{"a level of its own", right + "", "log level", 2},
	} {
		var out bytes.Buffer
		args := []string{"--config", write(t, "c.yaml", c.text), "--check"}
		if c.want == "log level" {
			args = append(args, "--log-level", "loud")
		}
		if code := runCommand(args, &out); code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit %d, %s; want %d with %q", c.name, code, out.String(), c.code, c.want)
		}
	}
}

func TestFlagsWinOverTheEnvironmentAndBothOverTheFile(t *testing.T) {
	file := write(t, "c.yaml", "listen: 127.0.0.1:1\nnats: {url: \"nats://127.0.0.1:4222\"}\nlog: {level: error}\n")
	t.Setenv("GRIDBID_COORDINATOR_LISTEN", "0.0.0.0:2")
	var out bytes.Buffer
	if code := runCommand([]string{"--config", file, "--check"}, &out); code != 2 || !strings.Contains(out.String(), "0.0.0.0:2") {
		t.Errorf("the environment is not heard: %d %s", code, out.String())
	}
	out.Reset()
	if code := runCommand([]string{"--config", file, "--check", "--listen", "127.0.0.1:3"}, &out); code != 0 {
		t.Errorf("the flag does not win: %s", out.String())
	}
}

func TestTheMarketIsAsConfigured(t *testing.T) {
	c, err := loadConfig(write(t, "c.yaml", "market: {gather: 500ms, lease: 20s, margin: 50, kappa: 80, late: 3}\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := c.marketRules()
	if m.Gather != 500*time.Millisecond || m.Lease != 20*time.Second || m.Pay.Margin != 50 || m.Terms.Carbon != 80_000 || m.Terms.Late != 3_000_000 || m.Terms.WaitNow != 2_000_000 || m.Remember != 24*time.Hour {
		t.Errorf("configured %+v", m)
	}
	c, err = loadConfig(write(t, "c.yaml", "market: {preset: free-waiting, wait_standard: 0.002, wait_limit_hours: 1, late_most: 4}\n"))
	want := protocol.FreeWaitingWeights()
	want.WaitStandard, want.WaitLimit, want.LateMost = 2_000, time.Hour, 4_000_000
	if got := c.marketRules().Terms; err != nil || got != want {
		t.Errorf("weights %+v, %v; want %+v", got, err, want)
	}
	if _, err = loadConfig(write(t, "c.yaml", "market:\n  preset: cheap\n")); err == nil || !strings.Contains(err.Error(), "c.yaml:2: market/preset") {
		t.Errorf("an unknown preset: %v; want an error with file, line and key", err)
	}
	if c, err = loadConfig(write(t, "c.yaml", "market: {gather: 0s}\n")); err != nil || c.marketRules().Gather >= 0 {
		t.Errorf("a market that gathers none: %v, %v", c.marketRules().Gather, err)
	}
}

// A coordinator that is started from elsewhere finds its files, and what its page showed.
func TestPathsAreRelativeToTheConfiguration(t *testing.T) {
	file := write(t, "c.yaml", "archive: notes\ncredentials_file: people.json\nhost: hub.conf\nnats_file: nats.yaml\n")
	c, err := loadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{c.Archive, c.Credentials, c.Host, c.NATSFile} {
		if filepath.Dir(path) != filepath.Dir(file) {
			t.Errorf("%s is not beside %s", path, file)
		}
	}
}
