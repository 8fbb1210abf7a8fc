package bus_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A clerk answers a Started with a fact and a bound word, an Exited with a fact
// alone, and anything else with an offer.
type clerk struct {
	mouth protocol.Mouth
	facts []protocol.Message
}

func (k *clerk) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	k.facts = k.facts[:0]
	switch b := m.Body.(type) {
	case protocol.Started:
		k.facts = append(k.facts, m)
		return []protocol.Message{k.mouth.Say(now, "", protocol.Accept{Job: b.Job})}
	case protocol.Exited:
		k.facts = append(k.facts, m)
		return nil
	}
	return []protocol.Message{k.mouth.Say(now, "", protocol.Offer{})}
}
func (k *clerk) Tick(protocol.Time) []protocol.Message { k.facts = k.facts[:0]; return nil }
func (k *clerk) Due() protocol.Time                    { return 0 }
func (k *clerk) Facts() []protocol.Message             { return k.facts }

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
func (b *mailbox) Say(_ context.Context, ms ...protocol.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, ms...)
	for range ms {
		b.some <- struct{}{}
	}
	return nil
}
func (b *mailbox) Heard() <-chan protocol.Message { return b.heard }
func (b *mailbox) Close() error                   { return nil }

func unbound(m protocol.Message) bool { _, ok := m.Body.(protocol.Offer); return ok }

func start(id string) protocol.Message {
	return protocol.Message{Body: protocol.Started{Job: protocol.JobID(id)}}
}

// While the disk is busy an offer goes out, and the accept from before it does
// not; when it does, it has the higher number. All that waited is one write.
func TestWordsThatBindNobodyDoNotWaitForTheDisk(t *testing.T) {
	port, writing, slow := newMailbox(), make(chan int, 100), make(chan struct{})
	loop := bus.Loop{Unbound: unbound, Keep: func(_ context.Context, ms []protocol.Message) error {
		writing <- len(ms)
		<-slow
		return nil
	}}
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(t.Context(), port, &clerk{mouth: protocol.Mouth{Who: oslo}}) }()
	port.heard <- start("a")
	<-writing
	for i := range 3 {
		port.heard <- start(fmt.Sprint("b", i))
		port.heard <- protocol.Message{Body: protocol.Exited{}}
		port.heard <- protocol.Message{Body: protocol.Call{}}
		<-port.some
	}
	port.heard <- protocol.Message{Body: protocol.Call{}} // the turns before it have ended
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
		loop := bus.Loop{Unbound: unbound, Keep: func(_ context.Context, ms []protocol.Message) error { kept <- len(ms); return nil }}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- loop.Run(ctx, port, &clerk{mouth: protocol.Mouth{Who: oslo}}) }()
		port.heard <- protocol.Message{Body: protocol.Exited{}}
		port.heard <- protocol.Message{Body: protocol.Call{}}
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
func TestALoopEndsWhenItsOutboxDoes(t *testing.T) {
	full := errors.New("the disk is full")
	port := newMailbox()
	loop := bus.Loop{Unbound: unbound, Keep: func(context.Context, []protocol.Message) error { return full }}
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(t.Context(), port, &clerk{mouth: protocol.Mouth{Who: oslo}}) }()
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
