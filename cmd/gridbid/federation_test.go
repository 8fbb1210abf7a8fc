package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/cluster-agent/program"
	"github.com/gridbid/gridbid/protocol"
)

func TestFederationByCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fed")
	do := func(args ...string) (c federationChange, err error) {
		t.Helper()
		var out bytes.Buffer
		root := newRootCommand()
		root.SetOut(&out)
		root.SetArgs(append(append([]string{"federation"}, args...), "--dir", dir, "--json"))
		if err = root.ExecuteContext(t.Context()); err == nil {
			if err := json.Unmarshal(out.Bytes(), &c); err != nil {
				t.Fatalf("%v: %s", err, out.Bytes())
			}
		}
		return c, err
	}
	must := func(args ...string) federationChange {
		t.Helper()
		c, err := do(args...)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return c
	}
	must("init", "--host", "127.0.0.1", "--listen", "127.0.0.1")
	oslo := must("add-site", "oslo")
	for _, args := range [][]string{
		{"init", "--host", "h"}, {"init"}, {"init", "--host", "a,b,c"}, {"add-site", "oslo"}, {"add-site", "Oslo"}, {"add-site", "bern", "--key", oslo.Keys[0]},
		{"revoke-site", "rome"}, {"rotate"}, {"rotate", "rome"}, {"rotate", "oslo", "--server"}, {"rotate", "oslo", "--retire", "--key", "U"},
		{"rotate", "--server", "--key", "U"},
	} {
		if _, err := do(args...); err == nil {
			t.Errorf("%v worked", args)
		}
	}
	for _, args := range [][]string{{"add-site", "oslo"}, {"add-site", "Oslo"}, {"add-site", "bern", "--key", "U"}} {
		if _, err := do(args...); !errors.As(err, new(usageError)) {
			t.Errorf("%v is no usage error: %v", args, err)
		}
	}
	if c := must("rotate", "oslo"); len(c.Keys) != 2 || len(c.Files) != 1 || len(c.Next) != 2 || !strings.HasSuffix(c.Next[1], " --retire --dir "+dir) {
		t.Errorf("rotated: %+v", c)
	}
	if c := must("rotate", "oslo", "--retire"); len(c.Keys) != 1 || c.Keys[0] == oslo.Keys[0] {
		t.Errorf("retired: %+v", c)
	}
	// Who is told that a known key was ended would leave it open.
	if c, err := do("rotate", "oslo", "--retire"); !errors.As(err, new(usageError)) {
		t.Errorf("retired the only key, or nothing: %+v, %v", c, err)
	}
	if _, err := do("revoke-site", "olso"); err == nil || !strings.Contains(err.Error(), `did you mean "oslo"?`) {
		t.Errorf("a misspelt site: %v", err)
	}
	must("rotate", "--server")
	// What was written is what a server and a site start with.
	access := natsbus.Access{URL: "tls://127.0.0.1:4222", CA: "ca.pem", Seed: "oslo-2.nk"}.ResolvePaths(filepath.Join(dir, "sites", "oslo"))
	if err := access.Validate(); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(access.Seed, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := access.Validate(); err == nil {
		t.Error("took a key that others may read")
	}
	vision := must("add-tenant", "vision")
	if len(vision.Keys) != 1 || len(vision.Next) != 1 || !strings.Contains(vision.Next[0], "gridbid submit --nats "+filepath.Join(dir, "tenants", "vision", "nats.yaml")) {
		t.Errorf("added a tenant: %+v", vision)
	}
	for _, args := range [][]string{{"add-tenant", "vision"}, {"add-tenant", "oslo"}, {"add-tenant", "Vision"}, {"revoke-tenant", "rome"}, {"revoke-tenant", "tap"}, {"revoke-site", "vision"}} {
		if _, err := do(args...); err == nil {
			t.Errorf("%v worked", args)
		}
	}
	if c := must("rotate", "vision"); len(c.Keys) != 2 || !strings.HasSuffix(c.Files[0], filepath.Join("tenants", "vision", "vision-2.nk")) {
		t.Errorf("rotated: %+v", c)
	}
	if c := must("revoke-tenant", "vision"); len(c.Keys) != 2 {
		t.Errorf("revoked: %+v", c)
	}
	must("revoke-site", "oslo")
	if _, err := os.Stat(filepath.Join(dir, "revoked", "oslo-1", "oslo.nk")); err != nil {
		t.Error(err)
	}
}

