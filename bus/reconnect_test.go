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

// A flakyBus is a bus whose connections the test ends, and whose Connect may fail.
type flakyBus struct {
	membus.Bus
	mu    sync.Mutex
	fails int
	last  context.CancelFunc
}

func (f *flakyBus) Connect(ctx context.Context, who protocol.Party) (bus.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails > 0 {
		f.fails--
		return nil, errors.New("no server")
	}
	ctx, f.last = context.WithCancel(ctx)
	return f.Bus.Connect(ctx, who)
}

func (f *flakyBus) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last != nil {
		f.last()
	}
}

func TestALastingPortJoinsAgain(t *testing.T) {
	hub := &flakyBus{fails: 2}
	port := bus.NewReconnectingConn(t.Context(), hub, oslo, nil)
	other, err := hub.Bus.Connect(t.Context(), "agent/lyon")
	if err != nil {
		t.Fatal(err)
	}
	sender := protocol.Sender{Party: "agent/lyon"}
	// What is sent while oslo is not connected is lost, so it is sent until it is received.
	hears := func() {
		t.Helper()
		for range 6000 { // two minutes, of a machine that is busy
			if err := other.Send(t.Context(), sender.NewMessage(1, oslo, protocol.Started{})); err != nil {
				t.Fatal(err)
			}
			select {
			case <-port.Messages():
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
		t.Fatal("not received after the reconnect")
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

// A briefBus ends each connection at once, as a bus does whose party is flooded.
type briefBus struct {
	membus.Bus
	joins int
}

func (b *briefBus) Connect(ctx context.Context, who protocol.Party) (bus.Conn, error) {
	b.joins++
	port, err := b.Bus.Connect(ctx, who)
	if err == nil {
		err = port.Close()
	}
	return port, err
}

func TestALastingPortTakesItsTimeThoughItJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := new(briefBus)
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

// A bus that is down for a night must not fill the log.
func TestReconnectFailureIsLoggedOncePerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		hub := &flakyBus{fails: 1 << 30}
		port := bus.NewReconnectingConn(t.Context(), hub, oslo, slog.New(slog.NewTextHandler(&log, nil)))
		time.Sleep(10 * time.Minute)
		if err := port.Close(); err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "no server"); n < 9 || n > 11 {
			t.Errorf("it is sent %d times in ten minutes", n)
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
	executor, market := join(near, "hands/oslo"), join(far, protocol.Coordinator)
	port := bus.NewSplitConn(join(near, oslo), join(far, oslo))
	sender := protocol.Sender{Party: oslo}
	if err := port.Send(t.Context(), sender.NewMessage(1, protocol.Coordinator, protocol.Accept{}), sender.NewMessage(1, "hands/oslo", protocol.Launch{}), sender.NewMessage(1, protocol.Coordinator, protocol.UsageReport{})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		port bus.Conn
		kind string
	}{{market, "accept"}, {market, "done"}, {executor, "launch"}} {
		if m := <-want.port.Messages(); m.KindName() != want.kind {
			t.Errorf("received %s, want %s", m.KindName(), want.kind)
		}
	}
	for who, p := range map[protocol.Party]bus.Conn{"hands/oslo": executor, protocol.Coordinator: market} {
		m := protocol.Sender{Party: who}
		if err := p.Send(t.Context(), m.NewMessage(1, oslo, protocol.Started{})); err != nil {
			t.Fatal(err)
		}
		if got := <-port.Messages(); got.From != who {
			t.Errorf("received %s, want %s", got.From, who)
		}
	}
	_ = executor.Close()
	_ = market.Close()
	if err := port.Close(); err != nil {
		t.Error(err)
	}
	for range port.Messages() { // it ends
	}
}

// A persistingEcho records each message as an event and echoes it.
type persistingEcho struct {
	sender protocol.Sender
	events []protocol.Message
}

func (k *persistingEcho) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	k.events = []protocol.Message{m}
	return []protocol.Message{k.sender.NewMessage(now, "", m.Body)}
}
func (k *persistingEcho) Tick(protocol.Time) []protocol.Message { k.events = nil; return nil }
func (k *persistingEcho) Due() protocol.Time                    { return 0 }
func (k *persistingEcho) Events() []protocol.Message            { return k.events }

// Events are persisted before messages are sent; if that fails, nothing is sent.
func TestLoopPersistsEventsBeforeItSends(t *testing.T) {
	full := errors.New("the disk is full")
	for _, fails := range []error{nil, full} {
		port := &stub{received: make(chan protocol.Message, 2)}
		kept := 0
		loop := bus.Loop{Persist: func(_ context.Context, ms []protocol.Message) error {
			if len(port.sent) != 0 {
				t.Error("it had spoken before it wrote")
			}
			kept += len(ms)
			return fails
		}}
		port.received <- protocol.Message{Body: protocol.Started{Job: "a"}}
		port.received <- protocol.Message{Body: protocol.Started{Job: "b"}}
		close(port.received)
		err := loop.Run(t.Context(), port, &persistingEcho{sender: protocol.Sender{Party: oslo}})
		if kept != 2 || fails != nil && (!errors.Is(err, full) || len(port.sent) != 0) || fails == nil && len(port.sent) != 2 {
			t.Errorf("keeping with %v: kept %d, sent %d, ended with %v", fails, kept, len(port.sent), err)
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
		ended <- loop.Run(ctx, &stub{received: make(chan protocol.Message)}, &persistingEcho{sender: protocol.Sender{Party: oslo}})
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
		t.Errorf("done with %d events kept", n)
	}
	cancel()
	<-ended
}

// Each input is reported with its time, in the order in which the machine takes them.
func TestLoopReportsInputs(t *testing.T) {
	m := &log{sender: protocol.Sender{Party: oslo}, due: []protocol.Time{1}}
	port := &stub{received: make(chan protocol.Message), sendCalls: make(chan struct{}, 3)}
	go func() {
		<-port.sendCalls
		port.received <- protocol.Message{Seq: 7, Body: protocol.Started{Job: "a"}}
		close(port.received)
	}()
	var inputs []string
	loop := bus.Loop{Clock: bus.Clock{Start: 5, Began: time.Now()}, OnInput: func(now protocol.Time, received *protocol.Message) {
		if now < 5 {
			t.Errorf("a step at %d", now)
		}
		if len(inputs) != len(m.history) {
			t.Error("it is reported after the step")
		}
		if received == nil {
			inputs = append(inputs, "tick")
		} else {
			inputs = append(inputs, string(received.Body.(protocol.Started).Job))
		}
	}}
	_ = loop.Run(t.Context(), port, m)
	if !slices.Equal(inputs, m.history) || len(inputs) != 2 {
		t.Errorf("reported %v; the machine took %v", inputs, m.history)
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
