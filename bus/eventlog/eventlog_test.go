package eventlog_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gridbid/gridbid/bus/eventlog"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lease is long enough for a machine that is busy with other things.
const lease = 3 * time.Second

func serve(t *testing.T) *natsbus.Server {
	t.Helper()
	srv, err := natsbus.StartServer(natsbus.Config{Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

func open(t *testing.T, srv *natsbus.Server) *eventlog.Log {
	t.Helper()
	b, err := eventlog.Open(t.Context(), &srv.Bus, protocol.Coordinator, eventlog.Config{Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// begin begins a term, and returns what it read.
func begin(t *testing.T, b *eventlog.Log) (*eventlog.Term, []protocol.Message) {
	t.Helper()
	var read []protocol.Message
	term, err := b.BeginTerm(t.Context(), func(m protocol.Message) error { read = append(read, m); return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(term.EndTerm)
	return term, read
}

func facts(from, n int) (out []protocol.Message) {
	for i := range n {
		id := protocol.JobID(fmt.Sprint("job-", from+i))
		out = append(out, protocol.Message{Version: protocol.Current, At: 1, From: protocol.Submitter, Seq: uint64(from + i + 1), To: protocol.Coordinator,
			Body: protocol.Submit{Job: protocol.Job{ID: id, CPU: 1000, Arrival: 1, Run: time.Hour, Deadline: 2}}})
	}
	return out
}

func holds(t *testing.T, got []protocol.Message, n int) {
	t.Helper()
	if len(got) != n {
		t.Fatalf("read %d facts, want %d", len(got), n)
	}
	for i, m := range got {
		if id := m.Body.(protocol.Submit).Job.ID; id != protocol.JobID(fmt.Sprint("job-", i)) || m.Seq != uint64(i+1) {
			t.Fatalf("fact %d is %s, number %d", i, id, m.Seq)
		}
	}
}

func TestTheNextTermReadsAllFactsOfTheLast(t *testing.T) {
	srv := serve(t)
	first, read := begin(t, open(t, srv))
	if len(read) != 0 || first.Incarnation() != 1 {
		t.Fatalf("a new event log has %d events and incarnation %d", len(read), first.Incarnation())
	}
	for i := range 10 {
		if err := first.AppendEvents(t.Context(), facts(100*i, 100)); err != nil {
			t.Fatal(err)
		}
	}
	first.EndTerm()
	second, read := begin(t, open(t, srv))
	holds(t, read, 1000)
	if second.Incarnation() != 2 {
		t.Errorf("life %d", second.Incarnation())
	}
}

func TestFactsOfOneStepMayTakeManyEntries(t *testing.T) {
	srv := serve(t)
	term, _ := begin(t, open(t, srv))
	const n = 40_000 // some 3 MB
	if err := term.AppendEvents(t.Context(), facts(0, n)); err != nil {
		t.Fatal(err)
	}
	term.EndTerm()
	_, read := begin(t, open(t, srv))
	holds(t, read, n)
}

// Whoever waits takes over soon after the writer is gone without a word, and not
// before.
func TestTheLeaseOfAWriterThatDiesEnds(t *testing.T) {
	srv := serve(t)
	dies, waits := open(t, srv), open(t, srv)
	term, _ := begin(t, dies)
	if err := term.AppendEvents(t.Context(), facts(0, 3)); err != nil {
		t.Fatal(err)
	}
	early, cancel := context.WithTimeout(t.Context(), lease+lease/2)
	defer cancel()
	if _, err := waits.BeginTerm(early, func(protocol.Message) error { return nil }); err == nil {
		t.Fatal("a second writer while the first lives")
	}
	dies.Close()
	<-term.Ended()
	next, read := begin(t, waits)
	holds(t, read, 3)
	if next.Incarnation() != 2 {
		t.Errorf("life %d", next.Incarnation())
	}
}

// An answer that is late does not end a term: the lease was renewed all the same.
func TestALeaseLivesThroughAnAnswerThatIsLost(t *testing.T) {
	srv := serve(t)
	term, _ := begin(t, open(t, srv))
	for i := range 3 {
		eventlog.RenewUnheard(t, term)
		select {
		case <-term.Ended():
			t.Fatal("the term is over, but no other process holds the lease")
		case <-time.After(lease / 2):
		}
		if err := term.AppendEvents(t.Context(), facts(i, 1)); err != nil {
			t.Fatal(err)
		}
	}
}

// A server that always takes longer to answer than a renewal is away from the next
// keeps the lease of the leader.
func TestALeaseLivesWithASlowServer(t *testing.T) {
	srv := serve(t)
	b := open(t, srv)
	eventlog.Slow(b, lease/3)
	term, _ := begin(t, b)
	select {
	case <-term.Ended():
		t.Fatal("the term is over, but no other process holds the lease")
	case <-time.After(2 * lease):
	}
	if err := term.AppendEvents(t.Context(), facts(0, 1)); err != nil {
		t.Fatal(err)
	}
}

// One of several servers may know less of the lease than its holder does.
func TestAnOldCopyOfTheLeaseEndsNoTerm(t *testing.T) {
	srv := serve(t)
	b := open(t, srv)
	eventlog.AskOldCopy(b)
	term, _ := begin(t, b)
	eventlog.RenewUnheard(t, term)
	select {
	case <-term.Ended():
		t.Fatal("the term is over, but no other process holds the lease")
	case <-time.After(lease / 2):
	}
	if err := term.AppendEvents(t.Context(), facts(0, 1)); err != nil {
		t.Fatal(err)
	}
}

// When a server cannot store a lease, as after its disk was full, Begin does not wait
// for it: it returns an error, and the caller tries once more.
func TestWhoWaitsIsToldThatThereIsNoLease(t *testing.T) {
	b := open(t, serve(t))
	eventlog.KeepNone(b)
	ctx, cancel := context.WithTimeout(t.Context(), 10*lease)
	defer cancel()
	if _, err := b.BeginTerm(ctx, func(protocol.Message) error { return nil }); err == nil || ctx.Err() != nil {
		t.Errorf("Begin waits for a lease that the server cannot store: %v", err)
	}
}

// Who reads gives up when the lease is lost: what it waits for may never come.
func TestWhoReadsGivesUpWhenTheLeaseIsLost(t *testing.T) {
	srv, b := written(t, 600)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lost := false
	_, err := open(t, srv).BeginTerm(ctx, func(protocol.Message) error {
		if !lost {
			lost = true
			eventlog.Purge(t, b, 602) // all; some of them are on their way
			eventlog.Steal(t, b)
		}
		return nil
	})
	if err == nil || ctx.Err() != nil {
		t.Errorf("without a lease it goes on: %v", err)
	}
}

// A writer that does not know that its lease was taken writes nothing more. Here
// it does not learn of it, as if it had been paused: the stream itself refuses it.
func TestAWriterThatWasPausedIsShutOut(t *testing.T) {
	srv := serve(t)
	paused, _ := begin(t, open(t, srv))
	if err := paused.AppendEvents(t.Context(), facts(0, 1)); err != nil {
		t.Fatal(err)
	}
	eventlog.Steal(t, open(t, srv))
	next, read := begin(t, open(t, srv))
	holds(t, read, 1)
	if err := eventlog.AppendUnawares(paused, t.Context(), facts(1, 1)); err == nil {
		t.Fatal("two writers")
	}
	if err := next.AppendEvents(t.Context(), facts(1, 1)); err != nil {
		t.Fatal(err)
	}
	next.EndTerm()
	_, read = begin(t, open(t, srv))
	holds(t, read, 2)
}

func TestBooksNeedAServerThatKeeps(t *testing.T) {
	srv, err := natsbus.StartServer(natsbus.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	if _, err := eventlog.Open(t.Context(), &srv.Bus, protocol.Coordinator, eventlog.Config{}); err == nil {
		t.Error("Open succeeded on a server without JetStream")
	}
}

// The event log needs a server that takes long messages: Begin warns of one that does
// not, before an entry or a snapshot is too long for it.
func TestBeginWarnsOfASmallMaxPayload(t *testing.T) {
	for limit, want := range map[int]bool{1 << 20: true, protocol.MaxMessage: false} {
		srv := host(t, fmt.Sprintf("max_payload: %d\njetstream { store_dir: %q }\n", limit, t.TempDir()))
		var log strings.Builder
		b, err := eventlog.Open(t.Context(), &srv.Bus, protocol.Coordinator, eventlog.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		term, _ := begin(t, b)
		term.EndTerm()
		b.Close()
		if strings.Contains(log.String(), "max_payload of the server") != want {
			t.Errorf("a server that takes %d bytes: %q", limit, log.String())
		}
	}
}

// host starts a server by a configuration.
func host(t *testing.T, text string) *natsbus.ConfiguredServer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte("listen: 127.0.0.1:-1\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	srv, err := natsbus.ServeConfigFile(file, natsbus.Access{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

// The error of a full store says what to do on the server.
func TestAFullStoreSaysWhatToDo(t *testing.T) {
	srv := host(t, fmt.Sprintf("max_payload: %d\njetstream { store_dir: %q, max_file_store: 100KB }\n", protocol.MaxMessage, t.TempDir()))
	b, err := eventlog.Open(t.Context(), &srv.Bus, protocol.Coordinator, eventlog.Config{Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	term, _ := begin(t, b)
	for i := 0; err == nil && i < 100; i++ {
		err = term.AppendEvents(t.Context(), facts(100*i, 100))
	}
	if err == nil || !strings.Contains(err.Error(), "restart the server") {
		t.Errorf("Append to a full store: %v", err)
	}
}
