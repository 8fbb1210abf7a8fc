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
	Rate           float64 // messages a second in the long run
	Burst          int     // messages at once
	Bytes          int     // bytes a second in the long run, and twice that at once
	MaxQueuedBytes int     // bytes that may wait for delivery
	Size           int     // bytes of one message
}

// DefaultSiteLimits returns the limits for the coordinator of a federation of up to some
// hundred sites. A site that answers a round and settles a hundred jobs each
// second stays far below; one that floods costs the coordinator at most 8 MiB.
func DefaultSiteLimits() *Limits {
	return &Limits{Rate: 500, Burst: 2000, Bytes: 4 << 20, MaxQueuedBytes: 8 << 20, Size: 1 << 20}
}

// maxSenders bounds the number of senders with their own limits. A federation has
// fewer; messages of senders beyond it are dropped.
const maxSenders = 8192

// A fairQueue is a fair queue: it takes messages of all senders and returns one of
// each sender in turn. Invariant: what waits of one sender is within its limits.
type fairQueue struct {
	limits    Limits
	mailReady chan struct{} // holds one when there is mail

	mu       sync.Mutex
	bySender map[string]*senderQueue // by sender
	waiting  []*senderQueue          // those with mail, the next one first
}

// A senderQueue holds what waits of one sender, and how much it may still send.
type senderQueue struct {
	messageRate, byteRate *rate.Limiter
	mail                  []*nats.Msg // of one sender, in order
	size                  int
}

// newFairQueue returns an empty queue.
func newFairQueue(l Limits) *fairQueue {
	return &fairQueue{limits: l, mailReady: make(chan struct{}, 1), bySender: make(map[string]*senderQueue)}
}

// maxHeaderBytes bounds the bytes of a message's headers: the spans of its jobs take
// some 1,100. Headers take several times their size in memory.
const maxHeaderBytes = 4 << 10

// messageBytes returns the bytes of a message that count: data and headers.
func messageBytes(m *nats.Msg) int { return m.Size() - len(m.Subject) - len(m.Reply) }

// enqueueMessage adds m, or returns the reason for which it is dropped.
func (t *fairQueue) enqueueMessage(now time.Time, m *nats.Msg) dropReason {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The server has checked that the subject names the true sender.
	who := subjectSender(m.Subject)
	q := t.bySender[who]
	if q == nil {
		if len(t.bySender) >= maxSenders {
			return tooManySenders
		}
		q = &senderQueue{
			messageRate: rate.NewLimiter(rate.Limit(t.limits.Rate), t.limits.Burst),
			byteRate:    rate.NewLimiter(rate.Limit(t.limits.Bytes), 2*t.limits.Bytes),
		}
		t.bySender[strings.Clone(who)] = q
	}
	n := messageBytes(m)
	switch {
	// Size comes before the rates: a message that is refused for its size takes nothing from them.
	case n > t.limits.Size || n-len(m.Data) > maxHeaderBytes:
		return messageTooLarge
	case !q.messageRate.AllowN(now, 1) || !q.byteRate.AllowN(now, n):
		return rateExceeded
	case q.size+n > t.limits.MaxQueuedBytes:
		return queueFull
	}
	// A sender is in waiting once, while any of its messages wait.
	if len(q.mail) == 0 {
		t.waiting = append(t.waiting, q)
	}
	q.mail, q.size = append(q.mail, m), q.size+n
	// mailReady holds one signal; a second adds nothing, as the reader empties the queue.
	select {
	case t.mailReady <- struct{}{}:
	default:
	}
	return delivered
}

// dequeueMessage returns the next message, or nil when there is none.
func (t *fairQueue) dequeueMessage() *nats.Msg {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		return nil
	}
	q := t.waiting[0]
	// One message of each sender in turn: the sender goes to the end of the line.
	t.waiting = slices.Delete(t.waiting, 0, 1)
	m := q.mail[0]
	q.mail[0] = nil
	q.mail, q.size = q.mail[1:], q.size-messageBytes(m)
	if len(q.mail) > 0 {
		t.waiting = append(t.waiting, q)
	} else {
		q.mail = nil // release what a burst allocated
	}
	return m
}

// subjectSender returns the sender's token in a subject.
func subjectSender(subject string) string {
	who, _, _ := strings.Cut(strings.TrimPrefix(subject, subjectPrefix), ".")
	return who
}

// admitMessages puts incoming messages through the fair queue until the connection is closed.
func (p *natsConn) admitMessages(t *fairQueue) {
	for {
		select {
		case <-p.shut:
			return
		case m := <-p.raw:
			if f := t.enqueueMessage(time.Now(), m); f != delivered {
				p.bus.recordDelivery(p.who, f, m.Subject, nil)
			}
		}
	}
}

// nextRawMessage returns the next message to deliver; false when the connection is closed.
func (p *natsConn) nextRawMessage(t *fairQueue) (*nats.Msg, bool) {
	if t == nil {
		select {
		case <-p.shut:
			return nil, false
		case m := <-p.raw:
			return m, true
		}
	}
	for {
		// Take what waits before waiting for a signal: one signal may stand for many messages.
		if m := t.dequeueMessage(); m != nil {
			return m, true
		}
		select {
		case <-p.shut:
			return nil, false
		case <-t.mailReady:
		}
	}
}
