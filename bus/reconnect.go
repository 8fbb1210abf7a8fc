package bus

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// NewReconnectingConn returns a connection that connects who to b, and reconnects whenever it fails,
// until ctx ends or it is closed. What is sent in between is lost, so it is for machines that
// retransmit whatever needs an answer. It logs each failure to log; nil: no log.
func NewReconnectingConn(ctx context.Context, b Bus, who protocol.Party, log *slog.Logger) Conn {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, end := context.WithCancel(ctx)
	l := &reconnectingConn{bus: b, who: who, log: log, cancel: end, messages: make(chan protocol.Message, forwarded), closed: make(chan struct{})}
	go l.reconnectUntilDone(ctx)
	return l
}

// A reconnectingConn implements Conn over a sequence of connections.
type reconnectingConn struct {
	bus      Bus
	who      protocol.Party
	log      *slog.Logger
	cancel   context.CancelFunc
	messages chan protocol.Message
	closed   chan struct{} // closed when the last connection is

	mu   sync.Mutex
	conn Conn // nil while disconnected
}

// The delay before a reconnect: at first, and at most, doubling in between. A connection that
// lasted maxReconnectDelay resets it. The same failure is logged once per relogInterval.
const (
	minReconnectDelay = 50 * time.Millisecond
	maxReconnectDelay = 5 * time.Second
	relogInterval     = time.Minute
)

// forwarded is how many messages may wait between two connections, so that a loop finds what came
// together and processes it in one turn.
const forwarded = 64

// reconnectUntilDone connects and forwards until ctx ends.
func (l *reconnectingConn) reconnectUntilDone(ctx context.Context) {
	defer close(l.closed)
	defer close(l.messages)
	wait, logged, loggedAt := minReconnectDelay, "", time.Time{}
	for ctx.Err() == nil {
		conn, err := l.bus.Connect(ctx, l.who)
		if err == nil {
			l.log.Info("connected", "party", l.who)
			logged = ""
			began := time.Now()
			l.setConn(conn)
			l.forwardMessages(ctx, conn)
			l.setConn(nil)
			err = conn.Close()
			if time.Since(began) >= maxReconnectDelay {
				wait = minReconnectDelay
			}
		}
		if ctx.Err() != nil {
			return
		}
		if why := fmt.Sprint(err); why != logged || time.Since(loggedAt) >= relogInterval {
			l.log.Warn("not connected; trying again", "party", l.who, "wait", wait.String(), "err", err)
			logged, loggedAt = why, time.Now()
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, maxReconnectDelay)
	}
}

// setConn sets the connection that Send uses; nil: there is none.
func (l *reconnectingConn) setConn(p Conn) {
	l.mu.Lock()
	l.conn = p
	l.mu.Unlock()
}

// forwardMessages passes messages on until the connection or ctx ends.
func (l *reconnectingConn) forwardMessages(ctx context.Context, conn Conn) {
	for m := range conn.Messages() {
		select {
		case <-ctx.Done():
			return
		case l.messages <- m:
		}
	}
}

// Send implements Conn. What cannot be sent now is lost.
func (l *reconnectingConn) Send(ctx context.Context, ms ...protocol.Message) error {
	if err := ValidateSend(l.who, ms); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	conn := l.conn
	l.mu.Unlock()
	if conn == nil {
		return nil
	}
	if err := conn.Send(ctx, ms...); err != nil && ctx.Err() == nil {
		l.log.Warn("not sent", "party", l.who, "messages", len(ms), "err", err)
	}
	return ctx.Err()
}

// Messages implements Conn.
func (l *reconnectingConn) Messages() <-chan protocol.Message { return l.messages }

// Close implements Conn.
func (l *reconnectingConn) Close() error {
	l.cancel()
	<-l.closed
	return nil
}

// NewSplitConn returns a connection of one party to two buses: what it sends to its site's executor and
// signal source goes to near, all else to far, and it receives from both. So a site that is cut
// off from the coordinator keeps running. It ends when either connection does.
func NewSplitConn(near, far Conn) Conn {
	b := &splitConn{near: near, far: far, messages: make(chan protocol.Message, forwarded), shut: make(chan struct{})}
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

// A splitConn implements Conn over two connections.
type splitConn struct {
	near, far Conn
	messages  chan protocol.Message
	once      sync.Once
	shut      chan struct{}
	done      sync.WaitGroup
}

// forwardMessages passes messages on until p or the other connection ends.
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

// stopForwarding ends both forwarders.
func (b *splitConn) stopForwarding() { b.once.Do(func() { close(b.shut) }) }

// Send implements Conn. It sends runs of messages for the same bus together.
func (b *splitConn) Send(ctx context.Context, ms ...protocol.Message) error {
	for i := 0; i < len(ms); {
		conn := b.connFor(ms[i])
		j := i + 1
		for j < len(ms) && b.connFor(ms[j]) == conn {
			j++
		}
		if err := conn.Send(ctx, ms[i:j]...); err != nil {
			return err
		}
		i = j
	}
	return nil
}

// connFor returns the connection for a message.
func (b *splitConn) connFor(m protocol.Message) Conn {
	if m.To.IsPrivate() {
		return b.near
	}
	return b.far
}

// Messages implements Conn.
func (b *splitConn) Messages() <-chan protocol.Message { return b.messages }

// Close implements Conn.
func (b *splitConn) Close() error {
	b.stopForwarding()
	near, far := b.near.Close(), b.far.Close()
	b.done.Wait()
	if near != nil {
		return near
	}
	return far
}
