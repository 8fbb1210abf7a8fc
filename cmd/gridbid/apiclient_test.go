package main

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A coordinator with TLS is asked by the authority of its context, with the credential of the
// environment, which goes to nobody to whom it might be answered on.
func TestTheAPIIsAskedOverTLS(t *testing.T) {
	const token = "0123456789abcdef"
	t.Setenv("GRIDBID_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	t.Setenv("GRIDBID_API", "")
	t.Setenv("GRIDBID_TOKEN", token)
	var heard []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another server is asked, with %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard = append(heard, r.Header.Get("Authorization"))
		if r.URL.Path == "/v1/events" {
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
			return
		}
		_, _ = w.Write([]byte(`[{"name": "oslo"}]`))
	}))
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := execute(newRootCommand(), "sites", "--api", server.URL); err == nil || !strings.Contains(err.Error(), "certificate") || len(heard) > 0 {
		t.Errorf("an unknown authority: %v; heard %q", err, heard)
	}
	if _, _, err := execute(newRootCommand(), "config", "set-context", "hub", "--api", server.URL, "--ca", ca); err != nil {
		t.Fatal(err)
	}
	if out, _, err := execute(newRootCommand(), "sites", "-o", "name"); err != nil || out != "oslo\n" || len(heard) != 1 || heard[0] != "Bearer "+token {
		t.Errorf("sites: %v: %s; heard %q", err, out, heard)
	}
	if _, _, err := execute(newRootCommand(), "events"); err == nil {
		t.Error("an answer of another server is taken")
	}
}

// A credential does not travel in clear, and no error has it.
func TestACredentialIsNotSentInClear(t *testing.T) {
	t.Setenv("GRIDBID_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	for token, want := range map[string]string{"0123456789abcdef": "https://192.0.2.1:7480", "of two\nlines": "one line"} {
		t.Setenv("GRIDBID_TOKEN", token)
		_, _, err := execute(newRootCommand(), "sites", "--api", "192.0.2.1:7480")
		if !errors.As(err, new(usageError)) || strings.Contains(err.Error(), token) || want != "one line" && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", token, err, want)
		}
	}
}

func TestWhoamiSaysWhoAsks(t *testing.T) {
	t.Setenv("GRIDBID_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	for answer, want := range map[string]string{
		`{"name": "ci", "roles": ["tenant"], "tenant": "team-a", "source": "token", "expires": "2027-01-31T00:00:00Z"}`: "tenant  team-a",
		`{"name": "this machine", "roles": ["tenant", "auditor"], "source": "loopback"}`:                                "has no credentials",
	} {
		at := serveAPI(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) })
		if out, _, err := execute(newRootCommand(), "whoami", "--api", at); err != nil || !strings.Contains(out, want) {
			t.Errorf("whoami: %v: %s; want %s", err, out, want)
		}
	}
}
