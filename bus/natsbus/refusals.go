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

// A fault is a reason why a message is not delivered.
type fault int

const (
	sound fault = iota
	forged
	unreadable
	unknownKind
	tooOld
	tooNew
	tooFast
	tooMuch
	tooLarge
	tooMany
	slow
	faults
)

// words has for each fault its code and its explanation.
var words = [faults][2]string{
	sound:       {"sound", ""},
	forged:      {"forged", "said under a subject that names another speaker, listener or kind"},
	unreadable:  {"unreadable", "the bytes are no message of this language"},
	unknownKind: {"unknown-kind", "the speaker is newer: it says what this version does not know"},
	tooOld:      {"old-version", "the sender speaks an older protocol version than this program reads: update the sender"},
	tooNew:      {"new-version", "the sender speaks a newer protocol version than this program reads: update this program"},
	tooFast:     {"too-fast", "more messages or bytes a second than one speaker may say"},
	tooMuch:     {"queue-full", "more bytes wait to be heard than one speaker may have waiting"},
	tooLarge:    {"too-large", "one message has more bytes than a speaker may say at once"},
	tooMany:     {"stranger", "more speakers than are told apart"},
	slow:        {"slow", "the listener did not keep up, and its port failed"},
}

func (f fault) String() string { return words[f][0] }

// A Refusal counts the messages of one sender that were not delivered for one reason.
type Refusal struct {
	Speaker string `json:"speaker"` // as in a subject: agent-oslo
	Code    string `json:"code"`
	Why     string `json:"why"`
	Count   uint64 `json:"count"`
}

// A tally counts faults by sender, for a bounded number of senders.
type tally struct {
	mu    sync.Mutex
	count map[string]*[faults]uint64
}

// others stands for all senders beyond that number.
const others = "others"

// add counts a fault of a sender, and returns its count.
func (t *tally) add(who string, f fault) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count == nil {
		t.count = make(map[string]*[faults]uint64)
	}
	c := t.count[who]
	if c == nil {
		if len(t.count) >= speakers {
			who = others
		}
		if c = t.count[who]; c == nil {
			c = new([faults]uint64)
			t.count[strings.Clone(who)] = c
		}
	}
	c[f]++
	return c[f]
}

// Refusals returns how many messages were not delivered to the hub's parties so
// far, by sender and code.
func (h *Hub) Refusals() (all []Refusal) {
	h.refused.mu.Lock()
	defer h.refused.mu.Unlock()
	for _, who := range slices.SortedFunc(maps.Keys(h.refused.count), cmp.Compare[string]) {
		for f, n := range h.refused.count[who] {
			if n > 0 {
				all = append(all, Refusal{who, words[f][0], words[f][1], n})
			}
		}
	}
	return all
}

// note counts what became of a message. It logs a fault when its count is a power
// of two, so that a flood cannot fill the log.
func (h *Hub) note(who protocol.Party, f fault, subj string, err error) {
	h.count[f].Add(1)
	if f == sound {
		return
	}
	n := h.refused.add(speaker(subj), f)
	if h.Log != nil && bits.OnesCount64(n) == 1 {
		h.Log.Warn("message dropped", "why", words[f][1], "code", f.String(), "times", n, "listener", who, "subject", subj, slog.Any("err", err))
	}
}
