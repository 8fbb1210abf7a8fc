package bus_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A persistingMachine answers a Started with an event and a binding message, a Finished with an
// event alone, and anything else with a bid.
type persistingMachine struct {
	sender protocol.Sender
	events []protocol.Message
}

func (k *persistingMachine) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	k.events = k.events[:0]
	switch b := m.Body.(type) {
	case protocol.Started:
		k.events = append(k.events, m)
		return []protocol.Message{k.sender.NewMessage(now, "", protocol.Accept{Job: b.Job})}
	case protocol.Finished:
		k.events = append(k.events, m)
		return nil
	}
	return []protocol.Message{k.sender.NewMessage(now, "", protocol.Bids{})}
}
func (k *persistingMachine) Tick(protocol.Time) []protocol.Message {
	k.events = k.events[:0]
	return nil
}
func (k *persistingMachine) Due() protocol.Time         { return 0 }
func (k *persistingMachine) Events() []protocol.Message { return k.events }

// A recordingConn records what is sent, from any goroutine.
type recordingConn struct {
	received chan protocol.Message
	mu       sync.Mutex
	sent     []protocol.Message
	some     chan struct{}
}

func newMailbox() *recordingConn {
	return &recordingConn{received: make(chan protocol.Message), some: make(chan struct{}, 1000)}
}
func (b *recordingConn) Send(_ context.Context, ms ...protocol.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, ms...)
	for range ms {
		b.some <- struct{}{}
	}
	return nil
}
func (b *recordingConn) Messages() <-chan protocol.Message { return b.received }
func (b *recordingConn) Close() error                      { return nil }

func unbound(m protocol.Message) bool { _, ok := m.Body.(protocol.Bids); return ok }

func start(id string) protocol.Message {
	return protocol.Message{Body: protocol.Started{Job: protocol.JobID(id)}}
}

// While the disk is busy a bid goes out, and the Accept before it does not; when it does, it has
// the higher number. Everything that waited is one write.
func TestNonBindingMessagesDoNotWaitForTheDisk(t *testing.T) {
	port, writing, slow := newMailbox(), make(chan int, 100), make(chan struct{})
	loop := bus.Loop{NonBinding: unbound, Persist: func(_ context.Context, ms []protocol.Message) error {
		writing <- len(ms)
		<-slow
		return nil
	}}
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(t.Context(), port, &persistingMachine{sender: protocol.Sender{Party: oslo}}) }()
	port.received <- start("a")
	<-writing
	for i := range 3 {
		port.received <- start(fmt.Sprint("b", i))
		port.received <- protocol.Message{Body: protocol.Finished{}}
		port.received <- protocol.Message{Body: protocol.CallForBids{}}
		<-port.some
	}
	port.received <- protocol.Message{Body: protocol.CallForBids{}} // the turns before it have ended
	<-port.some
	for _, m := range port.sent {
		if !unbound(m) {
			t.Fatalf("sent before it was persisted: %+v", m)
		}
	}
	close(slow)
	for range 4 {
		<-port.some
	}
	if n := <-writing; n != 6 {
		t.Errorf("six events waited; %d were written together", n)
	}
	close(port.received)
	if err := <-ended; !errors.Is(err, bus.ErrClosed) {
		t.Errorf("ended with %v", err)
	}
	for i, m := range port.sent {
		if i > 0 && m.Seq <= port.sent[i-1].Seq {
			t.Errorf("number %d was sent after %d", m.Seq, port.sent[i-1].Seq)
		}
	}
}

// A promptMachine is due as soon as it has a message, and sends then.
type promptMachine struct {
	persistingMachine
	due protocol.Time
}

func (k *promptMachine) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	k.due = now
	return k.persistingMachine.Step(now, m)
}

func (k *promptMachine) Tick(now protocol.Time) []protocol.Message {
	k.due, k.events = 0, k.events[:0]
	return []protocol.Message{k.sender.NewMessage(now, "", protocol.Accept{Job: "by a tick"})}
}
func (k *promptMachine) Due() protocol.Time { return k.due }

