package bus_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
)

// A flaky hub is one whose ports the test ends, and whose joins may fail.
type flaky struct {
	membus.Bus
	mu    sync.Mutex
	fails int
	last  context.CancelFunc
}

func (f *flaky) Connect(ctx context.Context, who protocol.Party) (bus.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails > 0 {
		f.fails--
		return nil, errors.New("nobody is there")
	}
	ctx, f.last = context.WithCancel(ctx)
	return f.Bus.Connect(ctx, who)
}

func (f *flaky) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last != nil {
		f.last()
	}
}

func TestALastingPortJoinsAgain(t *testing.T) {
	hub := &flaky{fails: 2}
	port := bus.NewReconnectingConn(t.Context(), hub, oslo, nil)
	other, err := hub.Bus.Connect(t.Context(), "agent/lyon")
	if err != nil {
		t.Fatal(err)
	}
	mouth := protocol.Sender{Party: "agent/lyon"}
	// What is said while nobody is joined is lost, so it is said until it is heard.
	hears := func() {
		t.Helper()
		for range 6000 { // two minutes, of a machine that is busy
			if err := other.Send(t.Context(), mouth.NewMessage(1, oslo, protocol.Started{})); err != nil {
				t.Fatal(err)
			}
			select {
			case <-port.Messages():
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
		t.Fatal("not heard again")
	}
	hears()
	hub.drop()
	hears()
	if err := port.Send(t.Context(), protocol.Message{From: "agent/rome"}); err == nil {
		t.Error("it speaks as another")
	}
	if err := port.Close(); err != nil {
		t.Error(err)
	}
	for range port.Messages() { // it ends
	}
	_ = other.Close()
}

// A hub that ends each port at once, as one does that a party floods.
type brief struct {
	membus.Bus
	joins int
}

func (b *brief) Connect(ctx context.Context, who protocol.Party) (bus.Conn, error) {
	b.joins++
	port, err := b.Bus.Connect(ctx, who)
	if err == nil {
		err = port.Close()
	}
	return port, err
}

func TestALastingPortTakesItsTimeThoughItJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := new(brief)
		port := bus.NewReconnectingConn(t.Context(), hub, oslo, nil)
		time.Sleep(time.Minute)
		if err := port.Close(); err != nil {
			t.Error(err)
		}
		if hub.joins < 10 || hub.joins > 20 {
			t.Errorf("it joined %d times in a minute", hub.joins)
		}
	})
}

// A hub that is away for a night fills no log.
func TestWhyAPortIsNotJoinedIsSaidOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		hub := &flaky{fails: 1 << 30}
		port := bus.NewReconnectingConn(t.Context(), hub, oslo, slog.New(slog.NewTextHandler(&log, nil)))
		time.Sleep(10 * time.Minute)
		if err := port.Close(); err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "nobody is there"); n < 9 || n > 11 {
			t.Errorf("it is said %d times in ten minutes", n)
		}
	})
}

func TestAPortApartSpeaksToItsSiteAndToTheRest(t *testing.T) {
	near, far := new(membus.Bus), new(membus.Bus)
	join := func(h *membus.Bus, who protocol.Party) bus.Conn {
		p, err := h.Connect(t.Context(), who)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	hands, market := join(near, "hands/oslo"), join(far, protocol.Coordinator)
	port := bus.NewSplitConn(join(near, oslo), join(far, oslo))
	mouth := protocol.Sender{Party: oslo}
	if err := port.Send(t.Context(), mouth.NewMessage(1, protocol.Coordinator, protocol.Accept{}), mouth.NewMessage(1, "hands/oslo", protocol.Launch{}), mouth.NewMessage(1, protocol.Coordinator, protocol.UsageReport{})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		port bus.Conn
		kind string
	}{{market, "accept"}, {market, "done"}, {hands, "launch"}} {
		if m := <-want.port.Messages(); m.KindName() != want.kind {
			t.Errorf("heard %s, want %s", m.KindName(), want.kind)
		}
	}
	for who, p := range map[protocol.Party]bus.Conn{"hands/oslo": hands, protocol.Coordinator: market} {
		m := protocol.Sender{Party: who}
		if err := p.Send(t.Context(), m.NewMessage(1, oslo, protocol.Started{})); err != nil {
			t.Fatal(err)
		}
		if got := <-port.Messages(); got.From != who {
			t.Errorf("heard %s, want %s", got.From, who)
		}
	}
	_ = hands.Close()
	_ = market.Close()
	if err := port.Close(); err != nil {
		t.Error(err)
	}
	for range port.Messages() { // it ends
	}
}

// A keeper notes facts, and says what it was told.
type keeper struct {
	mouth protocol.Sender
	facts []protocol.Message
}

func (k *keeper) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	k.facts = []protocol.Message{m}
	return []protocol.Message{k.mouth.NewMessage(now, "", m.Body)}
}
func (k *keeper) Tick(protocol.Time) []protocol.Message { k.facts = nil; return nil }
func (k *keeper) Due() protocol.Time                    { return 0 }
func (k *keeper) Events() []protocol.Message            { return k.facts }

