package natsbus

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"
)

// Limits bound what each speaker may say to a party, so that one who floods it
// is dropped and the others are heard. They hold before a message is decoded,
// and by the subject, which the server vouches for.
type Limits struct {
	Rate  float64 // messages a second, over a long time
	Burst int     // messages at once
	Bytes int     // bytes a second over a long time, and twice that at once
	Queue int     // bytes that may wait to be heard
	Size  int     // bytes of one message
}

// SiteLimits are for the coordinator of a federation of up to some hundred
// sites. A site that answers a round each second and settles a hundred jobs in
// it stays far below; one that floods costs the coordinator at most 8 MiB.
func SiteLimits() *Limits {
	return &Limits{Rate: 500, Burst: 2000, Bytes: 4 << 20, Queue: 8 << 20, Size: 1 << 20}
}

// speakers is how many speakers are told apart. A federation has fewer; who
// passes the server under yet another name is not heard.
const speakers = 8192

// A turnstile takes in messages from all speakers, and hands them on one of each
// speaker in turn. Invariant: what waits of one speaker stays within its limits.
type turnstile struct {
	limits Limits
	some   chan struct{} // holds one when there is mail

	mu      sync.Mutex
	lines   map[string]*queue // by speaker
	waiting []*queue          // those with mail, next first
}

type queue struct {
	pace, bytes *rate.Limiter
	mail        []*nats.Msg // of one speaker, in its order
	size        int
}

func newTurnstile(l Limits) *turnstile {
	return &turnstile{limits: l, some: make(chan struct{}, 1), lines: make(map[string]*queue)}
}

// mostHeader is how many bytes of headers a message may have: the spans of its jobs
// take some 1,100. In memory they are several times as large.
const mostHeader = 4 << 10

// weight is how many bytes of a message count: its headers', too.
func weight(m *nats.Msg) int { return m.Size() - len(m.Subject) - len(m.Reply) }

// put takes in m, or says why not.
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
		q.mail = nil // let go of what a burst took
	}
	return m
}

// speaker returns who speaks on a subject of ours.
func speaker(subject string) string {
	who, _, _ := strings.Cut(strings.TrimPrefix(subject, prefix), ".")
	return who
}

// sort passes what comes through the turnstile until the port is over.
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

// next returns the next message that is to be heard; false when the port is over.
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
