package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/archive"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/protocol"
)

// serveRecord serves the record of a coordinator, which the test may change, and returns its
// address.
func serveRecord(t *testing.T, record *[]protocol.Message, leads bool) string {
	t.Helper()
	h := archive.RecordHandler(func(context.Context) ([]protocol.Message, error) { return *record, nil }, func() bool { return leads })
	return serveAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != recordPath {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// The record of a standby is what it recorded while it led, and who reads it is told; without a
// record, and from a server that is no coordinator, the error says what to do.
func TestAReaderIsToldWhoseRecordItReads(t *testing.T) {
	day := historytest.GenerateDay(10, 10*time.Minute)
	var nothing []protocol.Message
	other := serveAPI(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	for _, c := range []struct {
		at, want string
	}{
		{serveRecord(t, &day, true), ""},
		{serveRecord(t, &day, false), "stands by: its record ends where it last led"},
		{serveRecord(t, &nothing, false), "has no record"},
		{other, "does not serve its record"},
		{"127.0.0.1:1", "no coordinator answers at 127.0.0.1:1"},
		{"http://127.0.0.1:1", "want HOST:PORT"},
	} {
		out, stderr, err := execute(newMessagesCommand(), "--api", c.at)
		said := stderr
		if err != nil {
			said += err.Error()
		}
		if !strings.Contains(said, c.want) || c.want == "" && said != "" || (out == "") != (err != nil) {
			t.Errorf("the record of %s: %v, %q, %d bytes; want %q", c.at, err, stderr, len(out), c.want)
		}
	}
}

// That no coordinator answers is no mistake in the command: exit code 1, as of every live command.
func TestADeadCoordinatorIsNoMistakeOfTheUser(t *testing.T) {
	for _, args := range [][]string{{"jobs"}, {"messages"}, {"ask", "which sites are silent"}, {"why", "job-1"}, {"brief"}} {
		_, stderr, code := runProgram(t, append(args, "--api", "127.0.0.1:1")...)
		if code != 1 || !strings.Contains(stderr, "no coordinator answers at 127.0.0.1:1") {
			t.Errorf("%v: exit code %d, %q; want 1 and that no coordinator answers", args, code, stderr)
		}
	}
}

// Who has set where live commands go reads ledgers on disk all the same, unless --live is given.
func TestAnAddressInTheEnvironmentIsNoWishToReadIt(t *testing.T) {
	day := historytest.GenerateDay(10, 10*time.Minute)
	t.Setenv("GRIDBID_API", serveRecord(t, &day, true))
	t.Chdir(t.TempDir())
	if _, _, err := execute(newMessagesCommand()); err == nil || !strings.Contains(err.Error(), "--live") {
		t.Errorf("without a run: %v; want the ledger on disk missed, and --live named", err)
	}
	if out, _, err := execute(newMessagesCommand(), "--live"); err != nil || out == "" {
		t.Errorf("--live: %v", err)
	}
}

// A session about a running coordinator reads its record again when that has grown, and only then.
func TestChatFollowsARunningCoordinator(t *testing.T) {
	day := historytest.GenerateDay(10, 10*time.Minute)
	record, read := day[:5], 0
	inner := archive.RecordHandler(func(context.Context) ([]protocol.Message, error) { return record, nil }, func() bool { return true })
	at := serveAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			read++
		}
		inner.ServeHTTP(w, r)
	})
	s := chatSession{from: recordSource{path: "http://" + at + recordPath}, out: io.Discard, diagnostics: io.Discard}
	for _, step := range []struct{ messages, want int }{{5, 1}, {5, 1}, {9, 2}, {9, 2}} {
		record = day[:step.messages]
		if err := s.rereadLedger(t.Context()); err != nil || read != step.want {
			t.Errorf("with %d messages it was read %d times, %v; want %d", step.messages, read, err, step.want)
		}
	}
}
