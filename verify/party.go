package verify

import (
	"cmp"
	"slices"

	"golang.org/x/mod/sumdb/note"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
)

// PartyInput is what a site or a tenant has.
type PartyInput struct {
	Party protocol.Party // the reader, as the log names it; "": a tenant whose jobs the API sent
	Log   note.Verifier  // the coordinator's public key
	Keys  []string       // public keys with which the reader signs; none: it does not
	Held  []protocol.Message
	// Shown is what the coordinator shows: Openings, the messages that they name, and heads.
	Shown  []protocol.Message
	Others map[string][]protocol.Message // what other sites hold, by site; of it only the heads are read
	Witnesses
}

// Witnesses are the sites whose cosigned heads a reader compares with its own.
type Witnesses struct {
	Cosigned map[string]proof.Head // heads that other sites cosigned, by site
	// Majority are the sites of which more than half must have cosigned a head that the reader holds, itself included
	// if it is one; nil: that is not asked.
	Majority []string
}

// A shownEntry is an entry of the log that is proved to be there.
type shownEntry struct {
	protocol.Opening
	m protocol.Message
}

// CheckParty verifies the log as a site or a tenant.
func CheckParty(in PartyInput) Report {
	r := &partyReader{PartyInput: in, held: make(map[messageID]protocol.Message), shown: make(map[messageID]shownEntry)}
	for _, m := range in.Held {
		if _, known := r.held[idOf(m)]; !known {
			r.held[idOf(m)] = m
		}
	}
	openings, messages := splitShown(in.Shown)
	r.readHeads(openings)
	r.readOpenings(openings, messages)
	r.checkOwn()
	r.checkReceipts()
	r.checkTold()
	r.checkRules()
	return r.Report
}

// A partyReader is one verification.
type partyReader struct {
	PartyInput
	Report

	held    map[messageID]protocol.Message
	heads   map[uint64]proof.Head    // own ones, by size
	entries []shownEntry             // in the order of the log
	shown   map[messageID]shownEntry // the same
	ranges  [][2]uint64              // of the log that the coordinator shows
	whole   bool                     // the log is shown from its beginning
}

// splitShown tells the proofs among what the coordinator shows from the messages.
func splitShown(all []protocol.Message) (openings []protocol.Openings, messages map[messageID]protocol.Message) {
	messages = make(map[messageID]protocol.Message)
	for _, m := range all {
		if o, ok := m.Body.(protocol.Openings); ok {
			openings = append(openings, o)
			continue
		}
		messages[idOf(m)] = m
	}
	return openings, messages
}

// readHeads checks all heads, own ones and those of other sites.
func (r *partyReader) readHeads(openings []protocol.Openings) {
	heads, links := r.headsIn(r.Log, "", slices.Concat(r.Held, r.Shown))
	r.heads = make(map[uint64]proof.Head)
	for _, h := range heads {
		r.heads[h.Size] = h.Head
	}
	for _, o := range openings {
		links = append(links, o.Links...)
	}
	var others []seenHead
	for _, site := range sortedKeys(r.Others) {
		more, moreLinks := r.headsIn(r.Log, site, r.Others[site])
		others, links = append(others, more...), append(links, moreLinks...)
	}
	r.checkHeads(heads, others, links)
	agree := r.checkCosigned(r.Cosigned, func(size uint64) (proof.Head, bool) { h, ok := r.heads[size]; return h, ok })
	if site := r.siteName(); site != "" && len(r.heads) > 0 {
		agree[site] = slices.Max(sortedKeys(r.heads))
	}
	r.checkMajority(r.Majority, agree)
	if len(r.heads) == 0 {
		r.note("there is no head of the log: what the coordinator shows is compared with nothing")
	}
}

// readOpenings keeps the entries that are proved to be in a log whose head the reader holds.
func (r *partyReader) readOpenings(openings []protocol.Openings, messages map[messageID]protocol.Message) {
	for _, o := range openings {
		of, ok := r.heads[o.Size]
		if !ok {
			r.add(Inclusion, NoIndex, "the coordinator shows a log of %d entries, of which there is no head: ask for it again, or compare it with the heads of other sites", o.Size)
			continue
		}
		r.Size = max(r.Size, o.Size)
		r.ranges = append(r.ranges, [2]uint64{o.From, o.Size})
		for _, e := range o.Entries {
			r.readOpening(of, e, messages)
		}
	}
	// Several coordinators may show the same.
	slices.SortStableFunc(r.entries, func(x, y shownEntry) int { return cmp.Compare(x.Index, y.Index) })
	r.entries = slices.CompactFunc(r.entries, func(x, y shownEntry) bool { return x.Index == y.Index })
	for _, x := range r.entries {
		if _, known := r.shown[idOf(x.m)]; !known {
			r.shown[idOf(x.m)] = x
		}
	}
	r.Entries = len(r.entries)
	r.whole = r.isShown(0)
}

// isShown reports whether the coordinator shows the part of the log that an index is in.
func (r *partyReader) isShown(index uint64) bool {
	return slices.ContainsFunc(r.ranges, func(x [2]uint64) bool { return x[0] <= index && index < x[1] })
}

func (r *partyReader) readOpening(of proof.Head, e protocol.Opening, messages map[messageID]protocol.Message) {
	m, ok := messages[messageID{e.From, e.Seq}]
	if !ok {
		r.add(Inclusion, e.Index, "message %d of %s is named, and not shown", e.Seq, e.From)
		return
	}
	entry, err := proof.NewEntry(e.Index, e.At, e.Round, e.Salt, &m)
	if err == nil {
		err = proof.CheckInclusion(e.Path, of, e.Index, entry.Leaf())
	}
	if err != nil {
		r.add(Inclusion, e.Index, "%s %d of %s is not what the log has there: %v", m.KindName(), m.Seq, m.From, err)
		return
	}
	r.entries = append(r.entries, shownEntry{e, m})
}