// A countingConn counts how many messages each Send has.
type countingConn struct {
	*recordingConn
	sizes chan int
}

func (c countingConn) Send(ctx context.Context, ms ...protocol.Message) error {
	c.sizes <- len(ms)
	return c.recordingConn.Send(ctx, ms...)
}

// What a message makes due at once is sent together with what the message is answered by.
func TestATickThatIsDueAtOnceIsOfTheMessagesTurn(t *testing.T) {
	conn, ended := countingConn{newMailbox(), make(chan int, 10)}, make(chan error, 1)
	m := &promptMachine{persistingMachine: persistingMachine{sender: protocol.Sender{Party: oslo}}}
	go func() { ended <- bus.RunMachine(t.Context(), conn, m) }()
	conn.received <- start("a")
	if n := <-conn.sizes; n != 2 {
		t.Errorf("%d messages were sent in the first turn; want the answer and that of the tick", n)
	}
	close(conn.received)
	if err := <-ended; !errors.Is(err, bus.ErrClosed) {
		t.Errorf("ended with %v", err)
	}
}

// Events without messages are persisted too, after a while, and when the loop ends at the latest.
func TestEventsWithoutMessagesArePersisted(t *testing.T) {
	for _, waits := range []bool{true, false} {
		port, kept := newMailbox(), make(chan int, 10)
		loop := bus.Loop{NonBinding: unbound, Persist: func(_ context.Context, ms []protocol.Message) error { kept <- len(ms); return nil }}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- loop.Run(ctx, port, &persistingMachine{sender: protocol.Sender{Party: oslo}}) }()
		port.received <- protocol.Message{Body: protocol.Finished{}}
		port.received <- protocol.Message{Body: protocol.CallForBids{}}
		<-port.some // both were read
		if waits {
			<-kept
			kept <- 1
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
		select {
		case <-kept:
		default:
			t.Error("an event was not persisted")
		}
	}
}

// A full disk ends the loop, and no message is sent whose events are not durable; also if no input
// comes.
func TestLoopEndsWhenItsPersisterFails(t *testing.T) {
	full := errors.New("the disk is full")
	port := newMailbox()
	loop := bus.Loop{NonBinding: unbound, Persist: func(context.Context, []protocol.Message) error { return full }}
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(t.Context(), port, &persistingMachine{sender: protocol.Sender{Party: oslo}}) }()
	port.received <- start("a")
	select {
	case err := <-ended:
		if !errors.Is(err, full) {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	if len(port.sent) != 0 {
		t.Errorf("sent %v", port.sent)
	}
}

// A selfRecordingMachine also records its own messages as events.
type selfRecordingMachine struct{ persistingMachine }

func (k *selfRecordingMachine) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	sent := k.persistingMachine.Step(now, m)
	for _, own := range sent {
		if !unbound(own) {
			k.events = append(k.events, own)
		}
	}
	return sent
}

// An observer records the calls of a loop's functions.
type observer struct {
	mu               sync.Mutex
	kept, observed   []protocol.Message
	received, inputs int
}

func (r *observer) loop(slow <-chan struct{}, writing chan<- bool) bus.Loop {
	return bus.Loop{
		Persist: func(_ context.Context, ms []protocol.Message) error {
			writing <- true
			<-slow
			r.mu.Lock()
			defer r.mu.Unlock()
			r.kept = append(r.kept, ms...)
			return nil
		},
		OnSent: func(received, sent []protocol.Message) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.received, r.observed = r.received+len(received), append(r.observed, sent...)
		},
		Persisted: func(protocol.Time, *protocol.Message) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.inputs++
		},
	}
}

