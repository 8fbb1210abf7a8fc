package bus

import (
	"context"
	"sync"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// An outbox writes facts down while their machine goes on, and says what follows
// from them once they are kept. Words that bind nobody go past it. So whatever
// leaves is numbered as it leaves: listeners take a lower number for old.
type outbox struct {
	loop  *Loop
	port  Port
	queue chan parcel
	done  chan struct{} // closed when no more leaves
	err   error         // why, then

	mu   sync.Mutex // of what leaves
	last uint64     // number that was given
}

// A parcel is what came of one turn of a loop.
type parcel struct{ heard, said, facts []protocol.Message }

// lull is how long facts from which nothing follows wait for others, to be
// written down with them.
const lull = 100 * time.Millisecond

func newOutbox(ctx context.Context, l *Loop, port Port) *outbox {
	o := &outbox{loop: l, port: port, queue: make(chan parcel, atOnce), done: make(chan struct{})}
	go func() {
		defer close(o.done)
		for p := range o.queue {
			if o.err = o.send(ctx, o.join(p)); o.err != nil {
				return
			}
		}
	}()
	return o
}

// put has a parcel kept and said after those before it.
func (o *outbox) put(p parcel) {
	select {
	case o.queue <- p:
	case <-o.done:
	}
}

// close ends the outbox when it is empty, and returns why it ended before.
func (o *outbox) close() error {
	close(o.queue)
	<-o.done
	return o.err
}

// join adds what waits to a parcel: one write serves it all.
func (o *outbox) join(p parcel) parcel {
	over := time.NewTimer(lull)
	defer over.Stop()
	for {
		var more parcel
		open := true
		if len(p.said) > 0 {
			select {
			case more, open = <-o.queue:
			default:
				return p
			}
		} else {
			select {
			case more, open = <-o.queue:
			case <-over.C:
				return p
			}
		}
		if !open {
			return p
		}
		p.heard, p.said, p.facts = append(p.heard, more.heard...), append(p.said, more.said...), append(p.facts, more.facts...)
	}
}

func (o *outbox) send(ctx context.Context, p parcel) error {
	if len(p.facts) > 0 {
		if err := o.loop.Keep(ctx, p.facts); err != nil {
			return err
		}
	}
	return o.say(ctx, p.heard, p.said)
}

// say numbers words and sends them.
func (o *outbox) say(ctx context.Context, heard, said []protocol.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range said {
		o.last = max(o.last+1, said[i].Seq)
		said[i].Seq = o.last
	}
	if len(said) > 0 {
		if err := o.port.Say(ctx, said...); err != nil {
			return err
		}
	}
	if o.loop.Told != nil && len(heard)+len(said) > 0 {
		o.loop.Told(heard, said)
	}
	return nil
}
