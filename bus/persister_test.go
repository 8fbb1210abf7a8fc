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

// A clerk answers a Started with a fact and a bound word, an Exited with a fact
// alone, and anything else with an offer.
type clerk struct {
	mouth protocol.Sender
	facts []protocol.Message
}

func (k *clerk) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	k.facts = k.facts[:0]
	switch b := m.Body.(type) {
	case protocol.Started:
		k.facts = append(k.facts, m)
		return []protocol.Message{k.mouth.NewMessage(now, "", protocol.Accept{Job: b.Job})}
	case protocol.Finished:
		k.facts = append(k.facts, m)
		return nil
	}
	return []protocol.Message{k.mouth.NewMessage(now, "", protocol.Bids{})}
}
func (k *clerk) Tick(protocol.Time) []protocol.Message { k.facts = k.facts[:0]; return nil }
func (k *clerk) Due() protocol.Time                    { return 0 }
func (k *clerk) Events() []protocol.Message            { return k.facts }

// A mailbox notes what is said, from any goroutine.
type mailbox struct {
	heard chan protocol.Message
	mu    sync.Mutex
	said  []protocol.Message
	some  chan struct{}
}

func newMailbox() *mailbox {
	return &mailbox{heard: make(chan protocol.Message), some: make(chan struct{}, 1000)}
}
func (b *mailbox) Send(_ context.Context, ms ...protocol.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, ms...)
	for range ms {
		b.some <- struct{}{}
	}
	return nil
}
func (b *mailbox) Messages() <-chan protocol.Message { return b.heard }
func (b *mailbox) Close() error                      { return nil }

func unbound(m protocol.Message) bool { _, ok := m.Body.(protocol.Bids); return ok }

func start(id string) protocol.Message {
	return protocol.Message{Body: protocol.Started{Job: protocol.JobID(id)}}
}

// While the disk is busy an offer goes out, and the accept from before it does
// not; when it does, it has the higher number. All that waited is one write.
func TestWordsThatBindNobodyDoNotWaitForTheDisk(t *testing.T) {
	port, writing, slow := newMailbox(), make(chan int, 100), make(chan struct{})
	loop := bus.Loop{NonBinding: unbound, Persist: func(_ context.Context, ms []protocol.Message) error {
		writing <- len(ms)
		<-slow
		return nil
	}}
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(t.Context(), port, &clerk{mouth: protocol.Sender{Party: oslo}}) }()
	port.heard <- start("a")
	<-writing
	for i := range 3 {
		port.heard <- start(fmt.Sprint("b", i))
		port.heard <- protocol.Message{Body: protocol.Finished{}}
		port.heard <- protocol.Message{Body: protocol.CallForBids{}}
		<-port.some
	}
	port.heard <- protocol.Message{Body: protocol.CallForBids{}} // the turns before it have ended
	<-port.some
	for _, m := range port.said {
		if !unbound(m) {
			t.Fatalf("said before it was kept: %+v", m)
		}
	}
	close(slow)
	for range 4 {
		<-port.some
	}
	if n := <-writing; n != 6 {
		t.Errorf("six facts waited; %d were written together", n)
	}
	close(port.heard)
	if err := <-ended; !errors.Is(err, bus.ErrClosed) {
		t.Errorf("ended with %v", err)
	}
	for i, m := range port.said {
		if i > 0 && m.Seq <= port.said[i-1].Seq {
			t.Errorf("number %d was said after %d", m.Seq, port.said[i-1].Seq)
		}
	}
}

// Facts from which nothing follows are kept too, in a while, and when the loop
// ends at the latest.
func TestFactsFromWhichNothingFollowsAreKept(t *testing.T) {
	for _, waits := range []bool{true, false} {
		port, kept := newMailbox(), make(chan int, 10)
		loop := bus.Loop{NonBinding: unbound, Persist: func(_ context.Context, ms []protocol.Message) error { kept <- len(ms); return nil }}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- loop.Run(ctx, port, &clerk{mouth: protocol.Sender{Party: oslo}}) }()
		port.heard <- protocol.Message{Body: protocol.Finished{}}
		port.heard <- protocol.Message{Body: protocol.CallForBids{}}
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
			t.Error("a fact was not kept")
		}
	}
}

