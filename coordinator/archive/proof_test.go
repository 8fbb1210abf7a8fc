package archive

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
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
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
)

// aRecord is the record of a market that heard two sites and a job of each of two tenants.
func aRecord(t *testing.T) (record []protocol.Message) {
	t.Helper()
	secret, _, err := note.GenerateKey(rand.Reader, "test/log")
	if err != nil {
		t.Fatal(err)
	}
	key, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	n := notary.New(notary.Config{Key: key, Salts: proof.SaltKey("secret")}, "{}")
	n.Surround(market.New(market.Config{}, n.ObserveRule(auction.New(auction.Config{}))))
	n.BeginIncarnation(1)
	now := protocol.Time(1_649_851_200_000)
	keep := func(out []protocol.Message) {
		record = append(record, out...)
		for _, m := range n.Events() {
			if m.From == protocol.LogWriter {
				record = append(record, m)
			}
		}
	}
	hear := func(from protocol.Party, seq uint64, b protocol.Body) {
		m := protocol.Message{Version: protocol.Current, At: now, From: from, Seq: seq, To: protocol.Coordinator, Body: b}
		record = append(record, m)
		keep(n.Step(now, m))
	}
	for _, site := range []string{"lyon", "oslo"} {
		hear(protocol.AgentParty(site), 1, protocol.RegisterSite{Site: site})
	}
	for i, tenant := range []string{"chem", "vision"} {
		hear(protocol.Submitter, uint64(i+1), protocol.Submit{Job: protocol.Job{ID: protocol.JobID("of-" + tenant), Tenant: tenant, CPU: 1000, Arrival: now, Run: time.Hour, Deadline: now.Add(9 * time.Hour)}})
	}
	for range 100 {
		now = n.Due()
		keep(n.Tick(now))
		if _, ok := record[len(record)-2].Body.(protocol.LogHead); ok {
			return record
		}
	}
	t.Fatal("there is no head in a hundred ticks")
	return nil
}

// Each gets its own and nothing of others, whatever the query names; an auditor may name anybody.
func TestWhoAsksForProofsGetsItsOwn(t *testing.T) {
	file, tokens := filepath.Join(t.TempDir(), "credentials.json"), make(map[string]string)
	var f rights.File
	for _, c := range []rights.Credential{{Name: "op", Role: rights.SiteOperator, Site: "oslo"}, {Name: "ten", Role: rights.Tenant, Tenant: "vision"}, {Name: "aud", Role: rights.Auditor}} {
		c.Expires = time.Now().Add(time.Hour)
		token, c, err := rights.NewCredential(c, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		f.Credentials, tokens[c.Name] = append(f.Credentials, c), token
	}
	text, err := json.Marshal(f)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	auth, err := rights.New(rights.Config{CredentialsFile: file, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	record := aRecord(t)
	h := rights.NewGuard(auth, log).Protect("GET /v1/proof", ProofHandler(func(context.Context) ([]protocol.Message, error) { return record, nil }))
	for _, tc := range []struct {
		who, query string
		code       int
		own, not   string // in what is shown
	}{
		{"op", "site=oslo", http.StatusOK, "agent/oslo", "agent/lyon"},
		{"op", "site=lyon", http.StatusForbidden, "", ""},
		{"op", "site=oslo&tenant=vision", http.StatusForbidden, "", ""},
		{"op", "site=oslo&party=submitter", http.StatusForbidden, "", ""},
		{"op", "tenant=vision", http.StatusForbidden, "", ""},
		{"ten", "tenant=vision", http.StatusOK, "of-vision", "of-chem"},
		{"ten", "tenant=vision&party=agent/oslo", http.StatusOK, "of-vision", "agent/oslo"},
		{"ten", "tenant=chem", http.StatusForbidden, "", ""},
		{"ten", "site=oslo", http.StatusForbidden, "", ""},
		{"ten", "party=submitter", http.StatusForbidden, "", ""},
		{"aud", "tenant=chem", http.StatusOK, "of-chem", "of-vision"},
		{"aud", "site=lyon", http.StatusOK, "agent/lyon", "agent/oslo"},
		{"aud", "", http.StatusForbidden, "", ""},
		{"", "site=oslo", http.StatusUnauthorized, "", ""},
	} {
		r := httptest.NewRequest(http.MethodGet, "https://hub/v1/proof?"+tc.query, nil)
		if tc.who != "" {
			r.Header.Set("Authorization", "Bearer "+tokens[tc.who])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tc.code {
			t.Errorf("%s asks for %q: %d %s; want %d", tc.who, tc.query, w.Code, w.Body, tc.code)
			continue
		}
		if tc.code != http.StatusOK {
			continue
		}
		text := textOf(t, w.Body)
		if !strings.Contains(text, tc.own) || strings.Contains(text, tc.not) || !strings.Contains(text, `"kind":"opened"`) {
			t.Errorf("%s asks for %q, and is shown\n%s", tc.who, tc.query, text)
		}
	}
}

// textOf returns a ledger as JSON, without what was told to all.
func textOf(t *testing.T, in io.Reader) string {
	t.Helper()
	r, err := wal.NewReader(in, "the answer")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for {
		m, err := r.ReadMessage()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if m.To == "" {
			continue
		}
		line, err := protocol.MessageJSON(m)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
}
