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
	Coordinator Party = "coordinator"
	Submitter   Party = "submitter"
	Judge       Party = "judge" // asks a model; whom it listens to is the market's affair
	Books       Party = "books" // what is left of facts that nobody needs any more; on no bus
	Clerk       Party = "clerk" // writes down what a coordinator takes in; on no bus
	Desk        Party = "desk"  // where people ask a coordinator for something; it may cancel any job
)

// Agent names the agent of a site.
func Agent(site string) Party { return Party("agent/" + site) }

// Hands names what acts for a site's agent in its cluster.
func Hands(site string) Party { return Party("hands/" + site) }

// Queue names what takes in jobs from a site's own cluster. What it submits bears
// the site's name: ids and tenants are "SITE/...".
func Queue(site string) Party { return Party("queue/" + site) }

// Feed names what tells a site's agent the state of its grid.
func Feed(site string) Party { return Party("feed/" + site) }

// Site returns the site that p speaks for: "oslo" of "agent/oslo", or "".
func (p Party) Site() string {
	for i := range len(p) {
		if p[i] == '/' {
			return string(p[i+1:])
		}
	}
	return ""
}

// Hears reports whether p is to hear m: what is said to it, and what others say
// to everyone. Hands and feeds belong to their site alone, and the judge speaks
// to a stranger; they hear only what is said to them.
func (p Party) Hears(m Message) bool {
	return m.To == p || m.To == "" && m.From != p && !p.Private()
}

// Private reports whether p hears nothing that is said to everyone: it belongs to
// one site, or is the judge.
func (p Party) Private() bool {
	return p == Judge || strings.HasPrefix(string(p), "hands/") || strings.HasPrefix(string(p), "feed/")
}

// A Message is one sentence, said once. Two messages with the same From and
// Seq are the same message.
type Message struct {
	Version Version
	At      Time // when From said it, by From's clock
	From    Party
	Seq     uint64 // counts From's messages, from 1 in its first life: see Mouth
	To      Party
	Body    Body
}

// Kind names what m says, as it travels: "offer".
func (m Message) Kind() string { return m.Body.kind() }

// A Body is what a message says. The set is closed.
type Body interface{ kind() string }

// A Mouth speaks for one party, numbering what it says.
type Mouth struct {
	Who Party
	// Life counts how often the party was begun anew, from 0, or says when it was:
	// see NextLife. What it says in a later life has higher numbers than all it
	// said before, so that listeners neither take it for old nor heed what an
	// earlier life still says.
	Life uint32
	seq  uint64
}

const (
	// lifetime is how many messages a party may say in one life that is counted.
	lifetime = 1 << 40
	// A life from dated on is the second of Unix time in which it began.
	dated = 1 << 24
	// second is how many messages a party may say in each second of such a life. So
	// its numbers are above those of 1,600 lives that were counted, and within what
	// JSON's readers hold exactly.
	second = 1 << 20
)

// Lived returns in which life a message of a number was said, and its count there,
// for a party whose lives are counted.
func Lived(seq uint64) (life, n uint64) { return seq / lifetime, seq % lifetime }

// Lives returns the number of the nth message of a life.
func Lives(life, n uint64) uint64 {
	if life >= dated {
		return life*second + n
	}
	return life*lifetime + n
}

// NextLife returns the life of a party that begins now, where the last that it
// knows of is 0 for none. It is the second of now, so that it is above all lives
// before it, also if what told of them was lost; where the clock is behind, it is
// one after the last. If that began long after now, nobody knows how long it was,
// and so how much it said: there is room for that between them.
func NextLife(last uint32, now Time) uint32 {
	s := uint64(now / 1000)
	switch {
	case dated <= s && s <= 1<<32-1 && Lives(s, 0) > Lives(uint64(last)+1, 0):
		return uint32(s)
	case last >= dated && s < uint64(last)-amply:
		return last + amply
	}
	return last + 1
}

// amply is how many seconds have numbers for all that a party says: 60 million messages.
const amply = 60

// Say returns body as a message from m to another party, at now.
func (m *Mouth) Say(now Time, to Party, body Body) Message {
	m.seq = max(m.seq, Lives(uint64(m.Life), 0)) + 1
	return Message{Version: Current, At: now, From: m.Who, Seq: m.seq, To: to, Body: body}
}

// Ears drop what a party has heard before. Invariant: a sender's messages
// arrive in the order of their Seq, perhaps twice, so the highest is enough.
type Ears struct{ last map[Party]uint64 }

// Forget has whatever a party says next be new.
func (e *Ears) Forget(who Party) { delete(e.last, who) }

// New reports whether m has not been heard before, and remembers it.
func (e *Ears) New(m Message) bool {
	if m.Seq <= e.last[m.From] {
		return false
	}
	if e.last == nil {
		e.last = make(map[Party]uint64)
	}
	e.last[m.From] = m.Seq
	return true
}