// A disk that is full ends the loop, and nothing is said that was not kept; also
// when nobody speaks to it any more.
func TestALoopEndsWhenItsPersisterDoes(t *testing.T) {
	full := errors.New("the disk is full")
	port := newMailbox()
	loop := bus.Loop{NonBinding: unbound, Persist: func(context.Context, []protocol.Message) error { return full }}
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(t.Context(), port, &clerk{mouth: protocol.Sender{Party: oslo}}) }()
	port.heard <- start("a")
	select {
	case err := <-ended:
		if !errors.Is(err, full) {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	if len(port.said) != 0 {
		t.Errorf("said %v", port.said)
	}
}

// A bookkeeper is a clerk that also notes what it said.
type bookkeeper struct{ clerk }

func (k *bookkeeper) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	said := k.clerk.Step(now, m)
	for _, own := range said {
		if !unbound(own) {
			k.facts = append(k.facts, own)
		}
	}
	return said
}

// A record is what the functions of a loop were shown.
type record struct {
	mu          sync.Mutex
	kept, told  []protocol.Message
	heard, took int
}

func (r *record) loop(slow <-chan struct{}, writing chan<- bool) bus.Loop {
	return bus.Loop{
		Persist: func(_ context.Context, ms []protocol.Message) error {
			writing <- true
			<-slow
			r.mu.Lock()
			defer r.mu.Unlock()
			r.kept = append(r.kept, ms...)
			return nil
		},
		OnSent: func(heard, said []protocol.Message) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.heard, r.told = r.heard+len(heard), append(r.told, said...)
		},
		Persisted: func(protocol.Time, *protocol.Message) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.took++
		},
	}
}

