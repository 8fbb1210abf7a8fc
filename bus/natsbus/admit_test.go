package natsbus

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"
)

// For any messages: what waits of a sender stays within its limits, what was
// accepted is delivered once and in the order of its sender, and no sender waits for
// more than one message of each other speaker.
func TestTurnstile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limits{Rate: 5, Burst: 10, Bytes: 200, MaxQueuedBytes: 300, Size: 100}
		s := newFairQueue(l)
		now := time.Unix(0, 0)
		waits := make(map[string][]string)
		size := make(map[string]int)
		said := make(map[string]int)
		passed := make(map[string]int) // messages of others since a speaker began to wait
		for i := range rapid.IntRange(1, 300).Draw(t, "steps") {
			who := fmt.Sprintf("agent-%d", rapid.IntRange(0, 3).Draw(t, "who"))
			if rapid.IntRange(0, 2).Draw(t, "do") > 0 {
				m := &nats.Msg{Subject: subjectPrefix + who + ".coordinator.offer", Data: make([]byte, rapid.IntRange(0, 120).Draw(t, "size")), Reply: strconv.Itoa(i)}
				now = now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "ms")) * time.Millisecond)
				f := s.enqueueMessage(now, m)
				if n := len(m.Data); n > l.Size != (f == messageTooLarge) || n <= l.Size && size[who]+n > l.MaxQueuedBytes && f == delivered {
					t.Fatalf("%d bytes with %d waiting: %v", n, size[who], f)
				}
				if f == delivered {
					if len(waits[who]) == 0 {
						passed[who] = 0
					}
					waits[who] = append(waits[who], m.Reply)
					size[who] += len(m.Data)
					said[who] += len(m.Data)
				}
				if most := 2*l.Bytes + int(float64(l.Bytes)*now.Sub(time.Unix(0, 0)).Seconds()) + 1; said[who] > most {
					t.Fatalf("%s sent %d bytes; the limit is %d", who, said[who], most)
				}
				continue
			}
			m := s.dequeueMessage()
			if m == nil {
				for who, w := range waits {
					if len(w) > 0 {
						t.Fatalf("%s waits and is not delivered", who)
					}
				}
				continue
			}
			who = subjectSender(m.Subject)
			if len(waits[who]) == 0 || waits[who][0] != m.Reply {
				t.Fatalf("%s: delivered %s; %v wait", who, m.Reply, waits[who])
			}
			waits[who], size[who] = waits[who][1:], size[who]-len(m.Data)
			for other, w := range waits {
				if other != who && len(w) > 0 {
					if passed[other]++; passed[other] > 3 {
						t.Fatalf("%s waits for %d messages of others", other, passed[other])
					}
				}
			}
			passed[who] = 0
		}
	})
}

// Short messages with long headers count as much as long messages.
func TestHeadersCount(t *testing.T) {
	now, subject := time.Unix(0, 0), subjectPrefix+"agent-oslo.coordinator.offer"
	under := func(header int) *nats.Msg {
		return &nats.Msg{Subject: subject, Header: nats.Header{"X": {string(make([]byte, header))}}}
	}
	s := newFairQueue(Limits{Rate: 1, Burst: 100, Bytes: 10_000, MaxQueuedBytes: 5000, Size: 10_000})
	if f := s.enqueueMessage(now, under(maxHeaderBytes)); f != messageTooLarge {
		t.Errorf("endless headers: %v", f)
	}
	for i, want := range []dropReason{delivered, delivered, queueFull} {
		if f := s.enqueueMessage(now, under(2000)); f != want {
			t.Errorf("headers of 2,000 bytes, time %d: %v, want %v", i+1, f, want)
		}
	}
	for s.dequeueMessage() != nil {
	}
	if f := s.enqueueMessage(now, under(2000)); f != delivered {
		t.Errorf("when nothing waits: %v", f)
	}
}

func TestSpeakersAreBounded(t *testing.T) {
	s, c := newFairQueue(*DefaultSiteLimits()), dropCounter{}
	for i := range maxSenders + 10 {
		name := fmt.Sprintf("agent-%d", i)
		if f := s.enqueueMessage(time.Unix(0, 0), &nats.Msg{Subject: subjectPrefix + name + ".x.y"}); (f == tooManySenders) != (i >= maxSenders) {
			t.Fatalf("speaker %d: %v", i, f)
		}
		c.countDrop(name, forgedSender)
	}
	if len(c.count) != maxSenders+1 || c.count[otherSenders][forgedSender] != 10 {
		t.Errorf("%d speakers counted, %v others", len(c.count), c.count[otherSenders])
	}
}