// A site's configuration is one that its program reads, and a hub is open to this machine alone
// unless its operator says otherwise.
func TestWhatAFederationWritesIsReadByItsPrograms(t *testing.T) {
	for listen, want := range map[string]string{"": `listen: "127.0.0.1:4222"`, "0.0.0.0": `listen: "0.0.0.0:4222"`} {
		dir := filepath.Join(t.TempDir(), "fed")
		run := func(args ...string) string {
			t.Helper()
			out, _, err := execute(newFederationCommand(), append(args, "--dir", dir)...)
			if err != nil {
				t.Fatalf("%v: %v", args, err)
			}
			return out
		}
		said := run("init", "--listen", listen)
		hub, err := os.ReadFile(filepath.Join(dir, "hub", "hub.conf"))
		if err != nil || !strings.Contains(string(hub), want) {
			t.Errorf("--listen %q: %v; want %s in\n%s", listen, err, want, hub)
		}
		if strings.Contains(said, "no other machine reaches") != (listen == "") || !strings.Contains(said, "next: coordinator --config "+filepath.Join(dir, "coordinator", "coordinator.yaml")) {
			t.Errorf("init --listen %q said\n%s", listen, said)
		}
		if said := run("add-site", "oslo"); !strings.Contains(said, "cluster-agent --config "+filepath.Join(dir, "sites", "oslo", "agent.yaml")) || strings.Contains(said, "confidential") != (listen != "") {
			t.Errorf("add-site said\n%s", said)
		}
		run("add-site", "lyon", "--simulate", "six-regions", "--as", "wind-coast")
		for site, simulated := range map[string]bool{"oslo": false, "lyon": true} {
			c, err := program.LoadConfig("test", filepath.Join(dir, "sites", site, "agent.yaml"))
			if err != nil || (c.Simulate != nil) != simulated || (c.Kubernetes != nil) == simulated || c.Site != site || filepath.Dir(c.Folder) != filepath.Join(dir, "sites", site) {
				t.Errorf("%s: %v: %+v", site, err, c)
			}
		}
		for _, args := range [][]string{{"rome", "--simulate", "six-regions"}, {"rome", "--simulate", "nowhere"}, {"rome", "--as", "wind-coast"}} {
			if _, _, err := execute(newFederationCommand(), append([]string{"add-site", "--dir", dir}, args...)...); !errors.As(err, new(usageError)) {
				t.Errorf("add-site %v: %v", args, err)
			}
		}
	}
}

// A disk that was full when a site was shut out leaves the rules of before. Whoever
// tries again has them written, though the site is none any more.
func TestWhatAFullDiskLeftIsMended(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fed")
	do := func(args ...string) error {
		_, _, err := execute(newFederationCommand(), append(args, "--dir", dir)...)
		return err
	}
	rules := filepath.Join(dir, "hub", "accounts.conf")
	err := errors.Join(do("init", "--host", "127.0.0.1"), do("add-site", "oslo"),
		os.Rename(rules, rules+".kept"), os.Mkdir(rules, 0o700)) // no file takes its place
	if err != nil {
		t.Fatal(err)
	}
	if err := do("revoke-site", "oslo"); err == nil {
		t.Error("shut out, and the hub does not know")
	}
	if err := errors.Join(os.Remove(rules), os.Rename(rules+".kept", rules)); err != nil {
		t.Fatal(err)
	}
	_ = do("revoke-site", "oslo")
	if text, err := os.ReadFile(rules); err != nil || strings.Contains(string(text), "SITE-oslo") {
		t.Errorf("%v: the hub lets oslo in:\n%s", err, text)
	}
}

func TestNothingCrossesTheNetworkInClear(t *testing.T) {
	for _, url := range []string{"", "nats://hub.example.org:4222", "ws://hub:1", "http://hub", "hub:4222"} {
		if hub, err := natsbus.Open(natsbus.Access{URL: url}); err == nil {
			t.Errorf("opened %q", url)
			_, _ = hub.Connect(t.Context(), protocol.Coordinator)
		}
	}
}
