package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/history/tenantview"
	"github.com/gridbid/gridbid/protocol"
)

// What tenants ask about their own affairs is answered, to an admin of the whole record and to each tenant of its
// own part, in which no other tenant and no other job is named.
func TestQuestionsAboutOnesOwnAffairsAreAnswered(t *testing.T) {
	whole := t.TempDir()
	if _, stderr, err := execute(newRootCommand(), "replay", filepath.Join("testdata", "rights.yaml"), "--policy", "auction", "--bus", "mem", "--no-bound", "--run", whole); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	var all []protocol.Message
	ledgers, err := filepath.Glob(filepath.Join(whole, "*.ledger*"))
	if err != nil || len(ledgers) != 1 {
		t.Fatalf("ledgers %v, %v", ledgers, err)
	}
	ledger, err := wal.OpenReader(ledgers[0])
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	for m, err := ledger.ReadMessage(); err != io.EOF; m, err = ledger.ReadMessage() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	own := map[string]string{"admin": whole}
	for _, tenant := range []string{"vision", "speech", "rival"} {
		own[tenant] = t.TempDir()
		w, err := wal.CreateFile(filepath.Join(own[tenant], "auction.ledger"), map[string]string{"policy": "auction"})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range tenantview.Of(all, func(of string) bool { return of == tenant }) {
			if err := w.AppendMessage(m); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	const lent, taken = "2026-01-05T00:10:00Z", "2026-01-05T00:30:00Z"
	for _, c := range []struct{ who, at, question, want string }{
		{"admin", taken, "why was I preempted", "the room was lent, and its owner needs it (lent to speech, guaranteed to vision); the room went to job vision-2"},
		{"speech", taken, "why was I preempted", "speech-3: At 5 Jan 00:20 its run at east was preempted: the room was lent, and its owner needs it"},
		{"vision", taken, "why was I preempted", "No award in this record was given up"},

		{"admin", lent, "who holds the room I am entitled to", "speech holds 3 beyond its guarantee"},
		{"vision", lent, "who holds the room I am entitled to", "Of what is guaranteed 5 GPUs are not used"},
		{"vision", lent, "who holds the room I am entitled to", "what others hold is not in it. A job that needs what it is guaranteed gets it back"},
		{"speech", lent, "who holds the room I am entitled to", "speech holds 3 beyond its guarantee"},

		{"admin", lent, "what is left of vision's quota", "vision 6 8 1 5 0"},
		{"vision", lent, "what is left of my quota", "vision 6 8 1 5 0"},
		{"vision", taken, "what is left of my quota", "vision 6 8 6 0 0"},
		{"rival", taken, "what is left of my quota", "rival 1 2 1 0 0"},

		{"admin", taken, "what would it cost to start now", "3 jobs wait; 3 have an offer."},
		{"rival", taken, "what would it cost to start now", "1 job waits; 1 has an offer. job start site cost decision rival-2"},
		{"vision", taken, "what would it cost to start now", "0 jobs wait"},

		{"admin", "", "what did I pay and to whom", "was paid to sites"},
		{"admin", "", "what did vision pay and to whom", "east 2 3.6154 kWh"},
		{"vision", "", "what did I pay and to whom", "east 2 3.6154 kWh"},
		{"rival", "", "what did I pay and to whom", "west 2"},

		{"admin", "", "why did east refuse rival-1", "the site's terms refuse it (east does not serve rival)"},
		{"rival", "", "why did east refuse me", "rival-1 east D-9 the site's terms refuse it (east does not serve rival)"},
		{"rival", "", "why did this site refuse me", "rival-2 east"},
		{"vision", "", "why did west refuse me", "no node of the site is large enough"},
	} {
		args := []string{"ask", c.question, "--run", own[c.who]}
		if c.at != "" {
			args = append(args, "--at", c.at)
		}
		text, stderr, err := execute(newRootCommand(), args...)
		if text = strings.Join(strings.Fields(text), " "); err != nil || !strings.Contains(text, c.want) {
			t.Errorf("%s asks %q: %v %s\n%s\nwant %q", c.who, c.question, err, stderr, text, c.want)
		}
		others := regexp.MustCompile(`vision|speech|rival`).FindAllString(strings.ReplaceAll(text+stderr, os.TempDir(), ""), -1)
		for _, other := range others {
			if c.who != "admin" && other != c.who {
				t.Errorf("%s asks %q and reads of %s:\n%s", c.who, c.question, other, text)
			}
		}
	}
}
