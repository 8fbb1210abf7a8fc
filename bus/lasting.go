package bus

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Lasting returns a port that joins hub as who, and joins again whenever it
// fails, until ctx ends or it is closed. What is said or heard meanwhile is
// lost, so it is for a machine that says again what it needs an answer to. Log
// hears of each failure; nil is silence.
func Lasting(ctx context.Context, hub Hub, who protocol.Party, log *slog.Logger) Port {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, end := context.WithCancel(ctx)
	l := &lasting{hub: hub, who: who, log: log, end: end, heard: make(chan protocol.Message), over: make(chan struct{})}
	go l.last(ctx)
	return l
}

type lasting struct {
	hub   Hub
	who   protocol.Party
	log   *slog.Logger
	end   context.CancelFunc
	heard chan protocol.Message
	over  chan struct{} // closed when the last port is

	mu   sync.Mutex
	port Port // nil while there is none
}

// How long it takes to join again: at first, and at most, doubling in between. A
// port that lasted for as long as that is, begins it anew. What keeps it from joining
// is said once more after repeat.
const (
	soon   = 50 * time.Millisecond
	late   = 5 * time.Second
	repeat = time.Minute
)

func (l *lasting) last(ctx context.Context) {
	defer close(l.over)
	defer close(l.heard)
	wait, told, said := soon, "", time.Time{}
	for ctx.Err() == nil {
		port, err := l.hub.Join(ctx, l.who)
		if err == nil {
			l.log.Info("joined", "party", l.who)
			told = ""
			began := time.Now()
			l.use(port)
			l.listen(ctx, port)
			l.use(nil)
			err = port.Close()
			if time.Since(began) >= late {
				wait = soon
			}
		}
		if ctx.Err() != nil {
			return
		}
		if why := fmt.Sprint(err); why != told || time.Since(said) >= repeat {
			l.log.Warn("not joined; trying again", "party", l.who, "wait", wait.String(), "err", err)
			told, said = why, time.Now()
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, late)
	}
}

func (l *lasting) use(p Port) {
	l.mu.Lock()
	l.port = p
	l.mu.Unlock()
}

func (l *lasting) listen(ctx context.Context, port Port) {
	for m := range port.Heard() {
		select {
		case <-ctx.Done():
			return
		case l.heard <- m:
		}
	}
}

// Say implements Port. What cannot be sent now is lost.
func (l *lasting) Say(ctx context.Context, ms ...protocol.Message) error {
	if err := CheckSay(l.who, ms); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	port := l.port
	l.mu.Unlock()
	if port == nil {
		return nil
	}
	if err := port.Say(ctx, ms...); err != nil && ctx.Err() == nil {
		l.log.Warn("not sent", "party", l.who, "messages", len(ms), "err", err)
	}
	return ctx.Err()
}

// Heard implements Port.
func (l *lasting) Heard() <-chan protocol.Message { return l.heard }

// Close implements Port.
func (l *lasting) Close() error {
	l.end()
	<-l.over
	return nil
}

// Apart returns a port of one party at two hubs: what it says to its own site's
// hands and feed goes to near, all else to far, and it hears both. So a site
// that is cut off goes on. It ends when either does.
func Apart(near, far Port) Port {
	b := &apart{near: near, far: far, heard: make(chan protocol.Message), shut: make(chan struct{})}
	b.done.Add(2)
	for _, p := range []Port{near, far} {
		go b.pass(p)
	}
	go func() {
		b.done.Wait()
		close(b.heard)
	}()
	return b
}

type apart struct {
	near, far Port
	heard     chan protocol.Message
	once      sync.Once
	shut      chan struct{}
	done      sync.WaitGroup
}

func (b *apart) pass(p Port) {
	defer b.done.Done()
	defer b.stop()
	for {
		select {
		case <-b.shut:
			return
		case m, ok := <-p.Heard():
			if !ok {
				return
			}
			select {
			case <-b.shut:
				return
			case b.heard <- m:
			}
		}
	}
}

func (b *apart) stop() { b.once.Do(func() { close(b.shut) }) }

// Say implements Port.
func (b *apart) Say(ctx context.Context, ms ...protocol.Message) error {
	for i := 0; i < len(ms); {
		port := b.side(ms[i])
		j := i + 1
		for j < len(ms) && b.side(ms[j]) == port {
			j++
		}
		if err := port.Say(ctx, ms[i:j]...); err != nil {
			return err
		}
		i = j
	}
	return nil
}

func (b *apart) side(m protocol.Message) Port {
	if m.To.Private() {
		return b.near
	}
	return b.far
}

// Heard implements Port.
func (b *apart) Heard() <-chan protocol.Message { return b.heard }

// Close implements Port.
func (b *apart) Close() error {
	b.stop()
	near, far := b.near.Close(), b.far.Close()
	b.done.Wait()
	if near != nil {
		return near
	}
	return far
}
