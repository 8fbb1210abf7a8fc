package verify

import (
	"cmp"
	"slices"

	"golang.org/x/mod/sumdb/note"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
)

// RecordInput is what an auditor has.
type RecordInput struct {
	Log    note.Verifier // the coordinator's public key
	Record []protocol.Message
	Keys   map[protocol.Party][]string // public keys of parties that must sign; nil: none is known
	// Others are what sites hold, by site; of it only the heads are read.
	Others map[string][]protocol.Message
	Witnesses
}

// CheckRecord verifies a whole record as an auditor.
func CheckRecord(in RecordInput) Report {
	a := &auditor{RecordInput: in, messages: make(map[messageID]protocol.Message)}
	a.readMessages()
	a.checkEntries()
	a.checkRecordHeads()
	a.checkSignatures()
	a.checkCalls()
	a.rerun()
	return a.Report
}

// An auditor is one verification.
type auditor struct {
	RecordInput
	Report

	messages map[messageID]protocol.Message
	parts    []protocol.LogEntries
	first    uint64
	entries  []logEntry
	tree     proof.Tree
	broken   bool // the entries have a gap: from there on nothing is known
}

// A logEntry is an entry with its message; a tick of the clock has none.
type logEntry struct {
	protocol.LogEntry
	index uint64
	m     *protocol.Message // nil also if the record lacks what the coordinator said, as when it was killed
}

func (e logEntry) isTick() bool { return e.From == "" }

func (a *auditor) readMessages() {
	for _, m := range a.Record {
		switch b := m.Body.(type) {
		case protocol.LogEntries:
			a.parts = append(a.parts, b)
		default:
			if _, known := a.messages[idOf(m)]; !known {
				a.messages[idOf(m)] = m
			}
		}
	}
	slices.SortStableFunc(a.parts, func(x, y protocol.LogEntries) int { return cmp.Compare(x.First, y.First) })
	if len(a.parts) == 0 {
		a.note("the record has no log: its coordinator kept none")
	}
}

// checkEntries computes the leaf of each entry from its message.
func (a *auditor) checkEntries() {
	for _, p := range a.parts {
		if p.First > a.tree.Size() && a.tree.Size() > 0 {
			a.breakAt(a.tree.Size(), "the entries until %d are missing: they may be in the archive of another coordinator", p.First)
			return
		}
		if a.tree.Size() == 0 && p.First > 0 {
			edge, err := proof.NewTree(p.First, p.Edge)
			if err != nil {
				a.breakAt(p.First, "the record begins here: %v", err)
				return
			}
			a.tree, a.first = *edge, p.First
		}
		for i, e := range p.Entries {
			switch index := p.First + uint64(i); {
			case index < a.tree.Size(): // read before
			default:
				a.checkEntry(index, e)
			}
			if a.broken {
				return
			}
		}
	}
	a.Entries, a.Size = len(a.entries), a.tree.Size()
}

// breakAt ends the reading of entries.
func (a *auditor) breakAt(index uint64, format string, args ...any) {
	a.broken = true
	a.add(EntryCheck, index, format, args...)
	a.Entries, a.Size = len(a.entries), a.tree.Size()
}

func (a *auditor) checkEntry(index uint64, e protocol.LogEntry) {
	x := logEntry{LogEntry: e, index: index}
	if e.From != "" {
		if m, ok := a.messages[messageID{e.From, e.Seq}]; ok {
			x.m = &m
		} else if e.From != protocol.Coordinator { // what the coordinator said can be found by running it again
			a.breakAt(index, "message %d of %s is not in the record", e.Seq, e.From)
			return
		}
	}
	if (x.m != nil || x.isTick()) && !x.isOf(x.m) {
		a.add(EntryCheck, index, "message %d of %s is not what the log has there", e.Seq, e.From)
	}
	if err := a.tree.Append(e.Leaf); err != nil {
		a.breakAt(index, "%v", err)
		return
	}
	a.entries = append(a.entries, x)
}

// isOf reports whether the entry's leaf is that of a message.
func (e logEntry) isOf(m *protocol.Message) bool {
	entry, err := proof.NewEntry(e.index, e.At, e.Round, e.Salt, m)
	return err == nil && entry.Leaf() == e.Leaf
}

// checkRecordHeads checks that each head that was sent is that of the entries, and that those of
// other sites are among them.
func (a *auditor) checkRecordHeads() {
	heads, links := a.headsIn(a.Log, "", a.Record)
	for _, h := range heads {
		if h.Size > a.tree.Size() || h.Size <= a.first && a.first > 0 {
			continue // beyond what the record has: checkHeads asks for a proof
		}
		if root, err := a.tree.Root(h.Size); err != nil || root != h.Root {
			a.add(HeadCheck, NoIndex, "the head of %d entries is not that of the record's entries", h.Size)
		}
	}
	var others []seenHead
	for _, site := range sortedKeys(a.Others) {
		more, moreLinks := a.headsIn(a.Log, site, a.Others[site])
		others, links = append(others, more...), append(links, moreLinks...)
	}
	a.checkHeads(heads, others, links)
	a.checkMajority(a.Majority, a.checkCosigned(a.Cosigned, func(size uint64) (proof.Head, bool) {
		root, err := a.tree.Root(size)
		return proof.Head{Size: size, Root: root}, err == nil && size > a.first
	}))
}

// checkSignatures checks the signature of all that binds a party with keys, and counts the rest.
func (a *auditor) checkSignatures() {
	unsigned := make(map[protocol.Party]int)
	for _, e := range a.entries {
		if e.m == nil || !e.m.IsBinding() || e.From == protocol.Coordinator {
			continue
		}
		keys := a.Keys[e.From]
		if len(keys) == 0 {
			unsigned[e.From]++
			continue
		}
		if err := proof.CheckSignature(keys, *e.m); err != nil {
			a.add(Signature, e.index, "%s %d of %s: %v", e.m.KindName(), e.Seq, e.From, err)
		}
	}
	for _, who := range sortedKeys(unsigned) {
		a.note("%d messages of %s: you gave no key of it, so that their signatures are not checked", unsigned[who], who)
	}
}

// A calledRound is a call whose jobs wait for an outcome.
type calledRound struct {
	index uint64
	round uint64
	at    protocol.Time
	left  map[protocol.JobID]bool
}

// checkCalls checks that each job of a call is awarded, deferred or rejected before the next call. A
// job that a site accepted, or that was ended otherwise meanwhile, needs none of them; nor does a
// round that a coordinator abandoned when it ended or its clock was set back.
func (a *auditor) checkCalls() {
	var open *calledRound
	for _, e := range a.entries {
		if e.m == nil {
			continue
		}
		switch b := e.m.Body.(type) {
		case protocol.LogBegin:
			open = nil
		case protocol.CallForBids:
			if open != nil && e.At >= open.at {
				for _, id := range sortedKeys(open.left) {
					a.add(CallSet, open.index, "job %s was called in round %d, and is neither awarded, deferred nor rejected", id, open.round)
				}
			}
			open = &calledRound{index: e.index, round: b.Round, at: e.At, left: make(map[protocol.JobID]bool)}
			for _, j := range b.Jobs {
				open.left[j.ID] = true
			}
		default:
			if id, ok := e.m.OneJob(); ok && open != nil && endsCall(e.m) {
				delete(open.left, id)
			}
		}
	}
}

// endsCall reports whether a message takes its job out of the open round.
func endsCall(m *protocol.Message) bool {
	switch m.Body.(type) {
	case protocol.Award, protocol.Defer, protocol.Reject, protocol.Accept, protocol.Cancel, protocol.Settlement:
		return true
	}
	return false
}