// However many bids overtake the messages that wait for the disk, each message is persisted and
// reported under the number that it is sent with. Numbers rise, also from a later incarnation, so
// receivers drop nothing.
func TestMessageIsPersistedAndReportedUnderItsSentNumber(t *testing.T) {
	const starts, calls = 5, 40 // 200 offers past one write, of which 64 have room
	port, writing, slow, r := newMailbox(), make(chan bool, 1000), make(chan struct{}), new(observer)
	loop := r.loop(slow, writing)
	loop.NonBinding = unbound
	ended := make(chan error, 1)
	go func() {
		ended <- loop.Run(t.Context(), port, &selfRecordingMachine{persistingMachine{sender: protocol.Sender{Party: oslo, Incarnation: 3}}})
	}()
	port.received <- start("first")
	<-writing
	go func() {
		for i := range starts {
			port.received <- start(fmt.Sprint(i))
			for range calls {
				port.received <- protocol.Message{Body: protocol.CallForBids{}}
			}
		}
		close(port.received)
	}()
	for range 64 {
		<-port.some
	}
	close(slow)
	if err := <-ended; !errors.Is(err, bus.ErrClosed) {
		t.Errorf("ended with %v", err)
	}
	var ears protocol.Deduplicator
	accepts := make(map[uint64]protocol.JobID)
	sent := make(map[uint64]string)
	for _, m := range port.sent {
		if !ears.AdmitOnce(m) {
			t.Errorf("message %d would be taken for old", m.Seq)
		}
		if a, ok := m.Body.(protocol.Accept); ok {
			accepts[m.Seq] = a.Job
		}
		sent[m.Seq] = m.KindName()
	}
	if len(accepts) != starts+1 || len(sent) != starts+1+starts*calls {
		t.Errorf("%d accepts and %d messages were sent; want %d and %d", len(accepts), len(sent), starts+1, starts+1+starts*calls)
	}
	kept := 0
	for _, f := range r.kept {
		if a, ok := f.Body.(protocol.Accept); ok {
			if kept++; accepts[f.Seq] != a.Job {
				t.Errorf("the accept of %s was kept as message %d, which was sent as that of %q", a.Job, f.Seq, accepts[f.Seq])
			}
		}
	}
	for _, m := range r.observed {
		if sent[m.Seq] != m.KindName() {
			t.Errorf("%s %d was shown, and sent as %q", m.KindName(), m.Seq, sent[m.Seq])
		}
	}
	if kept != starts+1 || len(r.observed) != len(sent) {
		t.Errorf("%d accepts were kept and %d messages shown; want %d and %d", kept, len(r.observed), starts+1, len(sent))
	}
}

// A machine with binding messages only steps while its events are persisted, too. Nothing that
// follows is sent or reported before; then everything is, in the order of the steps and under the
// machine's own numbers.
func TestMachineStepsWhileEventsArePersisted(t *testing.T) {
	port, writing, slow, r := newMailbox(), make(chan bool, 1000), make(chan struct{}), new(observer)
	errands, done, seen := make(chan bus.LocalRequest), make(chan int, 2), make(chan protocol.Time)
	loop := r.loop(slow, writing)
	loop.LocalRequests = errands
	ended := make(chan error, 1)
	go func() {
		ended <- loop.Run(t.Context(), port, &selfRecordingMachine{persistingMachine{sender: protocol.Sender{Party: oslo}}})
	}()
	port.received <- start("a")
	<-writing
	port.received <- start("b")
	port.received <- protocol.Message{Body: protocol.CallForBids{}}
	count := func(err error) {
		port.mu.Lock()
		defer port.mu.Unlock()
		if err != nil {
			t.Error(err)
		}
		done <- len(port.sent)
	}
	errands <- bus.LocalRequest{Deliver: func(protocol.Time) protocol.Message { return start("c") }, Done: count}
	go func() { errands <- bus.LocalRequest{Inspect: func(now protocol.Time) { seen <- now }, Done: count} }()
	<-seen // the loop goes on
	r.mu.Lock()
	if len(port.sent)+len(r.observed)+r.received+r.inputs+len(done) > 0 {
		t.Errorf("before it was kept: %d sent, %d and %d shown, %d steps, %d errands done", len(port.sent), len(r.observed), r.received, r.inputs, len(done))
	}
	r.mu.Unlock()
	close(slow)
	if n := <-done; n != 4 {
		t.Errorf("the local request was done when %d messages were sent; want all 4", n)
	}
	<-done
	close(port.received)
	<-ended
	if len(r.observed) != 4 || r.received != 4 || r.inputs < 4 || len(r.kept) != 6 {
		t.Errorf("observed: %d sent, %d received, %d steps, %d events", len(r.observed), r.received, r.inputs, len(r.kept))
	}
	for i, m := range port.sent {
		if m.Seq != uint64(i+1) || r.observed[i].Seq != m.Seq {
			t.Errorf("message %d was sent as %d and shown as %d", i+1, m.Seq, r.observed[i].Seq)
		}
	}
}

