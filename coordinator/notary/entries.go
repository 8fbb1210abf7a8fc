package notary

import (
	"slices"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
)

// addEntry logs a message, or a tick of the clock if m is nil, and returns its place. What tells of
// the log itself is not logged.
func (n *Notary) addEntry(now protocol.Time, m *protocol.Message) uint64 {
	index := n.tree.Size()
	if m != nil && !m.IsLogEntry() {
		return index
	}
	row := protocol.LogEntry{At: now, Round: n.round, Salt: n.cfg.Salts.SaltOf(index, now)}
	if m != nil {
		row.From, row.Seq = m.From, m.Seq
	}
	e, _ := proof.NewEntry(index, now, n.round, row.Salt, m) // a message that cannot be encoded is never sent
	row.Leaf = e.Leaf()
	_ = n.tree.Append(row.Leaf) // cannot fail: the leaf is a hash, and the edge is never pruned
	n.entries.Entries = append(n.entries.Entries, row)
	return index
}

// appendReceipt appends the receipt for a job or for bids.
func (n *Notary) appendReceipt(now protocol.Time, out []protocol.Message, m protocol.Message, index uint64) []protocol.Message {
	switch m.Body.(type) {
	case protocol.Submit, protocol.Bids:
	default:
		return out
	}
	digest, err := proof.DigestOf(m)
	if err != nil {
		return out // cannot happen: a received message can be encoded
	}
	text, err := proof.SignReceipt(n.cfg.Key, proof.Receipted{From: m.From, Seq: m.Seq, Index: index, Digest: digest})
	if err != nil {
		return out // cannot happen with a key that New got
	}
	return append(out, n.market.NewMessage(now, m.From, protocol.Receipt{Of: m.Seq, Note: text}))
}

// endStep appends a head if one is due, and the step's entries to its events.
func (n *Notary) endStep(now protocol.Time, out []protocol.Message) []protocol.Message {
	if n.tree.Size() > n.head && n.headDue == 0 {
		n.headDue = now.Add(n.cfg.HeadEvery)
	}
	if n.headDue != 0 && (len(n.clearings) > 0 || now >= n.headDue) {
		out = append(out, n.signHead(now)...)
	}
	n.recordEntries(now)
	return out
}

// maxEntriesPerEvent bounds one event, at some 130 bytes an entry.
const maxEntriesPerEvent = 2048

// recordEntries appends the step's entries to its events.
func (n *Notary) recordEntries(now protocol.Time) {
	rest, head := n.entries, n.entries.Head
	for len(rest.Entries) > 0 || head {
		some := min(len(rest.Entries), maxEntriesPerEvent)
		b := protocol.LogEntries{First: rest.First, Entries: rest.Entries[:some]}
		rest.First, rest.Entries = rest.First+uint64(some), rest.Entries[some:]
		if len(rest.Entries) == 0 {
			b.Head, head = head, false
		}
		n.events = append(n.events, n.sender.NewMessage(now, protocol.LogWriter, b))
	}
}

// signHead returns the head of the log for all parties.
func (n *Notary) signHead(now protocol.Time) []protocol.Message {
	size := n.tree.Size()
	root, err := n.tree.Root(size)
	if err != nil {
		return nil // cannot happen: the edge is never pruned
	}
	text, err := proof.SignHead(n.cfg.Key, proof.Head{Size: size, Root: root})
	if err != nil {
		return nil // as above
	}
	h := protocol.LogHead{Round: n.round, Note: text}
	if path, err := n.tree.ProveConsistency(n.head, size); err == nil { // of the first head there is none
		h.Since, h.Path = n.head, path
	}
	n.head, n.headDue, n.entries.Head = size, 0, true
	n.tree.Prune()
	return []protocol.Message{n.market.NewMessage(now, "", h)}
}

// A siteClearing is what a clearing read of a site.
type siteClearing struct {
	site string
	read protocol.SiteClearing
}

// ObserveRule returns a rule that decides as the given one. What it reads of a site is told to the site.
func (n *Notary) ObserveRule(rule auction.ClearingRule) auction.ClearingRule {
	o := observedRule{rule, n}
	if c, ok := rule.(interface{ Clone() *auction.Auction }); ok {
		return observedAuction{o, c.Clone}
	}
	return o
}

type observedRule struct {
	auction.ClearingRule
	notary *Notary
}

// observedAuction is an observedRule that can be cloned, which quotes need.
type observedAuction struct {
	observedRule
	clone func() *auction.Auction
}

// Clone returns a copy of the rule, which is not observed.
func (o observedAuction) Clone() *auction.Auction { return o.clone() }

// Clear implements auction.ClearingRule.
func (o observedRule) Clear(r auction.Round) auction.Outcome {
	sites := slices.Clone(r.Sites)
	out := o.ClearingRule.Clear(r)
	prices := o.ShadowPrices()
	for _, s := range sites {
		read := protocol.SiteClearing{Round: r.Number, Trust: s.Trust, Capacity: s.Capacity}
		for _, p := range prices {
			if p.Site == s.Name {
				read.ShadowPrices = append(read.ShadowPrices, p)
			}
		}
		o.notary.clearings = append(o.notary.clearings, siteClearing{s.Name, read})
	}
	return out
}
