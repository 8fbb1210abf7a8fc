package protocol

import "strings"

// A Version counts the changes of the protocol that a reader of the version before
// would misunderstand. Every message carries the version of its sender. Within a
// version fields, columns and kinds are only added, and a reader that lacks them
// behaves as before; any other change raises [Current] (decision 0250).
//
//   - 1 (2026-11-20): first version
//   - 2 (2026-11-23): a Call carries the Planning that bids are meant by, and the most
//     bytes of an answer. A site of version 1 would bid by its built-in slot and
//     horizon whatever the call says, and its bus would thin its bids unseen.
type Version int

// Current is the version that this code sends, and the only one that it reads.
const Current Version = 2

// A Party names one speaker: "coordinator", "submitter", "agent/oslo",
// "hands/oslo", "feed/oslo", "queue/oslo". The empty Party is everyone.
type Party string

// Parties that a federation has one of.
const (
	Coordinator    Party = "coordinator"
	Submitter      Party = "submitter"
	Judge          Party = "judge" // asks a model; whom it listens to is the market's affair
	SnapshotSource Party = "books" // what is left of facts that nobody needs any more; on no bus
	InputRecorder  Party = "clerk" // writes down what a coordinator takes in; on no bus
	OperatorAPI    Party = "desk"  // where people ask a coordinator for something; it may cancel any job
)

// AgentParty names the agent of a site.
func AgentParty(site string) Party { return Party("agent/" + site) }

// ExecutorParty names what acts for a site's agent in its cluster.
func ExecutorParty(site string) Party { return Party("hands/" + site) }

// QueueParty names what takes in jobs from a site's own cluster. What it submits bears
// the site's name: ids and tenants are "SITE/...".
func QueueParty(site string) Party { return Party("queue/" + site) }

// SignalParty names what tells a site's agent the state of its grid.
func SignalParty(site string) Party { return Party("feed/" + site) }

// SiteName returns the site that p speaks for: "oslo" of "agent/oslo", or "".
func (p Party) SiteName() string {
	for i := range len(p) {
		if p[i] == '/' {
			return string(p[i+1:])
		}
	}
	return ""
}

// ShouldReceive reports whether p is to hear m: what is said to it, and what others say
// to everyone. Hands and feeds belong to their site alone, and the judge speaks
// to a stranger; they hear only what is said to them.
func (p Party) ShouldReceive(m Message) bool {
	return m.To == p || m.To == "" && m.From != p && !p.IsPrivate()
}

// IsPrivate reports whether p hears nothing that is said to everyone: it belongs to
// one site, or is the judge.
func (p Party) IsPrivate() bool {
	return p == Judge || strings.HasPrefix(string(p), "hands/") || strings.HasPrefix(string(p), "feed/")
}

// A Message is one sentence, said once. Two messages with the same From and
// Seq are the same message.
type Message struct {
	Version Version
	At      Time // when From said it, by From's clock
	From    Party
	Seq     uint64 // counts From's messages, from 1 in its first incarnation: see Sender
	To      Party
	Body    Body
}

// KindName names what m says, as it travels: "offer".
func (m Message) KindName() string { return m.Body.messageKind() }

// A Body is what a message says. The set is closed.
type Body interface{ messageKind() string }

// A Sender speaks for one party, numbering what it says.
type Sender struct {
	Party Party
	// Incarnation counts how often the party was begun anew, from 0, or says when it was:
	// see NextIncarnation. What it says in a later life has higher numbers than all it
	// said before, so that listeners neither take it for old nor heed what an
	// earlier life still says.
	Incarnation uint32
	seq         uint64
}

const (
	// messagesPerIncarnation is how many messages a party may say in one life that is counted.
	messagesPerIncarnation = 1 << 40
	// A life from dated on is the second of Unix time in which it began.
	firstDatedIncarnation = 1 << 24
	// messagesPerSecond is how many messages a party may say in each second of such a life. So
	// its numbers are above those of 1,600 lives that were counted, and within what
	// JSON's readers hold exactly.
	messagesPerSecond = 1 << 20
)

// IncarnationOf returns in which life a message of a number was said, and its count there,
// for a party whose lives are counted.
func IncarnationOf(seq uint64) (life, n uint64) {
	return seq / messagesPerIncarnation, seq % messagesPerIncarnation
}

// SequenceNumber returns the number of the nth message of a life.
func SequenceNumber(life, n uint64) uint64 {
	if life >= firstDatedIncarnation {
		return life*messagesPerSecond + n
	}
	return life*messagesPerIncarnation + n
}

// NextIncarnation returns the life of a party that begins now, where the last that it
// knows of is 0 for none. It is the second of now, so that it is above all lives
// before it, also if what told of them was lost; where the clock is behind, it is
// one after the last. If that began long after now, nobody knows how long it was,
// and so how much it said: there is room for that between them.
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

// incarnationMarginSeconds is how many seconds have numbers for all that a party says: 60 million messages.
const incarnationMarginSeconds = 60

// NewMessage returns body as a message from m to another party, at now.
func (m *Sender) NewMessage(now Time, to Party, body Body) Message {
	m.seq = max(m.seq, SequenceNumber(uint64(m.Incarnation), 0)) + 1
	return Message{Version: Current, At: now, From: m.Party, Seq: m.seq, To: to, Body: body}
}

// Deduplicator drop what a party has heard before. Invariant: a sender's messages
// arrive in the order of their Seq, perhaps twice, so the highest is enough.
type Deduplicator struct{ highest map[Party]uint64 }

// ForgetSender has whatever a party says next be new.
func (e *Deduplicator) ForgetSender(who Party) { delete(e.highest, who) }

// AdmitOnce reports whether m has not been heard before, and remembers it.
func (e *Deduplicator) AdmitOnce(m Message) bool {
	if m.Seq <= e.highest[m.From] {
		return false
	}
	if e.highest == nil {
		e.highest = make(map[Party]uint64)
	}
	e.highest[m.From] = m.Seq
	return true
}