// The outcome of a local request is not sent if it cannot be persisted, and Done gets an error.
func TestLocalRequestGetsThePersistError(t *testing.T) {
	full := errors.New("the disk is full")
	port, errands, done := newMailbox(), make(chan bus.LocalRequest), make(chan error, 1)
	loop := bus.Loop{LocalRequests: errands, Persist: func(context.Context, []protocol.Message) error { return full }}
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(t.Context(), port, &persistingMachine{sender: protocol.Sender{Party: oslo}}) }()
	errands <- bus.LocalRequest{Deliver: func(protocol.Time) protocol.Message { return start("a") }, Done: func(err error) { done <- err }}
	if err := <-ended; !errors.Is(err, full) {
		t.Errorf("ended with %v", err)
	}
	if err := <-done; !errors.Is(err, bus.ErrClosed) || len(port.sent) != 0 {
		t.Errorf("the local request got %v, and %d messages were sent", err, len(port.sent))
	}
}

// A process that crashes while it writes, and restarts with a higher incarnation, repeats no
// number: a receiver that drops duplicates drops nothing new, and each binding message is on disk
// under its number.
func TestCrashAtAnyWriteRepeatsNoNumber(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var ears protocol.Deduplicator
		kept := make(map[uint64]protocol.JobID)
		killed := errors.New("killed")
		for history := range uint32(3) {
			port, writes := newMailbox(), rapid.IntRange(0, 4).Draw(rt, "writes before it is killed")
			loop := bus.Loop{NonBinding: unbound, Persist: func(_ context.Context, ms []protocol.Message) error {
				if writes--; writes < 0 {
					return killed
				}
				for _, f := range ms {
					if a, ok := f.Body.(protocol.Accept); ok {
						kept[f.Seq] = a.Job
					}
				}
				return nil
			}}
			ended := make(chan error, 1)
			go func() {
				ended <- loop.Run(context.Background(), port, &selfRecordingMachine{persistingMachine{sender: protocol.Sender{Party: oslo, Incarnation: history}}})
			}()
			over := false
			for i, call := range rapid.SliceOfN(rapid.Bool(), 1, 40).Draw(rt, "calls among jobs") {
				m := protocol.Message{Body: protocol.CallForBids{}}
				if !call {
					m = start(fmt.Sprint(history, "-", i))
				}
				select {
				case port.received <- m:
				case err := <-ended:
					over = true
					if !errors.Is(err, killed) {
						rt.Fatalf("ended with %v", err)
					}
				}
				if over {
					break
				}
			}
			if !over {
				close(port.received)
				<-ended
			}
			for _, m := range port.sent {
				if !ears.AdmitOnce(m) {
					rt.Fatalf("message %d of life %d would be taken for old", m.Seq, history)
				}
				if a, ok := m.Body.(protocol.Accept); ok && kept[m.Seq] != a.Job {
					rt.Fatalf("the accept of %s was sent as message %d, under which %q is kept", a.Job, m.Seq, kept[m.Seq])
				}
			}
		}
	})
}
