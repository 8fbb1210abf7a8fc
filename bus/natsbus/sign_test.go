package natsbus

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/gridbid/gridbid/protocol"
)

// Who has a key signs what binds it, as it arrives; other messages stay as they are.
func TestWhoHasAKeySignsWhatBinds(t *testing.T) {
	dir := t.TempDir()
	conf, file := filepath.Join(dir, "nats.conf"), filepath.Join(dir, "oslo.nk")
	seed, public, err := NewUserKey()
	if err != nil {
		t.Fatal(err)
	}
	text := "listen: 127.0.0.1:-1\naccounts { A { users: [{nkey: " + public + "}] } }\n"
	if err := errors.Join(os.WriteFile(conf, []byte(text), 0o600), os.WriteFile(file, seed, 0o600)); err != nil {
		t.Fatal(err)
	}
	srv, err := ServeConfigFile(conf, Access{Seed: file})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	hub, err := Open(Access{URL: srv.ClientURL(), Seed: file})
	if err != nil {
		t.Fatal(err)
	}
	market, err := hub.Connect(t.Context(), protocol.Coordinator)
	if err != nil {
		t.Fatal(err)
	}
	defer market.Close()
	oslo, err := hub.Connect(t.Context(), protocol.AgentParty("oslo"))
	if err != nil {
		t.Fatal(err)
	}
	defer oslo.Close()
	me := protocol.Sender{Party: protocol.AgentParty("oslo")}
	bids := me.NewMessage(1, protocol.Coordinator, protocol.Bids{Round: 9})
	if err := oslo.Send(t.Context(), bids, me.NewMessage(1, protocol.Coordinator, protocol.Started{Job: "a"})); err != nil {
		t.Fatal(err)
	}
	got, other := <-market.Messages(), <-market.Messages()
	key, err := nkeys.FromPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	want, err := bids.Digest()
	if err != nil || got.Signature == nil || got.Signature.Digest != want {
		t.Fatalf("the signature is %v, %v; want one of %x", got.Signature, err, want)
	}
	if err := key.Verify(want[:], got.Signature.Value[:]); err != nil {
		t.Error(err)
	}
	if other.Signature != nil {
		t.Error("a message that binds nobody is signed")
	}
}
