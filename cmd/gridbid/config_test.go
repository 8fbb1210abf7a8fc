package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFlagGoesBeforeTheEnvironmentAndThatBeforeTheContext(t *testing.T) {
	answer := func(name string) string {
		return serveAPI(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`[{"name":"` + name + `"}]`)) })
	}
	byFlag, byEnvironment, byContext, other := answer("by-flag"), answer("by-environment"), answer("by-context"), answer("other")
	home := t.TempDir()
	t.Setenv("GRIDBID_CONFIG", "")
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GRIDBID_API", "")
	gridbid := func(want string, args ...string) {
		t.Helper()
		out, stderr, err := execute(newRootCommand(), args...)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("gridbid %v: %v: %s%s; want %s", args, err, out, stderr, want)
		}
	}
	gridbid("context north is set, and is the current one", "config", "set-context", "north", "--api", byContext, "--output", "name")
	gridbid("the current one is north", "config", "set-context", "south", "--api", other)
	gridbid("by-context\n", "sites")
	gridbid("other", "sites", "--context", "south")
	gridbid("SITE", "sites", "-o", "table") // the flag, and not the context's output
	gridbid("by-flag\n", "sites", "--api", byFlag)
	t.Setenv("GRIDBID_API", byEnvironment)
	gridbid("by-environment\n", "sites")
	gridbid("by-flag\n", "sites", "--api", byFlag)
	t.Setenv("GRIDBID_OUTPUT", "json")
	gridbid(`"name": "by-environment"`, "sites")
	t.Setenv("GRIDBID_OUTPUT", "")
	t.Setenv("GRIDBID_API", "")
	gridbid("the current context is south", "config", "use-context", "south")
	gridbid("other", "sites")
	t.Setenv("GRIDBID_CONTEXT", "north")
	gridbid("by-context", "sites")
	t.Setenv("GRIDBID_CONTEXT", "")
	gridbid("current-context: south", "config", "view")
	gridbid("context south is gone; none is the current one now", "config", "delete-context", "south")
	gridbid("north", "config", "get-contexts", "-o", "name")
	file := filepath.Join(home, "gridbid", "config.yaml")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v; want it readable by its owner only", file, info.Mode(), err)
	}
	// A file that others could read is closed to them when it is written again.
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	gridbid("north", "config", "use-context", "north")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("written again, it is %v, %v", info.Mode(), err)
	}
}

func TestWrongConfigurationsAreExplained(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	t.Setenv("GRIDBID_CONFIG", file)
	t.Setenv("GRIDBID_API", "")
	for _, tc := range []struct {
		text string
		args []string
		want string
	}{
		{"", []string{"sites", "--context", "north"}, `gridbid config set-context north --api HOST:PORT`},
		{"contexts: {north: {}}\n", []string{"sites", "--context", "nort"}, `did you mean "north"?`},
		{"contexts: {north: {}}\n", []string{"config", "use-context", "norht"}, `did you mean "north"?`},
		{"contexts: {north: {}}\n", []string{"config", "delete-context", "south"}, `there is only "north"`},
		{"contexts:\n  north:\n    adress: x\n", []string{"sites"}, "config.yaml:3: contexts/north/adress: unknown key"},
		{"current-context: north\n", []string{"sites"}, `no context "north"`},
		{"", []string{"config", "set-context", "north", "--api", "http://127.0.0.1:7480"}, "want HOST:PORT"}, {"", []string{"config", "set-context", "north", "--api", "https://127.0.0.1"}, "want HOST:PORT"},
		{"", []string{"config", "set-context", "north", "--output", "xml"}, "want table"},
	} {
		if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := execute(newRootCommand(), tc.args...); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q, %v: %v; want %s", tc.text, tc.args, err, tc.want)
		}
		if now, err := os.ReadFile(file); err != nil || string(now) != tc.text {
			t.Errorf("%v changed the file: %v: %s", tc.args, err, now)
		}
	}
}
