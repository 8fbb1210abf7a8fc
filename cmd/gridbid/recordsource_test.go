package main

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/coordinator/archive"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/protocol"
)

// writeDay writes messages as the ledger of a run, and returns its folder.
func writeDay(t *testing.T, day []protocol.Message) string {
	t.Helper()
	dir := t.TempDir()
	w, err := wal.CreateFile(filepath.Join(dir, "auction.ledger"), map[string]string{"policy": "auction"})
	for _, m := range day {
		err = errors.Join(err, w.AppendMessage(m))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// csvRows returns the rows that a command prints as CSV, without the heading.
func csvRows(t *testing.T, args ...string) [][]string {
	t.Helper()
	out, _, err := execute(newRootCommand(), args...)
	rows, fault := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err = errors.Join(err, fault); err != nil || len(rows) == 0 {
		t.Fatalf("gridbid %v: %v:\n%s", args, err, out)
	}
	return rows[1:]
}

// Every reader reads a ledger and a running coordinator by the same flags, and both as they stood at
// an instant: what was sent later is not known then.
func TestEveryReaderStandsAtAnInstant(t *testing.T) {
	day := historytest.GenerateDay(20, 10*time.Minute)
	half := historytest.Midnight.Add(91 * time.Minute)
	until := half.String()
	arrived, sent := 0, 0
	for _, m := range day {
		if m.At > half {
			continue
		}
		sent++
		if _, is := m.Body.(protocol.Submit); is {
			arrived++
		}
	}
	if arrived == 0 || arrived == 20 {
		t.Fatalf("%d of 20 jobs had arrived at %s", arrived, until)
	}
	for name, from := range map[string][]string{"a ledger": {"--run", writeDay(t, day)}, "a coordinator": {"--api", serveRecord(t, &day, true)}} {
		cut := append(slices.Clone(from), "--at", until)
		with := func(args []string, more ...string) []string {
			return append(append(slices.Clone(args), more...), cut...)
		}
		if out, _, err := execute(newRootCommand(), with([]string{"messages"})...); err != nil || strings.Count(out, "\n") != sent {
			t.Errorf("%s: messages --at: %v, %d lines; want %d", name, err, strings.Count(out, "\n"), sent)
		}
		if n := len(csvRows(t, with([]string{"export", "--table", "jobs"})...)); n != arrived {
			t.Errorf("%s: export --at has %d jobs; want %d", name, n, arrived)
		}
		if n := len(csvRows(t, with([]string{"jobs", "-o", "csv", "--limit", "0"})...)); n != arrived {
			t.Errorf("%s: jobs --at has %d jobs; want %d", name, n, arrived)
		}
		if n := len(csvRows(t, with([]string{"sites", "-o", "csv"})...)); n != len(historytest.SiteNames) {
			t.Errorf("%s: sites --at has %d sites; want %d", name, n, len(historytest.SiteNames))
		}
		rows := csvRows(t, with([]string{"ask", "how many jobs"}, "-o", "csv")...)
		if !slices.ContainsFunc(rows, func(r []string) bool { return r[2] == strconv.Itoa(arrived) }) {
			t.Errorf("%s: ask --at how many jobs: %v; want %d", name, rows, arrived)
		}
		if _, _, err := execute(newRootCommand(), with([]string{"why", "job-00019"})...); !errors.Is(err, errUnknownJob) {
			t.Errorf("%s: why --at of a job that had not come: %v", name, err)
		}
		if out, _, err := execute(newRootCommand(), with([]string{"job", "job-00001"})...); err != nil || !strings.Contains(out, "gridbid why job-00001 "+strings.Join(cut, " ")) {
			t.Errorf("%s: job --at: %v:\n%s\nwant the command that explains it, of the same record", name, err, out)
		}
		if out, _, err := execute(newRootCommand(), with([]string{"chart", "day"}, "-o", "csv")...); err != nil || out == "" {
			t.Errorf("%s: chart day --at: %v", name, err)
		}
		for _, args := range [][]string{{"brief"}, {"events"}, {"auctions"}, {"top"}, {"policy", "show"}} {
			if out, _, err := execute(newRootCommand(), with(args)...); err != nil || out == "" {
				t.Errorf("%s: %v --at: %v", name, args, err)
			}
		}
		// A year too many is not the end of the record.
		if _, _, err := execute(newRootCommand(), append([]string{"why", "job-00001", "--at", "2036-03-11T01:00:00Z"}, from...)...); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), "is not in the record, which goes from 2026-03-11") {
			t.Errorf("%s: why --at ten years later: %v", name, err)
		}
	}
	for want, args := range map[string][]string{
		"such as 2026-03-11T13:45:00Z": {"ask", "late jobs", "--at", "noon"},
		"stands still":                 {"sites", "--watch", "--at", until},
		"name two records":             {"page", "some.ledger", "--live"},
	} {
		if _, _, err := execute(newRootCommand(), args...); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("gridbid %v: %v; want %q", args, err, want)
		}
	}
}

// A command that goes on, as page and mcp do, reads on as a running coordinator's record grows, and
// ends when that begins anew: what it shows would be of two records.
func TestARunningRecordIsFollowed(t *testing.T) {
	day := historytest.GenerateDay(10, 10*time.Minute)
	var mu sync.Mutex
	record := day[:20]
	set := func(now []protocol.Message) { mu.Lock(); defer mu.Unlock(); record = now }
	inner := archive.RecordHandler(func(context.Context) ([]protocol.Message, error) {
		mu.Lock()
		defer mu.Unlock()
		return record, nil
	}, func() bool { return true })
	away := false
	at := serveAPI(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		refuses := away
		away = false
		mu.Unlock()
		if refuses { // once, as while it is restarted
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		inner.ServeHTTP(w, r)
	})
	f := recordFollower{from: recordSource{path: "http://" + at + recordPath}.followed(), every: time.Millisecond, stderr: io.Discard, caughtUp: make(chan struct{})}
	r, err := f.from.open(nil)
	if err != nil {
		t.Fatal(err)
	}
	seen, ended := make(chan protocol.Message), make(chan error, 1)
	go func() {
		ended <- f.readMessages(t.Context(), r, func(m protocol.Message) error { seen <- m; return nil })
	}()
	expect := func(want []protocol.Message) {
		t.Helper()
		for i, m := range want {
			select {
			case got := <-seen:
				if got.At != m.At || got.From != m.From || got.KindName() != m.KindName() {
					t.Fatalf("message %d is %v of %s; want %v of %s", i, got.KindName(), got.From, m.KindName(), m.From)
				}
			case err := <-ended:
				t.Fatalf("it ended before message %d: %v", i, err)
			}
		}
	}
	expect(day[:20])
	<-f.caughtUp
	mu.Lock()
	away = true
	mu.Unlock()
	set(day[:50])
	expect(day[20:50])
	set(day[30:])
	if err := <-ended; !errors.Is(err, errNewRecord) {
		t.Errorf("after the record began anew: %v", err)
	}
}
