package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/coordinator/rights/oidctest"
)

// A person signs in at a real provider by the device flow; commands then ask in their name, and
// renew the token. Nothing prints it, and only its owner can read it.
func TestLoginByTheDeviceFlow(t *testing.T) {
	home := t.TempDir()
	t.Setenv("GRIDBID_CONFIG", filepath.Join(home, "config.yaml"))
	t.Setenv("GRIDBID_TOKEN", "")
	p := oidctest.Start(t, "team-a-members")
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	auth, err := rights.New(rights.Config{Log: log, OIDC: &rights.OIDCConfig{
		Issuer: p.Issuer, Audience: oidctest.DeviceID, Rules: []rights.OIDCRule{{Value: "team-a-members", Role: rights.Tenant, Tenant: "team-a"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	desk := api.New()
	desk.GuardBy(rights.NewGuard(auth, log))
	at := serveAPI(t, desk.HTTPHandler().ServeHTTP)

	login := func(answer func(code string) error) (said, out string, err error) {
		cmd := newRootCommand()
		cmd.SetArgs([]string{"login", "--api", at})
		read, write := io.Pipe()
		var printed bytes.Buffer
		cmd.SetOut(&printed)
		cmd.SetErr(write)
		ended := make(chan error, 1)
		go func() { ended <- cmd.ExecuteContext(t.Context()); write.Close() }()
		line := make([]byte, 4096)
		n, _ := read.Read(line)
		said = string(line[:n])
		code := regexp.MustCompile(`enter the code (\S+)`).FindStringSubmatch(said)
		if code == nil {
			return said, "", <-ended
		}
		if err := answer(code[1]); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(read)
		return said + string(rest), printed.String(), <-ended
	}
	if _, _, err := login(p.Deny); err == nil || !strings.Contains(err.Error(), "you are not signed in: access_denied") {
		t.Errorf("denied: %v", err)
	}
	said, out, err := login(p.Approve)
	if err != nil || !strings.Contains(out, "tenant  team-a") || !strings.Contains(out, "by      oidc") {
		t.Fatalf("login: %v: %s%s", err, said, out)
	}
	u, _ := url.Parse("http://" + at)
	path, err := sessionPath(u)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the session's file: %v, %v", info, err)
	}
	s, err := readSession(path)
	if err != nil || s.Token == "" || s.Refresh == "" {
		t.Fatalf("the session: %v, %v", s.Login, err)
	}
	// About to expire: it is renewed.
	was := s
	s.Expires = time.Now()
	if err := s.write(path); err != nil {
		t.Fatal(err)
	}
	who, stderr, err := execute(newRootCommand(), "whoami", "--api", at, "-o", "json")
	var principal rights.Principal
	if err != nil || json.Unmarshal([]byte(who), &principal) != nil || principal.Tenant != "team-a" {
		t.Errorf("whoami: %v: %s", err, who)
	}
	now, _ := readSession(path)
	if time.Until(now.Expires) < time.Minute || now.Refresh == "" {
		t.Errorf("the session was not renewed: until %v", now.Expires)
	}
	// A renewal that the provider refuses says what to do, and not the token.
	s.Refresh, s.Expires = "guess-"+was.Token, time.Now()
	if err := s.write(path); err != nil {
		t.Fatal(err)
	}
	_, _, refused := execute(newRootCommand(), "whoami", "--api", at)
	if refused == nil || !strings.Contains(refused.Error(), "gridbid login") {
		t.Errorf("a refused renewal: %v", refused)
		refused = io.EOF
	}
	for _, secret := range []string{was.Token, was.Refresh, now.Token, now.Refresh} {
		if text := said + out + who + stderr + logged.String() + refused.Error(); strings.Contains(text, secret) {
			t.Errorf("a secret is in %s", text)
		}
	}
	if _, _, err := execute(newRootCommand(), "logout", "--api", at); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("signed out, and the session is still there")
	}
}

func TestLoginWithoutAProvider(t *testing.T) {
	t.Setenv("GRIDBID_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
	at := serveAPI(t, api.New().HTTPHandler().ServeHTTP)
	if _, _, err := execute(newRootCommand(), "login", "--api", at); err == nil || !strings.Contains(err.Error(), "no tokens of an OIDC provider") {
		t.Errorf("login: %v", err)
	}
}
