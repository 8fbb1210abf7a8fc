package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/coordinator/notary"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
)

// A key that the command makes is one that it reads; what is wrong with flags is said before
// anything is asked.
func TestVerifyKeysAndFlags(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "log.key")
	if out, errs, code := runProgram(t, "verify", "new-key", key, "--name", "north/log"); code != 0 || !strings.Contains(out, "log.pub") {
		t.Fatalf("new-key: %d %s %s", code, out, errs)
	}
	if is, err := os.Stat(key); err != nil || is.Mode().Perm() != 0o600 {
		t.Errorf("the key is readable by others: %v, %v", is.Mode(), err)
	}
	if _, _, code := runProgram(t, "verify", "new-key", key); code == 0 {
		t.Error("a key that exists is written over")
	}
	public := filepath.Join(dir, "log.pub")
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"record", "--log-key", public}, "which record?"},
		{[]string{"record", dir, "--log-key", public}, "has no ledgers"},
		{[]string{"record", dir, "--log-key", filepath.Join(dir, "none")}, "no such file"},
		{[]string{"record", dir, "--log-key", "a+b+c"}, "NAME+HASH+KEY"},
		{[]string{"record", dir, "--log-key", key}, "NAME+HASH+KEY"},
		{[]string{"record", dir, "--log-key", public, "--party", "oslo"}, "PARTY=KEY"},
		{[]string{"record", dir, "--log-key", public, "--party", "agent/oslo=nonsense"}, "public key"},
		{[]string{"site", "oslo", "--log-key", public}, "held"},
		{[]string{"site", "oslo", "--log-key", public, "--held", dir}, "has no ledgers"},
		{[]string{"tenant", "vision", "--log-key", public, "--shown", filepath.Join(dir, "none")}, "no such file"},
	} {
		if _, errs, code := runProgram(t, append([]string{"verify"}, tc.args...)...); code != 2 || !strings.Contains(errs, tc.want) {
			t.Errorf("verify %q: exit code %d, %s; want 2 and %q", tc.args, code, errs, tc.want)
		}
	}
}

// writeLedger writes a ledger of messages.
func writeLedger(t *testing.T, file string, all []protocol.Message) string {
	t.Helper()
	w, err := wal.CreateFile(file, map[string]string{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if err := w.AppendMessage(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// A site, a tenant and an auditor verify an honest coordinator; of one that altered a bid after its
// receipt the site and the auditor are told by which check it is found.
func TestVerifyTellsAnHonestCoordinatorFromALiar(t *testing.T) {
	dir := t.TempDir()
	if _, errs, code := runProgram(t, "verify", "new-key", filepath.Join(dir, "log.key")); code != 0 {
		t.Fatal(errs)
	}
	text, err := os.ReadFile(filepath.Join(dir, "log.key"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := note.NewSigner(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	n := notary.New(notary.Config{Key: key, Salts: proof.SaltKey("secret")}, "{}")
	n.Surround(market.New(market.Config{}, n.ObserveRule(auction.New(auction.Config{}))))
	n.BeginIncarnation(1)
	oslo, now, seq := protocol.AgentParty("oslo"), protocol.Time(1_649_851_200_000), uint64(0)
	var record, held []protocol.Message
	keep := func(out []protocol.Message) {
		for _, m := range n.Events() {
			if m.From == protocol.LogWriter {
				record = append(record, m)
			}
		}
		record = append(record, out...)
		for _, m := range out {
			if oslo.ShouldReceive(m) {
				held = append(held, m)
			}
		}
	}
	hear := func(from protocol.Party, b protocol.Body) {
		seq++
		m := protocol.Message{Version: protocol.Current, At: now, From: from, Seq: seq, To: protocol.Coordinator, Body: b}
		if record = append(record, m); from == oslo {
			held = append(held, m)
		}
		keep(n.Step(now, m))
	}
	hear(oslo, protocol.RegisterSite{Site: "oslo"})
	hear(protocol.Submitter, protocol.Submit{Job: protocol.Job{ID: "a", Tenant: "vision", CPU: 1000, Arrival: now, Run: time.Hour, Deadline: now.Add(9 * time.Hour)}})
	now = n.Due()
	keep(n.Tick(now))
	hear(oslo, protocol.Bids{Round: 1, Jobs: []protocol.JobBids{{Job: "a", Options: []protocol.BidOption{{Start: now, Finish: now.Add(time.Hour), Energy: 5, Money: 17_000}}}}})
	shownTo := func(who notary.Reader) []protocol.Message {
		shown, err := notary.OpenFor(who, record)
		if err != nil {
			t.Fatal(err)
		}
		return shown
	}
	public := filepath.Join(dir, "log.pub")
	mine := writeLedger(t, filepath.Join(dir, "held.ledger"), held)
	verify := func(name string, wantCode int, want string) {
		t.Helper()
		all := writeLedger(t, filepath.Join(dir, name+"-record.ledger"), record)
		site := writeLedger(t, filepath.Join(dir, name+"-site.ledger"), shownTo(notary.Reader{Party: oslo}))
		for _, args := range [][]string{{"record", all}, {"site", "oslo", "--held", mine, "--shown", site}} {
			out, errs, code := runProgram(t, append([]string{"verify", "--log-key", public}, args...)...)
			if code != wantCode || !strings.Contains(out, want) {
				t.Errorf("%s, verify %s: exit code %d\n%s%s", name, args[0], code, out, errs)
			}
		}
	}
	verify("honest", 0, "all that was checked agrees")
	tenant := writeLedger(t, filepath.Join(dir, "tenant.ledger"), shownTo(notary.Reader{Tenant: "vision"}))
	if out, errs, code := runProgram(t, "verify", "tenant", "vision", "--log-key", public, "--shown", tenant, "--other", "oslo="+mine, "-o", "json"); code != 0 || !strings.Contains(out, `"findings": []`) && !strings.Contains(out, `"findings": null`) {
		t.Errorf("the tenant: exit code %d\n%s%s", code, out, errs)
	}
	for i, m := range record {
		if b, ok := m.Body.(protocol.Bids); ok {
			b.Jobs = []protocol.JobBids{{Job: "a", Options: []protocol.BidOption{{Start: now, Finish: now.Add(time.Hour), Energy: 5, Money: 71_000}}}}
			record[i].Body = b
		}
	}
	verify("lying", 1, "is not what the log has there")
}
