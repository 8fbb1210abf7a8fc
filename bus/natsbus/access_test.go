package natsbus

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/protocol"
)

// A pod that does not run as root reads a Secret of root's as one of its group: what its
// volume lets no other user read is a key that is kept secret.
func TestAKeyIsKeptFromWhoNeedNotReadIt(t *testing.T) {
	for mode, want := range map[fs.FileMode]struct{ ours, anothers bool }{
		0o600: {true, true}, 0o400: {true, true}, 0o440: {false, true}, 0o640: {false, true},
		0o660: {false, false}, 0o644: {false, false}, 0o604: {false, false}, 0o444: {false, false},
	} {
		if ours, anothers := isOwnerOnly(mode, true), isOwnerOnly(mode, false); ours != want.ours || anothers != want.anothers {
			t.Errorf("%#o is kept if it is ours: %v; if it is another's: %v", mode, ours, anothers)
		}
	}
}

// A Secret that is mounted gets a new key while its site runs. The site joins by it when
// it joins again.
func TestAKeyThatWasChangedInItsFileIsUsedAtTheNextJoin(t *testing.T) {
	dir := t.TempDir()
	conf, file := filepath.Join(dir, "nats.conf"), filepath.Join(dir, "oslo.nk")
	change := func() { // of the key, there and here
		t.Helper()
		seed, public, err := NewUserKey()
		if err != nil {
			t.Fatal(err)
		}
		text := "listen: 127.0.0.1:-1\naccounts { A { users: [{nkey: " + public + "}] } }\n"
		if err := errors.Join(os.WriteFile(conf, []byte(text), 0o600), os.WriteFile(file, seed, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	change()
	srv, err := ServeConfigFile(conf, Access{Seed: file})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	hub, err := Open(Access{URL: srv.ClientURL(), Seed: file})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		port, err := hub.Connect(t.Context(), protocol.AgentParty("oslo"))
		if err != nil {
			t.Fatal(err)
		}
		_ = port.Close()
		change()
		if err := srv.ReloadConfig(); err != nil {
			t.Fatal(err)
		}
	}
}

// A process that hosts a server and uses a key unknown to it gets an error that says so.
func TestAKeyThatTheServerOfThisProcessDoesNotKnowIsTold(t *testing.T) {
	dir := t.TempDir()
	conf, file := filepath.Join(dir, "nats.conf"), filepath.Join(dir, "oslo.nk")
	_, known, err := NewUserKey()
	if err != nil {
		t.Fatal(err)
	}
	seed, _, err := NewUserKey()
	if err != nil {
		t.Fatal(err)
	}
	text := "listen: 127.0.0.1:-1\nwrite_deadline: \"100ms\"\naccounts { A { users: [{nkey: " + known + "}] } }\n"
	if err := errors.Join(os.WriteFile(conf, []byte(text), 0o600), os.WriteFile(file, seed, 0o600)); err != nil {
		t.Fatal(err)
	}
	srv, err := ServeConfigFile(conf, Access{Seed: file})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	_, joined := srv.Connect(t.Context(), protocol.AgentParty("oslo"))
	_, connected := srv.RawConn(protocol.Coordinator)
	for _, err := range []error{joined, connected} {
		if !errors.Is(err, nats.ErrAuthorization) && (err == nil || !strings.Contains(err.Error(), "key")) {
			t.Errorf("the error is %v", err)
		}
	}
}
