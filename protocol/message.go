package protocol

import (
	"slices"
	"strings"
)

// A Version counts the changes of the protocol that a reader of the version before would
// misunderstand. Every message carries the version of its sender. Within a version fields, columns
// and kinds are only added, and a reader that lacks them behaves as before; any other change
// raises [Current] (decision 0250).
//
//   - 1 (2026-11-20): first version
//   - 2 (2026-11-23): a CallForBids carries the Planning in which bids are meant, and the largest
//     size of an answer. A site of version 1 would bid by its built-in slot and horizon whatever
//     the call contains, and its bus would drop options from its bids silently.
//   - 3 (2026-11-23): a Job has an Urgency in place of a flag "deferrable", and Weights have a price
//     of waiting for each and a limit of what lateness costs. A reader of version 2 would take
//     every job for one that cannot wait, and rank options by prices that the market does not use.
type Version int

// Current is the version that this code sends, and the only one that it reads.
const Current Version = 3

// A Party identifies a sender or receiver: "coordinator", "submitter", "agent/oslo", "hands/oslo",
// "feed/oslo", "queue/oslo", "tenant/vision". An empty To means all parties.
type Party string

// Parties that a federation has one of.
const (
	Coordinator    Party = "coordinator"
	Submitter      Party = "submitter"
	Judge          Party = "judge" // asks a language model (coordinator/advisor)
	SnapshotSource Party = "books" // sender of a log's Snapshot entries; never on a bus
	InputRecorder  Party = "clerk" // sender of a log's InputLog entries; never on a bus
	OperatorAPI    Party = "desk"  // coordinator/api, for operators; it may cancel any job
)

// AgentParty returns the party of a site's agent.
func AgentParty(site string) Party { return Party("agent/" + site) }

// ExecutorParty returns the party of a site's executor, which runs jobs on its cluster.
func ExecutorParty(site string) Party { return Party("hands/" + site) }

// QueueParty returns the party that submits jobs of a site's own cluster. Ids and tenants of its
// jobs begin with "SITE/".
func QueueParty(site string) Party { return Party("queue/" + site) }

// SignalParty returns the party of a site's grid signal source.
func SignalParty(site string) Party { return Party("feed/" + site) }

// SiteName returns the site of p: "oslo" for "agent/oslo"; "" if p has none.
func (p Party) SiteName() string {
	if p.TenantName() != "" {
		return ""
	}
	for i := range len(p) {
		if p[i] == '/' {
			return string(p[i+1:])
		}
	}
	return ""
}

// ShouldReceive reports whether p receives m: messages to it, and broadcasts of others that concern it (OnlyTo).
// Private parties receive no broadcasts.
func (p Party) ShouldReceive(m Message) bool {
	if m.To != "" || m.From == p || p.IsPrivate() {
		return m.To == p
	}
	only := m.OnlyTo()
	return only == nil || slices.Contains(only, p)
}

// OnlyTo returns the parties that alone receive a broadcast, where it says whom it concerns: a call that does not
// ask all sites the agents of those that it asks, a settlement the agent of its site and the submitter. nil: all
// parties that receive broadcasts.
func (m Message) OnlyTo() (only []Party) {
	if m.To != "" {
		return nil
	}
	switch b := m.Body.(type) {
	case CallForBids:
		for _, site := range b.AskedSites() {
			only = append(only, AgentParty(site))
		}
	case Settlement:
		only = []Party{AgentParty(b.Site), Submitter}
	}
	return only
}

// IsPrivate reports whether p receives no broadcasts. Executors and signal sources belong to one
// site, tenants see their own affairs only, and the judge's model is a third party: none of them may
// see the market's traffic.
func (p Party) IsPrivate() bool {
	return p == Judge || p.TenantName() != "" || strings.HasPrefix(string(p), "hands/") || strings.HasPrefix(string(p), "feed/")
}

