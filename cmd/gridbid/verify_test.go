package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/gridbid/gridbid/bus/natsbus"
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
	seedFile := filepath.Join(dir, "oslo.nk")
	seed, public, err := natsbus.NewUserKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(seedFile, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	siteKey, err := proof.ReadPartyKey(seed)
	if err != nil {
		t.Fatal(err)
	}
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
		if from == oslo {
			held = append(held, m)
			data, err := protocol.AppendSigned(nil, m, siteKey.Sign)
			if err == nil {
				m, err = protocol.Decode(data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		record = append(record, m)
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
	logKey := filepath.Join(dir, "log.pub")
	mine := writeLedger(t, filepath.Join(dir, "held.ledger"), held)
	verify := func(name string, wantCode int, want string) {
		t.Helper()
		all := writeLedger(t, filepath.Join(dir, name+"-record.ledger"), record)
		site := writeLedger(t, filepath.Join(dir, name+"-site.ledger"), shownTo(notary.Reader{Party: oslo}))
		for _, args := range [][]string{{"record", all}, {"site", "oslo", "--held", mine, "--shown", site}} {
			out, errs, code := runProgram(t, append([]string{"verify", "--log-key", logKey}, args...)...)
			if code != wantCode || !strings.Contains(out, want) {
				t.Errorf("%s, verify %s: exit code %d\n%s%s", name, args[0], code, out, errs)
			}
		}
	}
	verify("honest", 0, "all that was checked agrees")
	tenant := writeLedger(t, filepath.Join(dir, "tenant.ledger"), shownTo(notary.Reader{Tenant: "vision"}))
	if out, errs, code := runProgram(t, "verify", "tenant", "vision", "--log-key", logKey, "--shown", tenant, "--other", "oslo="+mine, "-o", "json"); code != 0 || !strings.Contains(out, `"findings": []`) && !strings.Contains(out, `"findings": null`) {
		t.Errorf("the tenant: exit code %d\n%s%s", code, out, errs)
	}
	// The site cosigns its newest head once all agrees, and a tenant compares it with what it is shown.
	head, site := filepath.Join(dir, "oslo.head"), filepath.Join(dir, "honest-site.ledger")
	if out, errs, code := runProgram(t, "verify", "site", "oslo", "--log-key", logKey, "--held", mine, "--shown", site, "--key", seedFile, "--cosign", head); code != 0 {
		t.Fatalf("--cosign: exit code %d\n%s%s", code, out, errs)
	}
	compare := func(key string) (string, string, int) {
		return runProgram(t, "verify", "tenant", "vision", "--log-key", logKey, "--shown", tenant, "--cosigned", "oslo="+head, "--other-key", "oslo="+key)
	}
	if out, errs, code := compare(public); code != 0 || strings.Contains(out, "cosigned a head") {
		t.Errorf("--cosigned: exit code %d\n%s%s", code, out, errs)
	}
	if _, errs, code := compare(newPublicKey(t)); code != 2 || !strings.Contains(errs, "did not cosign the head") {
		t.Errorf("cosigned by another key: exit code %d\n%s", code, errs)
	}
	if _, errs, code := runProgram(t, "verify", "site", "oslo", "--log-key", logKey, "--held", mine, "--shown", site, "--key", public, "--cosign", head+"2"); code != 2 || !strings.Contains(errs, "seed") {
		t.Errorf("--cosign without a seed: exit code %d\n%s", code, errs)
	}
	// A majority of one site is there, of two it is not.
	majority := []string{"verify", "tenant", "vision", "--log-key", logKey, "--shown", tenant, "--majority", "--cosigned", "oslo=" + head, "--other-key", "oslo=" + public}
	if out, errs, code := runProgram(t, majority...); code != 0 || !strings.Contains(out, "1 of 1 sites agree on the first") {
		t.Errorf("--majority: exit code %d\n%s%s", code, out, errs)
	}
	if out, _, code := runProgram(t, append(majority, "--other-key", "bern="+newPublicKey(t))...); code != 1 || !strings.Contains(out, "majority: of 2 sites 1 cosigned a head that you hold, which is no majority; missing: bern") {
		t.Errorf("--majority of two: exit code %d\n%s", code, out)
	}
	if out, errs, code := runProgram(t, append([]string{"verify", "record", filepath.Join(dir, "honest-record.ledger"), "--log-key", logKey}, majority[6:]...)...); code != 0 || !strings.Contains(out, "1 of 1 sites agree on the first") {
		t.Errorf("record --majority: exit code %d\n%s%s", code, out, errs)
	}
	if _, errs, code := runProgram(t, "verify", "tenant", "vision", "--log-key", logKey, "--shown", tenant, "--majority"); code != 2 || !strings.Contains(errs, "--other-key SITE=KEY") {
		t.Errorf("--majority without keys: exit code %d\n%s", code, errs)
	}
	for i, m := range record {
		if b, ok := m.Body.(protocol.Bids); ok {
			b.Jobs = []protocol.JobBids{{Job: "a", Options: []protocol.BidOption{{Start: now, Finish: now.Add(time.Hour), Energy: 5, Money: 71_000}}}}
			record[i].Body = b
		}
	}
	verify("lying", 1, "is not what the log has there")
	if _, _, code := runProgram(t, "verify", "site", "oslo", "--log-key", logKey, "--held", mine, "--shown", filepath.Join(dir, "lying-site.ledger"), "--key", seedFile, "--cosign", head+"3"); code != 1 {
		t.Errorf("a lying coordinator: exit code %d", code)
	}
	if _, err := os.Stat(head + "3"); err == nil {
		t.Error("a head is cosigned of a log that does not agree")
	}
}

// newPublicKey returns a public key that signed nothing.
func newPublicKey(t *testing.T) string {
	t.Helper()
	_, public, err := natsbus.NewUserKey()
	if err != nil {
		t.Fatal(err)
	}
	return public
}
