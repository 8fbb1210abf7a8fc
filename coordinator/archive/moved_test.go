package archive

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/protocol"
)

// Older ledgers may be moved away; those that come after are read after the rest.
func TestLedgersAreReadInTheirOrderAfterOlderOnesWereMovedAway(t *testing.T) {
	day, folder := historytest.GenerateDay(10, 10*time.Minute), t.TempDir()
	var log bytes.Buffer
	for i := range 5 {
		if i == 4 {
			all, _ := filepath.Glob(filepath.Join(folder, "*.ledger"))
			for _, path := range all[:2] {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
		}
		n := open(t, folder, &log)
		n.RecordSent(day[10*i:10*i+10], nil)
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	n := open(t, folder, &log)
	defer n.Close()
	same(t, read(t, n, 30), day[20:50])
}

// Clocks that are some seconds apart put no accept before its award, no submission after
// what was decided on it and no settlement before its report.
func TestFactsStayInTheOrderOfTheBooks(t *testing.T) {
	say := func(from protocol.Party, seq uint64, at protocol.Time, b protocol.Body) protocol.Message {
		return protocol.Message{From: from, Seq: seq, At: at, Body: b}
	}
	var kinds []string
	for _, m := range orderBySender([]protocol.Message{
		say("agent/oslo", 2, 200, protocol.RegisterSite{Site: "oslo"}), say("agent/lyon", 9, 200, protocol.RegisterSite{Site: "lyon"}), // of a summary
		say(protocol.Submitter, 1, 105, protocol.Submit{Job: protocol.Job{ID: "a"}}),
		say(protocol.Coordinator, 1, 100, protocol.Award{Job: "a", Epoch: 1}),
		say("agent/oslo", 1, 95, protocol.Accept{Job: "a", Epoch: 1}),
		say("agent/oslo", 3, 120, protocol.UsageReport{Job: "a", Epoch: 1}),
		say(protocol.Coordinator, 2, 110, protocol.Settlement{Job: "a"}),
	}) {
		kinds = append(kinds, m.KindName())
	}
	if got, want := strings.Join(kinds, " "), "hello submit award accept hello done settled"; got != want {
		t.Errorf("told: %s; want %s", got, want)
	}
}

// A start that was killed before it wrote, or found no room, leaves a ledger in which
// nothing stands; one whose machine lost power, perhaps one of zeros.
func TestALedgerInWhichNothingStandsIsPassedOver(t *testing.T) {
	day, folder := historytest.GenerateDay(10, 10*time.Minute), t.TempDir()
	var log bytes.Buffer
	for i, text := range [][]byte{nil, make([]byte, 100_000)} {
		n := open(t, folder, &log)
		n.RecordSent(day[10*i:10*i+10], nil)
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(folder, []string{"00002", "00004"}[i]+"-20260311T000000.ledger")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n := open(t, folder, &log)
	defer n.Close()
	n.RecordSent(day[20:30], nil)
	same(t, read(t, n, 30), day[:30])
}