// However many offers go past the words that wait for the disk, each message has one
// number: that under which it is sent is the one that is kept and shown. Numbers rise,
// also from a life that is not the first, so a listener drops nothing.
func TestAMessageIsKeptAndShownUnderTheNumberThatWasSent(t *testing.T) {
	const starts, calls = 5, 40 // 200 offers past one write, of which 64 have room
	port, writing, slow, r := newMailbox(), make(chan bool, 1000), make(chan struct{}), new(record)
	loop := r.loop(slow, writing)
	loop.NonBinding = unbound
	ended := make(chan error, 1)
	go func() {
		ended <- loop.Run(t.Context(), port, &bookkeeper{clerk{mouth: protocol.Sender{Party: oslo, Incarnation: 3}}})
	}()
	port.heard <- start("first")
	<-writing
	go func() {
		for i := range starts {
			port.heard <- start(fmt.Sprint(i))
			for range calls {
				port.heard <- protocol.Message{Body: protocol.CallForBids{}}
			}
		}
		close(port.heard)
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
	for _, m := range port.said {
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
	for _, m := range r.told {
		if sent[m.Seq] != m.KindName() {
			t.Errorf("%s %d was shown, and sent as %q", m.KindName(), m.Seq, sent[m.Seq])
		}
	}
	if kept != starts+1 || len(r.told) != len(sent) {
		t.Errorf("%d accepts were kept and %d messages shown; want %d and %d", kept, len(r.told), starts+1, len(sent))
	}
}

// A machine all of whose words bind goes on while its facts are written down, too.
// Nothing that follows from them is sent, shown or done before that; then it is, in the
// order of the steps and under the machine's own numbers.
func TestABoundMachineGoesOnWhileItsFactsAreKept(t *testing.T) {
	port, writing, slow, r := newMailbox(), make(chan bool, 1000), make(chan struct{}), new(record)
	errands, done, seen := make(chan bus.LocalRequest), make(chan int, 2), make(chan protocol.Time)
	loop := r.loop(slow, writing)
	loop.LocalRequests = errands
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(t.Context(), port, &bookkeeper{clerk{mouth: protocol.Sender{Party: oslo}}}) }()
	port.heard <- start("a")
	<-writing
	port.heard <- start("b")
	port.heard <- protocol.Message{Body: protocol.CallForBids{}}
	count := func(err error) {
		port.mu.Lock()
		defer port.mu.Unlock()
		if err != nil {
			t.Error(err)
		}
		done <- len(port.said)
	}
	errands <- bus.LocalRequest{Deliver: func(protocol.Time) protocol.Message { return start("c") }, Done: count}
	go func() { errands <- bus.LocalRequest{Inspect: func(now protocol.Time) { seen <- now }, Done: count} }()
	<-seen // the loop goes on
	r.mu.Lock()
	if len(port.said)+len(r.told)+r.heard+r.took+len(done) > 0 {
		t.Errorf("before it was kept: %d sent, %d and %d shown, %d steps, %d errands done", len(port.said), len(r.told), r.heard, r.took, len(done))
	}
	r.mu.Unlock()
	close(slow)
	if n := <-done; n != 4 {
		t.Errorf("the errand was done when %d messages were sent; want all 4", n)
	}
	<-done
	close(port.heard)
	<-ended
	if len(r.told) != 4 || r.heard != 4 || r.took < 4 || len(r.kept) != 6 {
		t.Errorf("shown: %d said, %d heard, %d steps, %d facts", len(r.told), r.heard, r.took, len(r.kept))
	}
	for i, m := range port.said {
		if m.Seq != uint64(i+1) || r.told[i].Seq != m.Seq {
			t.Errorf("message %d was sent as %d and shown as %d", i+1, m.Seq, r.told[i].Seq)
		}
	}
}

// What an errand led to is not sent when it cannot be kept, and who waits is told.
func TestAnErrandWhoseFactsAreNotKeptIsToldSo(t *testing.T) {
	full := errors.New("the disk is full")
	port, errands, done := newMailbox(), make(chan bus.LocalRequest), make(chan error, 1)
	loop := bus.Loop{LocalRequests: errands, Persist: func(context.Context, []protocol.Message) error { return full }}
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(t.Context(), port, &clerk{mouth: protocol.Sender{Party: oslo}}) }()
	errands <- bus.LocalRequest{Deliver: func(protocol.Time) protocol.Message { return start("a") }, Done: func(err error) { done <- err }}
	if err := <-ended; !errors.Is(err, full) {
		t.Errorf("ended with %v", err)
	}
	if err := <-done; !errors.Is(err, bus.ErrClosed) || len(port.said) != 0 {
		t.Errorf("the errand was told %v, and %d messages were sent", err, len(port.said))
	}
}

// A process that is killed while it writes, and begun anew in a higher life, repeats no
// number: a listener who drops what it heard before drops nothing, and each binding
// message that it hears is on the disk under its number.
func TestALifeThatEndsAtAnyWriteRepeatsNoNumber(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var ears protocol.Deduplicator
		kept := make(map[uint64]protocol.JobID)
		killed := errors.New("killed")
		for life := range uint32(3) {
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
				ended <- loop.Run(context.Background(), port, &bookkeeper{clerk{mouth: protocol.Sender{Party: oslo, Incarnation: life}}})
			}()
			over := false
			for i, call := range rapid.SliceOfN(rapid.Bool(), 1, 40).Draw(rt, "calls among jobs") {
				m := protocol.Message{Body: protocol.CallForBids{}}
				if !call {
					m = start(fmt.Sprint(life, "-", i))
				}
				select {
				case port.heard <- m:
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
				close(port.heard)
				<-ended
			}
			for _, m := range port.said {
				if !ears.AdmitOnce(m) {
					rt.Fatalf("message %d of life %d would be taken for old", m.Seq, life)
				}
				if a, ok := m.Body.(protocol.Accept); ok && kept[m.Seq] != a.Job {
					rt.Fatalf("the accept of %s was sent as message %d, under which %q is kept", a.Job, m.Seq, kept[m.Seq])
				}
			}
		}
	})
}
