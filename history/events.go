package history

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A SiteEvent is what an operator did, or what changed at a site or with the coordinator: what a
// person asks first at night. What becomes of jobs is not among them.
type SiteEvent struct {
	At   protocol.Time
	Kind EventKind
	Site string // "" where it concerns all
	SiteCondition
	Policy uint64 // version, of EventPolicy
	Term   uint64 // of EventLeader
}

// An EventKind says what a SiteEvent is.
type EventKind string

// Kinds of events.
const (
	EventState      EventKind = "state"      // a site has come into another state
	EventRegistered EventKind = "registered" // a site takes part for the first time
	EventDrain      EventKind = "drain"
	EventUndrain    EventKind = "undrain"
	EventRemove     EventKind = "remove" // a site was declared gone
	EventRevoke     EventKind = "revoke"
	EventPolicy     EventKind = "policy"
	EventLeader     EventKind = "leader" // another coordinator leads, or the same began anew
)

// keptEvents bounds the events that a live view keeps: the newest.
const keptEvents = 1000

// Events returns what operators did and what changed at sites, in the order of the stream. The
// slice is the History's own.
func (b *History) Events() []SiteEvent { return b.events }

func (b *History) addEvent(e SiteEvent) {
	if b.cfg.Live && len(b.events) >= keptEvents {
		b.events = slices.Delete(b.events, 0, keptEvents/10)
	}
	b.events = append(b.events, e)
}

// noteTerm lists a change of the leader: the coordinator's messages carry the number of its term.
// The first term of a record is no change.
func (b *History) noteTerm(m protocol.Message) {
	if m.From != protocol.Coordinator {
		return
	}
	term, _ := protocol.IncarnationOf(m.Seq)
	if term > b.term && b.heardCoordinator {
		b.addEvent(SiteEvent{At: m.At, Kind: EventLeader, Term: term})
	}
	b.term, b.heardCoordinator = max(b.term, term), true
}
