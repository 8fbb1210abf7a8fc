// Package notary keeps the log of a live coordinator, a Merkle tree over all that the market hears
// and says, and lets others check it. It is a machine around the market: what comes in and goes out
// passes through unchanged, becomes an entry of the log, and is answered where it binds.
//
//   - Who sends a Submit or Bids gets a signed receipt: the place of the message in the log.
//   - All parties get the signed head of the log once a round, and at the latest [Config.HeadEvery]
//     after something was logged.
//   - Each site gets what a clearing read of it: its trust factor and its capacity.
//
// The entries of a step are events. They are stored before anything of the step is sent, so a later
// coordinator goes on with the same log, and the heads of both are consistent.
//
// Package protocol/proof has the arithmetic, package verify reads the log as somebody who does not
// trust its writer. docs/proof.md says what follows from it.
package notary

import (
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
)

// Config is what a coordinator needs for its log.
type Config struct {
	Key       note.Signer   // of heads and receipts; all coordinators of a federation share it
	Salts     proof.SaltKey // the secret from which salts come; shared too
	HeadEvery time.Duration // default 1m
}

// A Market is the machine inside: coordinator/market's.
type Market interface {
	Step(now protocol.Time, m protocol.Message) []protocol.Message
	RefuseDuplicate(m protocol.Message) bool
	Tick(now protocol.Time) []protocol.Message
	Due() protocol.Time
	Events() []protocol.Message
	Restore(protocol.Message)
	BeginIncarnation(incarnation uint32)
	NewMessage(now protocol.Time, to protocol.Party, b protocol.Body) protocol.Message
}

// A Notary is a market with its log, and a bus.EventSourced machine.
type Notary struct {
	cfg    Config
	rules  string // the market's settings as JSON
	market Market
	sender protocol.Sender

	tree      proof.Tree
	head      uint64         // size of the log at the last head
	headDue   protocol.Time  // 0: nothing was logged since the last head
	round     uint64         // opened last
	clearings []siteClearing // of this step
	begun     bool

	entries protocol.LogEntries // of this step
	events  []protocol.Message  // of the latest Step or Tick
}

// New returns a notary without a market. Rules are the market's settings as JSON, which it logs. The
// caller makes a market whose rule is observed (see [Notary.ObserveRule]), and passes it to Surround
// before anything else.
func New(cfg Config, rules string) *Notary {
	if cfg.HeadEvery == 0 {
		cfg.HeadEvery = time.Minute
	}
	return &Notary{cfg: cfg, rules: rules, sender: protocol.Sender{Party: protocol.LogWriter}}
}

// Surround sets the market. Only the notary may step it from then on.
func (n *Notary) Surround(m Market) { n.market = m }

// Restore applies an event of earlier incarnations. The error says that the log cannot go on.
func (n *Notary) Restore(m protocol.Message) error {
	b, ok := m.Body.(protocol.LogEntries)
	switch {
	case m.From == protocol.LogWriter && !ok:
		return nil
	case !ok:
		n.market.Restore(m)
		return nil
	}
	size, err := ExtendTree(&n.tree, b)
	if err != nil {
		return fmt.Errorf("notary: event %d of the log: %w", m.Seq, err)
	}
	if len(b.Entries) > 0 {
		n.round = b.Entries[len(b.Entries)-1].Round
	}
	if b.Head {
		n.head = size
		n.tree.Prune()
	}
	return nil
}

// ExtendTree adds stored entries to a tree, and returns its size.
func ExtendTree(tree *proof.Tree, b protocol.LogEntries) (uint64, error) {
	if tree.Size() == 0 && len(b.Edge) > 0 {
		begun, err := proof.NewTree(b.First, b.Edge)
		if err != nil {
			return 0, err
		}
		*tree = *begun
	}
	if tree.Size() != b.First {
		return 0, fmt.Errorf("entries from %d on follow a log of %d", b.First, tree.Size())
	}
	for _, e := range b.Entries {
		if err := tree.Append(e.Leaf); err != nil {
			return 0, err
		}
	}
	return tree.Size(), nil
}

// BeginIncarnation sets the number of the coordinator's incarnation.
func (n *Notary) BeginIncarnation(incarnation uint32) {
	n.sender.Incarnation = incarnation
	n.market.BeginIncarnation(incarnation)
}

// Edge returns the edge of the log, for a record that begins here; false if the log is empty.
func (n *Notary) Edge(now protocol.Time) (protocol.Message, bool) {
	b := protocol.LogEntries{First: n.tree.Size(), Edge: n.tree.Edge(), Head: n.head == n.tree.Size()}
	return n.sender.NewMessage(now, protocol.LogWriter, b), b.First > 0
}

// Events implements bus.EventSourced: the market's events, and the entries of the log.
func (n *Notary) Events() []protocol.Message { return n.events }

// Due implements bus.Machine.
func (n *Notary) Due() protocol.Time {
	due := n.market.Due()
	if n.headDue != 0 && (due == 0 || n.headDue < due) {
		return n.headDue
	}
	return due
}

// Step implements bus.Machine.
func (n *Notary) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	n.beginStep(now)
	if n.market.RefuseDuplicate(m) { // it was heard before, and leads to nothing
		return n.endStep(now, nil)
	}
	index := n.addEntry(now, &m)
	out := n.market.Step(now, m)
	n.events = append(n.events, n.market.Events()...)
	out = n.logOutput(now, out)
	return n.endStep(now, n.appendReceipt(now, out, m, index))
}

// Tick implements bus.Machine.
func (n *Notary) Tick(now protocol.Time) []protocol.Message {
	n.beginStep(now)
	var out []protocol.Message
	if due := n.market.Due(); due != 0 && due <= now {
		n.addEntry(now, nil)
		out = n.market.Tick(now)
		n.events = append(n.events, n.market.Events()...)
		out = n.logOutput(now, out)
	}
	return n.endStep(now, out)
}

// beginStep begins a step, and the log of an incarnation with its first.
func (n *Notary) beginStep(now protocol.Time) {
	clear(n.events)
	n.events, n.clearings = n.events[:0], n.clearings[:0]
	n.entries = protocol.LogEntries{First: n.tree.Size()}
	if !n.begun {
		n.begun = true
		m := n.sender.NewMessage(now, protocol.LogWriter, protocol.LogBegin{Incarnation: uint64(n.sender.Incarnation), Rules: n.rules})
		n.addEntry(now, &m)
		n.events = append(n.events, m)
	}
}

// logOutput logs what the market sends, with what clearings read of each site.
func (n *Notary) logOutput(now protocol.Time, out []protocol.Message) []protocol.Message {
	for _, c := range n.clearings {
		out = append(out, n.market.NewMessage(now, protocol.AgentParty(c.site), c.read))
	}
	for i := range out {
		if b, ok := out[i].Body.(protocol.CallForBids); ok {
			n.round = b.Round
		}
		n.addEntry(now, &out[i])
	}
	return out
}
