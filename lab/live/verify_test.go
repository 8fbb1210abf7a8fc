package live

import (
	"crypto/rand"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/gridbid/gridbid/coordinator/notary"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/verify"
)

// logKey is the key of the coordinators' log.
var logKey, logVerifier = func() (note.Signer, note.Verifier) {
	secret, public, err := note.GenerateKey(rand.Reader, "live.test/log")
	if err != nil {
		panic(err)
	}
	s, err := note.NewSigner(secret)
	if err != nil {
		panic(err)
	}
	v, err := note.NewVerifier(public)
	if err != nil {
		panic(err)
	}
	return s, v
}()

// verifyAll verifies the log of coordinators that took over from each other, from their archives:
// each site with what it holds, and an auditor, who runs all clearings again.
func verifyAll(t *testing.T, held map[string]string, archives ...string) {
	t.Helper()
	var record []protocol.Message
	for _, folder := range archives {
		record = append(record, written(t, folder)...)
	}
	others := make(map[string][]protocol.Message)
	for site, folder := range held {
		others[site] = written(t, folder)
	}
	a := verify.CheckRecord(verify.RecordInput{Log: logVerifier, Record: record, Others: others})
	show(t, "the auditor", a)
	if a.Rounds < 20 || a.Heads < 20 || a.Entries < 500 {
		t.Errorf("the auditor checked %d rounds, %d heads and %d entries", a.Rounds, a.Heads, a.Entries)
	}
	for site := range held {
		who := protocol.AgentParty(site)
		shown, err := notary.OpenFor(notary.Reader{Party: who}, record)
		if err != nil {
			t.Fatal(err)
		}
		r := verify.CheckParty(verify.PartyInput{Party: who, Log: logVerifier, Held: others[site], Shown: shown, Others: others})
		show(t, site, r)
		if r.Receipts < 10 || r.Entries < 100 {
			t.Errorf("%s checked %d receipts and %d entries", site, r.Receipts, r.Entries)
		}
	}
}

func show(t *testing.T, who string, r verify.Report) {
	t.Helper()
	for _, f := range r.Findings {
		t.Errorf("%s: %s", who, f)
	}
	for _, n := range r.Notes {
		t.Logf("%s: note: %s", who, n)
	}
}
