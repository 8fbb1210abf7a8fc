package bus

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// NewReconnectingConn returns a port that joins hub as who, and joins again whenever it
// fails, until ctx ends or it is closed. What is said or heard meanwhile is
// lost, so it is for a machine that says again what it needs an answer to. Log
// hears of each failure; nil is silence.
func NewReconnectingConn(ctx context.Context, hub Bus, who protocol.Party, log *slog.Logger) Conn {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, end := context.WithCancel(ctx)
	l := &reconnectingConn{bus: hub, who: who, log: log, cancel: end, messages: make(chan protocol.Message), closed: make(chan struct{})}
	go l.reconnectUntilDone(ctx)
	return l
}

type reconnectingConn struct {
	bus      Bus
	who      protocol.Party
	log      *slog.Logger
	cancel   context.CancelFunc
	messages chan protocol.Message
	closed   chan struct{} // closed when the last port is

	mu   sync.Mutex
	conn Conn // nil while there is none
}

// How long it takes to join again: at first, and at most, doubling in between. A
// port that lasted for as long as that is, begins it anew. What keeps it from joining
// is said once more after repeat.
const (
	minReconnectDelay = 50 * time.Millisecond
	maxReconnectDelay = 5 * time.Second
	relogInterval     = time.Minute
)

func (l *reconnectingConn) reconnectUntilDone(ctx context.Context) {
	defer close(l.closed)
	defer close(l.messages)
	wait, told, said := minReconnectDelay, "", time.Time{}
	for ctx.Err() == nil {
		port, err := l.bus.Connect(ctx, l.who)
		if err == nil {
			l.log.Info("joined", "party", l.who)
			told = ""
			began := time.Now()
			l.setConn(port)
			l.forwardMessages(ctx, port)
			l.setConn(nil)
			err = port.Close()
			if time.Since(began) >= maxReconnectDelay {
				wait = minReconnectDelay
			}
		}
		if ctx.Err() != nil {
			return
		}
		if why := fmt.Sprint(err); why != told || time.Since(said) >= relogInterval {
			l.log.Warn("not joined; trying again", "party", l.who, "wait", wait.String(), "err", err)
			told, said = why, time.Now()
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, maxReconnectDelay)
	}
}

func (l *reconnectingConn) setConn(p Conn) {
	l.mu.Lock()
	l.conn = p
	l.mu.Unlock()
}

func (l *reconnectingConn) forwardMessages(ctx context.Context, port Conn) {
	for m := range port.Messages() {
		select {
		case <-ctx.Done():
			return
		case l.messages <- m:
		}
	}
}

// Send implements Port. What cannot be sent now is lost.
func (l *reconnectingConn) Send(ctx context.Context, ms ...protocol.Message) error {
	if err := ValidateSend(l.who, ms); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	port := l.conn
	l.mu.Unlock()
	if port == nil {
		return nil
	}
	if err := port.Send(ctx, ms...); err != nil && ctx.Err() == nil {
		l.log.Warn("not sent", "party", l.who, "messages", len(ms), "err", err)
	}
	return ctx.Err()
}

// Messages implements Port.
func (l *reconnectingConn) Messages() <-chan protocol.Message { return l.messages }

// Close implements Port.
func (l *reconnectingConn) Close() error {
	l.cancel()
	<-l.closed
	return nil
}

// NewSplitConn returns a port of one party at two hubs: what it says to its own site's
// hands and feed goes to near, all else to far, and it hears both. So a site
// that is cut off goes on. It ends when either does.
func NewSplitConn(near, far Conn) Conn {
	b := &splitConn{near: near, far: far, messages: make(chan protocol.Message), shut: make(chan struct{})}
	b.done.Add(2)
	for _, p := range []Conn{near, far} {
		go b.forwardMessages(p)
	}
	go func() {
		b.done.Wait()
		close(b.messages)
	}()
	return b
}

type splitConn struct {
	near, far Conn
	messages  chan protocol.Message
	once      sync.Once
	shut      chan struct{}
	done      sync.WaitGroup
}

func (b *splitConn) forwardMessages(p Conn) {
	defer b.done.Done()
	defer b.stopForwarding()
	for {
		select {
		case <-b.shut:
			return
		case m, ok := <-p.Messages():
			if !ok {
				return
			}
			select {
			case <-b.shut:
				return
			case b.messages <- m:
			}
		}
	}
}

func (b *splitConn) stopForwarding() { b.once.Do(func() { close(b.shut) }) }

// Send implements Port.
func (b *splitConn) Send(ctx context.Context, ms ...protocol.Message) error {
	for i := 0; i < len(ms); {
		port := b.connFor(ms[i])
		j := i + 1
		for j < len(ms) && b.connFor(ms[j]) == port {
			j++
		}
		if err := port.Send(ctx, ms[i:j]...); err != nil {
			return err
		}
		i = j
	}
	return nil
}

func (b *splitConn) connFor(m protocol.Message) Conn {
	if m.To.IsPrivate() {
		return b.near
	}
	return b.far
}

// Messages implements Port.
func (b *splitConn) Messages() <-chan protocol.Message { return b.messages }

// Close implements Port.
func (b *splitConn) Close() error {
	b.stopForwarding()
	near, far := b.near.Close(), b.far.Close()
	b.done.Wait()
	if near != nil {
		return near
	}
	return far
}
