package natsbus

import (
	"cmp"
	"log/slog"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/gridbid/gridbid/protocol"
)

// A dropReason is a reason why a message is not delivered.
type dropReason int

const (
	delivered dropReason = iota
	forgedSender
	undecodable
	unknownMessageKind
	oldVersion
	tooNew
	rateExceeded
	queueFull
	messageTooLarge
	tooManySenders
	slowConsumer
	numDropReasons
)

// dropReasonTexts has for each reason its code and its explanation.
var dropReasonTexts = [numDropReasons][2]string{
	delivered:          {"sound", ""},
	forgedSender:       {"forged", "sent on a subject that names another sender, receiver or kind"},
	undecodable:        {"unreadable", "the bytes are no message of this protocol"},
	unknownMessageKind: {"unknown-kind", "the sender is newer than this program, which does not know the kind of message"},
	oldVersion:         {"old-version", "the sender speaks an older protocol version than this program reads: update the sender"},
	tooNew:             {"new-version", "the sender speaks a newer protocol version than this program reads: update this program"},
	rateExceeded:       {"too-fast", "more messages or bytes a second than one sender may send"},
	queueFull:          {"queue-full", "more bytes of one sender wait for delivery than may wait"},
	messageTooLarge:    {"too-large", "the message, or its headers, have more bytes than a sender may send at once"},
	tooManySenders:     {"stranger", "more senders than have limits of their own"},
	slowConsumer:       {"slow", "the receiver did not keep up, and its connection failed"},
}

// String returns the code of the reason.
func (f dropReason) String() string { return dropReasonTexts[f][0] }

// A DroppedMessages counts the messages of one sender that were not delivered for one reason.
type DroppedMessages struct {
	Sender string `json:"speaker"` // as in a subject: agent-oslo
	Code   string `json:"code"`
	Why    string `json:"why"`
	Count  uint64 `json:"count"`
}

// A dropCounter counts drops by sender, for a bounded number of senders.
type dropCounter struct {
	mu    sync.Mutex
	count map[string]*[numDropReasons]uint64
}

// otherSenders stands for all senders beyond that number.
const otherSenders = "others"

// countDrop counts a drop of a sender's message, and returns the count.
func (t *dropCounter) countDrop(who string, f dropReason) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count == nil {
		t.count = make(map[string]*[numDropReasons]uint64)
	}
	c := t.count[who]
	if c == nil {
		// Senders beyond the bound share one record, so that invented names cannot fill the memory.
		if len(t.count) >= maxSenders {
			who = otherSenders
		}
		if c = t.count[who]; c == nil {
			c = new([numDropReasons]uint64)
			// Clone: who is a part of the subject, which would otherwise stay in memory.
			t.count[strings.Clone(who)] = c
		}
	}
	c[f]++
	return c[f]
}

// DropsBySender returns how many messages were not delivered to the Bus's parties so
// far, by sender and code.
func (h *Bus) DropsBySender() (all []DroppedMessages) {
	h.drops.mu.Lock()
	defer h.drops.mu.Unlock()
	for _, who := range slices.SortedFunc(maps.Keys(h.drops.count), cmp.Compare[string]) {
		for f, n := range h.drops.count[who] {
			if n > 0 {
				all = append(all, DroppedMessages{who, dropReasonTexts[f][0], dropReasonTexts[f][1], n})
			}
		}
	}
	return all
}

// recordDelivery counts what became of a message. It logs a drop when its count is a power
// of two, so that a flood cannot fill the log.
func (h *Bus) recordDelivery(who protocol.Party, f dropReason, subj string, err error) {
	h.count[f].Add(1)
	if f == delivered {
		return
	}
	n := h.drops.countDrop(subjectSender(subj), f)
	if h.Log != nil && bits.OnesCount64(n) == 1 {
		h.Log.Warn("message dropped", "why", dropReasonTexts[f][1], "code", f.String(), "times", n, "listener", who, "subject", subj, slog.Any("err", err))
	}
}