// Facts are kept before what follows from them is said; if they cannot be kept,
// nothing is said.
func TestALoopKeepsFactsBeforeItSpeaks(t *testing.T) {
	full := errors.New("the disk is full")
	for _, fails := range []error{nil, full} {
		port := &stub{heard: make(chan protocol.Message, 2)}
		kept := 0
		loop := bus.Loop{Persist: func(_ context.Context, ms []protocol.Message) error {
			if len(port.said) != 0 {
				t.Error("it had spoken before it wrote")
			}
			kept += len(ms)
			return fails
		}}
		port.heard <- protocol.Message{Body: protocol.Started{Job: "a"}}
		port.heard <- protocol.Message{Body: protocol.Started{Job: "b"}}
		close(port.heard)
		err := loop.Run(t.Context(), port, &keeper{mouth: protocol.Sender{Party: oslo}})
		if kept != 2 || fails != nil && (!errors.Is(err, full) || len(port.said) != 0) || fails == nil && len(port.said) != 2 {
			t.Errorf("keeping with %v: kept %d, said %d, ended with %v", fails, kept, len(port.said), err)
		}
	}
}

func TestAnErrandIsDoneWhenItsFactsAreKept(t *testing.T) {
	errands := make(chan bus.LocalRequest)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	kept, done := 0, make(chan int, 1)
	loop := bus.Loop{LocalRequests: errands, Persist: func(_ context.Context, ms []protocol.Message) error { kept += len(ms); return nil }}
	ended := make(chan error, 1)
	go func() {
		ended <- loop.Run(ctx, &stub{heard: make(chan protocol.Message)}, &keeper{mouth: protocol.Sender{Party: oslo}})
	}()
	errands <- bus.LocalRequest{
		Deliver: func(now protocol.Time) protocol.Message {
			return protocol.Message{At: now, Body: protocol.Started{Job: "a"}}
		},
		Done: func(err error) {
			if err != nil {
				t.Error(err)
			}
			done <- kept
		},
	}
	if n := <-done; n != 1 {
		t.Errorf("done with %d facts kept", n)
	}
	cancel()
	<-ended
}

// Each step is told with its time, in the order in which the machine takes them.
func TestALoopTellsTheStepsItTakes(t *testing.T) {
	m := &log{mouth: protocol.Sender{Party: oslo}, due: []protocol.Time{1}}
	port := &stub{heard: make(chan protocol.Message), spoke: make(chan struct{}, 3)}
	go func() {
		<-port.spoke
		port.heard <- protocol.Message{Seq: 7, Body: protocol.Started{Job: "a"}}
		close(port.heard)
	}()
	var took []string
	loop := bus.Loop{Clock: bus.Clock{Start: 5, Began: time.Now()}, OnInput: func(now protocol.Time, heard *protocol.Message) {
		if now < 5 {
			t.Errorf("a step at %d", now)
		}
		if len(took) != len(m.life) {
			t.Error("it is told after it was taken")
		}
		if heard == nil {
			took = append(took, "tick")
		} else {
			took = append(took, string(heard.Body.(protocol.Started).Job))
		}
	}}
	_ = loop.Run(t.Context(), port, m)
	if !slices.Equal(took, m.life) || len(took) != 2 {
		t.Errorf("told %v; it lived %v", took, m.life)
	}
}

func TestAClockThatIsPlayedRunsAtItsSpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // or some of it passes between two questions
		c := bus.Clock{Start: 1_000_000, Began: time.Now().Add(-time.Second), Speed: 100}
		if now := c.Now(); now != 1_100_000 {
			t.Errorf("a second after 1,000,000 it is %d", now)
		}
		if d := c.DurationUntil(c.Now().Add(100 * time.Second)); d != time.Second {
			t.Errorf("100 seconds pass in %v", d)
		}
	})
}
