package natsbus

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"
)

// Limits bound the messages of each sender to a party, so that a flood from one is
// dropped and the others' messages are delivered. They are checked before
// decoding, by the sender in the subject, which the server enforces.
type Limits struct {
	Rate  float64 // messages a second in the long run
	Burst int     // messages at once
	Bytes int     // bytes a second in the long run, and twice that at once
	Queue int     // bytes that may wait for delivery
	Size  int     // bytes of one message
}

// SiteLimits returns the limits for the coordinator of a federation of up to some
// hundred sites. A site that answers a round and settles a hundred jobs each
// second stays far below; one that floods costs the coordinator at most 8 MiB.
func SiteLimits() *Limits {
	return &Limits{Rate: 500, Burst: 2000, Bytes: 4 << 20, Queue: 8 << 20, Size: 1 << 20}
}

// speakers bounds the number of senders with their own limits. A federation has
// fewer; messages of senders beyond it are dropped.
const speakers = 8192

// A turnstile is a fair queue: it takes messages of all senders and returns one of
// each sender in turn. Invariant: what waits of one sender is within its limits.
type turnstile struct {
	limits Limits
	some   chan struct{} // holds one when there is mail

	mu      sync.Mutex
	lines   map[string]*queue // by sender
	waiting []*queue          // those with mail, the next one first
}

type queue struct {
	pace, bytes *rate.Limiter
	mail        []*nats.Msg // of one sender, in order
	size        int
}

func newTurnstile(l Limits) *turnstile {
	return &turnstile{limits: l, some: make(chan struct{}, 1), lines: make(map[string]*queue)}
}

// mostHeader bounds the bytes of a message's headers: the spans of its jobs take
// some 1,100. Headers take several times their size in memory.
const mostHeader = 4 << 10

// weight returns the bytes of a message that count: data and headers.
func weight(m *nats.Msg) int { return m.Size() - len(m.Subject) - len(m.Reply) }

// put adds m, or returns the fault for which it is dropped.
func (t *turnstile) put(now time.Time, m *nats.Msg) fault {
	t.mu.Lock()
	defer t.mu.Unlock()
	who := speaker(m.Subject)
	q := t.lines[who]
	if q == nil {
		if len(t.lines) >= speakers {
			return tooMany
		}
		q = &queue{
			pace:  rate.NewLimiter(rate.Limit(t.limits.Rate), t.limits.Burst),
			bytes: rate.NewLimiter(rate.Limit(t.limits.Bytes), 2*t.limits.Bytes),
		}
		t.lines[strings.Clone(who)] = q
	}
	n := weight(m)
	switch {
	case n > t.limits.Size || n-len(m.Data) > mostHeader:
		return tooLarge
	case !q.pace.AllowN(now, 1) || !q.bytes.AllowN(now, n):
		return tooFast
	case q.size+n > t.limits.Queue:
		return tooMuch
	}
	if len(q.mail) == 0 {
		t.waiting = append(t.waiting, q)
	}
	q.mail, q.size = append(q.mail, m), q.size+n
	select {
	case t.some <- struct{}{}:
	default:
	}
	return sound
}

// take returns the next message, or nil when there is none.
func (t *turnstile) take() *nats.Msg {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		return nil
	}
	q := t.waiting[0]
	t.waiting = slices.Delete(t.waiting, 0, 1)
	m := q.mail[0]
	q.mail[0] = nil
	q.mail, q.size = q.mail[1:], q.size-weight(m)
	if len(q.mail) > 0 {
		t.waiting = append(t.waiting, q)
	} else {
		q.mail = nil // release what a burst allocated
	}
	return m
}

// speaker returns the sender's token in a subject.
func speaker(subject string) string {
	who, _, _ := strings.Cut(strings.TrimPrefix(subject, prefix), ".")
	return who
}

// sort puts incoming messages through the turnstile until the port is closed.
func (p *port) sort(t *turnstile) {
	for {
		select {
		case <-p.shut:
			return
		case m := <-p.raw:
			if f := t.put(time.Now(), m); f != sound {
				p.hub.note(p.who, f, m.Subject, nil)
			}
		}
	}
}

// next returns the next message to deliver; false when the port is closed.
func (p *port) next(t *turnstile) (*nats.Msg, bool) {
	if t == nil {
		select {
		case <-p.shut:
			return nil, false
		case m := <-p.raw:
			return m, true
		}
	}
	for {
		if m := t.take(); m != nil {
			return m, true
		}
		select {
		case <-p.shut:
			return nil, false
		case <-t.some:
		}
	}
}
