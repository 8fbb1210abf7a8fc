package eventlog_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/bus/eventlog"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

// A heap makes nothing less of facts.
type heap struct {
	facts []protocol.Message
	first func() // done before it is written down; may be nil
}

func (h *heap) AddEvent(m protocol.Message) { h.facts = append(h.facts, m) }
func (h *heap) SnapshotMessages(uint64) []protocol.Message {
	if h.first != nil {
		h.first()
	}
	return h.facts
}

func add(t *testing.T, term *eventlog.Term, from, n int) {
	t.Helper()
	for i := range n {
		if err := term.AppendEvents(t.Context(), facts(from+i, 1)); err != nil {
			t.Fatal(err)
		}
	}
}

// Who begins reads the summary and what came after it, once each; also when the
// entries that it covers are gone, and when a later summary was begun and not
// ended.
func TestARestartReadsTheSummaryAndWhatCameAfter(t *testing.T) {
	srv := serve(t)
	b, err := eventlog.Open(t.Context(), &srv.Bus, protocol.Coordinator, eventlog.Config{Lease: lease, Keep: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	term, _ := begin(t, b)
	for round := range 3 {
		add(t, term, 3000*round, 2000)
		if n := term.EntriesSinceSnapshot(); n < 2000 || n > 3100 {
			t.Errorf("a tail of %d entries", n)
		}
		if err := term.WriteSnapshot(t.Context(), new(heap)); err != nil {
			t.Fatal(err)
		}
		if n := term.EntriesSinceSnapshot(); n != 0 {
			t.Errorf("after a summary the tail has %d entries", n)
		}
		if n := eventlog.Entries(t, b); n != 0 {
			t.Errorf("%d entries are left that a snapshot covers", n)
		}
		add(t, term, 3000*round+2000, 1000)
	}
	broken := &nats.Msg{Subject: natsbus.SnapshotSubject, Header: nats.Header{
		"Gridbid-Covers": {"100000"}, "Gridbid-Life": {"7"}, "Gridbid-Part": {"1"}, "Gridbid-Parts": {"2"},
	}}
	conn, err := srv.RawConn(protocol.Coordinator)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.RequestMsg(broken, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	term.EndTerm()
	next, read := begin(t, open(t, srv))
	holds(t, read, 9000)
	if next.Incarnation() != 2 {
		t.Errorf("life %d", next.Incarnation())
	}
	if err := next.WriteSnapshot(t.Context(), new(heap)); err != nil {
		t.Fatalf("after a summary that was broken off: %v", err)
	}
	next.EndTerm()
	_, read = begin(t, open(t, srv))
	holds(t, read, 9000)
}

// A writer that was paused as it summed up writes nothing over what another
// summed up meanwhile.
func TestASummaryIsNotWrittenOverALaterOne(t *testing.T) {
	srv := serve(t)
	term, _ := begin(t, open(t, srv))
	add(t, term, 0, 50)
	late := &heap{first: func() {
		add(t, term, 50, 50)
		if err := term.WriteSnapshot(t.Context(), new(heap)); err != nil {
			t.Error(err)
		}
	}}
	if err := term.WriteSnapshot(t.Context(), late); err == nil {
		t.Error("an old summary was written over a later one")
	}
	term.EndTerm()
	_, read := begin(t, open(t, srv))
	holds(t, read, 100)
}

// written returns an open event log of n events without a leader, and its server.
func written(t *testing.T, n int) (*natsbus.Server, *eventlog.Log) {
	t.Helper()
	srv := serve(t)
	b := open(t, srv)
	term, _ := begin(t, b)
	add(t, term, 0, n)
	term.EndTerm()
	return srv, b
}

// Missing entries are an error, not skipped.
func TestEntriesThatAreGoneWithoutASummaryAreMissed(t *testing.T) {
	srv, b := written(t, 10)
	eventlog.Purge(t, b, 5)
	if _, err := open(t, srv).BeginTerm(t.Context(), func(protocol.Message) error { return nil }); err == nil {
		t.Error("begins although facts are missing")
	}
}

// A stream that was lost, or its last entries, goes on where the summary ends, and
// what is written then is read again.
func TestASummaryOutlivesTheEntriesThatItCovers(t *testing.T) {
	srv := serve(t)
	b := open(t, srv)
	term, _ := begin(t, b)
	add(t, term, 0, 10)
	if err := term.WriteSnapshot(t.Context(), new(heap)); err != nil {
		t.Fatal(err)
	}
	term.EndTerm()
	conn, err := srv.RawConn(protocol.Coordinator)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Request("$JS.API.STREAM.DELETE.GRIDBID", nil, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var read []protocol.Message
		next, err := open(t, srv).BeginTerm(ctx, func(m protocol.Message) error { read = append(read, m); return nil })
		if err != nil {
			t.Fatal(err)
		}
		holds(t, read, 10+i)
		add(t, next, 10+i, 1)
		next.EndTerm()
	}
}

// So are missing entries in between.
func TestEntriesThatAreGoneWhileTheyAreReadAreMissed(t *testing.T) {
	srv, b := written(t, 2000)
	read := 0
	_, err := open(t, srv).BeginTerm(t.Context(), func(protocol.Message) error {
		if read++; read == 1 {
			eventlog.Purge(t, b, 1990) // some of them are on their way
		}
		return nil
	})
	if err == nil {
		t.Errorf("begins with %d of 2,000 facts", read)
	}
}