// A Message is one message of a party. Two messages with the same From and Seq are the same
// message.
type Message struct {
	Version Version
	At      Time // when From sent it, by From's clock
	From    Party
	Seq     uint64 // counts From's messages, from 1 in its first incarnation: see Sender
	To      Party
	Body    Body

	Signature *Signature // of From; nil: none
}

// KindName returns the kind of m as it is encoded, such as "offer" for Bids.
func (m Message) KindName() string { return m.Body.messageKind() }

// A Body is the content of a message. The set of types is closed.
type Body interface{ messageKind() string }

// A Sender numbers the messages of one party.
type Sender struct {
	Party Party
	// Incarnation counts the party's restarts from 0, or is the time of the last one: see
	// NextIncarnation. Messages of a later incarnation have higher numbers than all of earlier
	// ones, so receivers neither take them for duplicates nor accept what a former process still
	// sends.
	Incarnation uint32
	seq         uint64
}

const (
	// messagesPerIncarnation is how many messages a party may send in a counted incarnation.
	messagesPerIncarnation = 1 << 40
	// An incarnation from firstDatedIncarnation on is the second of Unix time in which it began
	// (decision 0034).
	firstDatedIncarnation = 1 << 24
	// messagesPerSecond is how many messages a party may send per second of a dated incarnation.
	// With it the numbers lie above those of 1,600 counted incarnations, and below 2^53, which
	// JSON readers hold exactly.
	messagesPerSecond = 1 << 20
)

// IncarnationOf returns the incarnation and the count within it of a sequence number, for a party
// with counted incarnations.
func IncarnationOf(seq uint64) (incarnation, n uint64) {
	return seq / messagesPerIncarnation, seq % messagesPerIncarnation
}

// SequenceNumber returns the number of the nth message of an incarnation.
func SequenceNumber(incarnation, n uint64) uint64 {
	if incarnation >= firstDatedIncarnation {
		return incarnation*messagesPerSecond + n
	}
	return incarnation*messagesPerIncarnation + n
}

// NextIncarnation returns the incarnation of a party that starts now; last is its latest known
// one, 0 for none. It is the second of now, which is above all earlier ones even if their record
// was lost. If the clock is behind, it is one after last. If last lies far ahead of now, how long
// that incarnation ran, and so how many messages it sent, is unknown: incarnationMarginSeconds
// leave numbers for them.
func NextIncarnation(last uint32, now Time) uint32 {
	s := uint64(now / 1000)
	switch {
	case firstDatedIncarnation <= s && s <= 1<<32-1 && SequenceNumber(s, 0) > SequenceNumber(uint64(last)+1, 0):
		return uint32(s)
	case last >= firstDatedIncarnation && s < uint64(last)-incarnationMarginSeconds:
		return last + incarnationMarginSeconds
	}
	return last + 1
}

// incarnationMarginSeconds is how many seconds' numbers are left for an incarnation of unknown
// length: 60 million messages.
const incarnationMarginSeconds = 60

// NewMessage returns a message with the sender's next sequence number.
func (m *Sender) NewMessage(now Time, to Party, body Body) Message {
	m.seq = max(m.seq, SequenceNumber(uint64(m.Incarnation), 0)) + 1
	return Message{Version: Current, At: now, From: m.Party, Seq: m.seq, To: to, Body: body}
}

// A Deduplicator drops messages that a party has received before. Invariant: a sender's messages
// arrive in the order of their Seq, perhaps twice, so the highest one suffices.
type Deduplicator struct{ highest map[Party]uint64 }

// ForgetSender makes the next message of a sender new, whatever its number.
func (e *Deduplicator) ForgetSender(who Party) { delete(e.highest, who) }

// IsDuplicate reports whether m is not new.
func (e *Deduplicator) IsDuplicate(m Message) bool { return m.Seq <= e.highest[m.From] }

// AdmitOnce reports whether m is new, and remembers it.
func (e *Deduplicator) AdmitOnce(m Message) bool {
	if e.IsDuplicate(m) {
		return false
	}
	if e.highest == nil {
		e.highest = make(map[Party]uint64)
	}
	e.highest[m.From] = m.Seq
	return true
}
