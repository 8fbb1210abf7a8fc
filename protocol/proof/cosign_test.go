package proof

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"golang.org/x/mod/sumdb/note"

	"github.com/gridbid/gridbid/protocol"
)

// newLog returns the key of a log, and a new site key.
func newLogAndSite(t *testing.T) (note.Signer, note.Verifier, PartyKey) {
	t.Helper()
	secret, public, err := note.GenerateKey(nil, "hub.example/log")
	if err != nil {
		t.Fatal(err)
	}
	s, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	k, err := ReadPartyKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	return s, v, k
}

// A cosigned head is read by whom the log's key and the site's are known, and by nobody else; who reads plain heads
// reads it, too.
func TestACosignedHeadIsSignedByBoth(t *testing.T) {
	s, log, oslo := newLogAndSite(t)
	otherLog, otherVerifier, lyon := newLogAndSite(t)
	h := Head{7, protocol.Hash(encodeHash(make([]byte, 32)))}
	text, err := SignHead(s, h)
	if err != nil {
		t.Fatal(err)
	}
	both, err := CosignHead(log, text, "oslo", oslo, time.Unix(1_800_000_000, 0))
	if err != nil || strings.Count(both, "\n— ") != 2 {
		t.Fatalf("%v: %s", err, both)
	}
	if got, err := OpenCosigned(log, both, "oslo", []string{lyon.Public, oslo.Public}); err != nil || got != h {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := OpenHead(log, both); err != nil || got != h {
		t.Errorf("as a plain head: %+v, %v", got, err)
	}
	again, err := CosignHead(log, both, "lyon", lyon, time.Unix(1_800_000_001, 0))
	for site, k := range map[string]PartyKey{"oslo": oslo, "lyon": lyon} {
		if _, err2 := OpenCosigned(log, again, site, []string{k.Public}); site == "lyon" && (err != nil || err2 != nil) {
			t.Errorf("cosigned once more: %v, %v", err, err2)
		}
	}
	forged, err := SignHead(otherLog, h)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ text, site, key string }{
		"not cosigned": {text, "oslo", oslo.Public}, "another site's name": {both, "lyon", oslo.Public}, "another key": {both, "oslo", lyon.Public}, "no key": {both, "oslo", "U"},
		"altered": {strings.Replace(both, "\n7\n", "\n8\n", 1), "oslo", oslo.Public}, "another log": {forged, "oslo", oslo.Public},
	} {
		if h, err := OpenCosigned(log, c.text, c.site, []string{c.key}); err == nil {
			t.Errorf("%s: read as %+v", what, h)
		}
	}
	if _, err := CosignHead(otherVerifier, text, "oslo", oslo, time.Now()); err == nil {
		t.Error("a head of another log is cosigned")
	}
}

func FuzzCosigned(f *testing.F) {
	f.Add("hub.example/log\n7\nAAAA\n\n— hub.example/log AAAA\n— oslo AAAA\n")
	_, v, err := note.GenerateKey(nil, "hub.example/log")
	if err != nil {
		f.Fatal(err)
	}
	log, err := note.NewVerifier(v)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if h, err := OpenCosigned(log, text, "oslo", []string{"UABC"}); err == nil {
			t.Errorf("%q is read as %+v", text, h)
		}
	})
}
