package verify

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
)

func sortedKeys[K cmp.Ordered, V any](of map[K]V) []K { return slices.Sorted(maps.Keys(of)) }

// checkOwn checks what the log says that the reader said.
func (r *partyReader) checkOwn() {
	last := uint64(0)
	for _, e := range r.entries {
		if e.From != r.Party || r.Party == "" {
			continue
		}
		if len(r.Keys) > 0 && e.m.IsBinding() {
			if err := proof.CheckSignature(r.Keys, e.m); err != nil {
				r.add(Signature, e.Index, "%s %d is said to be yours: %v", e.m.KindName(), e.Seq, err)
				continue
			}
		}
		if e.Seq < last {
			r.add(Order, e.Index, "your message %d stands after your message %d", e.Seq, last)
		}
		last = max(last, e.Seq)
		own, ok := r.held[idOf(e.m)]
		switch {
		case !ok:
			r.note("you hold no copy of %s %d, entry %d, which carries your name%s", e.m.KindName(), e.Seq, e.Index, signedWords(r.Keys, e.m))
		case !sameMessage(own, e.m):
			r.add(OwnCopy, e.Index, "%s %d is not what you sent", e.m.KindName(), e.Seq)
		}
	}
	r.noteUnlogged(last)
}

func signedWords(keys []string, m protocol.Message) string {
	if len(keys) > 0 && m.IsBinding() {
		return " and your signature"
	}
	return ""
}

// noteUnlogged notes what the reader sent that binds it and that the log does not have, though it
// has later ones. A message can be lost on the way, so without a receipt this proves nothing.
func (r *partyReader) noteUnlogged(last uint64) {
	for _, m := range r.Held {
		if m.From != r.Party || m.Seq >= last || !m.IsBinding() || len(r.entries) == 0 || m.At < r.entries[0].At {
			continue
		}
		if _, ok := r.shown[idOf(m)]; !ok {
			r.note("%s %d that you sent is not in the log; it may not have arrived: nobody can prove that it did without a receipt", m.KindName(), m.Seq)
		}
	}
}

// sameMessage reports whether two messages say the same, whatever their signatures.
func sameMessage(x, y protocol.Message) bool {
	a, err := proof.DigestOf(x)
	b, err2 := proof.DigestOf(y)
	return err == nil && err2 == nil && a == b
}

// checkReceipts checks that the log has at its place what each receipt says.
func (r *partyReader) checkReceipts() {
	place := make(map[uint64]shownEntry, len(r.entries))
	for _, e := range r.entries {
		place[e.Index] = e
	}
	for _, m := range r.Held {
		b, ok := m.Body.(protocol.Receipt)
		if !ok {
			continue
		}
		r.Receipts++
		of, err := proof.OpenReceipt(r.Log, b.Note)
		if err != nil {
			r.add(Inclusion, NoIndex, "the receipt for your message %d: %v", b.Of, err)
			continue
		}
		own, held := r.held[messageID{of.From, of.Seq}]
		if digest, err := proof.DigestOf(own); held && (err != nil || digest != of.Digest) {
			r.add(OwnCopy, of.Index, "the receipt for your message %d is for another text", of.Seq)
		}
		switch e, ok := place[of.Index]; {
		case of.Index >= r.Size: // it will be in a later head
		case !r.isShown(of.Index):
			r.note("entry %d, of which you have a receipt, is not in the record of this coordinator: ask the one that led then", of.Index)
		case !ok || e.From != of.From || e.Seq != of.Seq:
			r.add(Inclusion, of.Index, "the receipt for your message %d names this place, and the log does not have it there", of.Seq)
		default:
			if digest, err := proof.DigestOf(e.m); err != nil || digest != of.Digest {
				r.add(Inclusion, of.Index, "the receipt for your message %d is for another text than the log has", of.Seq)
			}
		}
	}
}

// checkTold checks that what the coordinator told the reader is in the log as it was told.
func (r *partyReader) checkTold() {
	until := protocol.Time(0)
	for _, e := range r.entries {
		until = max(until, e.At)
		if e.From == protocol.Coordinator && e.m.At != e.At {
			c := Delivered
			if _, ok := e.m.Body.(protocol.Policy); ok {
				c = PolicyCheck
			}
			r.add(c, e.Index, "%s %d is dated %s, and stands in the log at %s", e.m.KindName(), e.Seq, e.m.At, e.At)
		}
	}
	for _, m := range r.Held {
		if m.From != protocol.Coordinator || m.To != r.Party && m.To != "" || !m.IsLogEntry() || m.At >= until || len(r.entries) == 0 || m.At < r.entries[0].At {
			continue
		}
		e, ok := r.shown[idOf(m)]
		switch {
		case !ok && m.To == "" && r.Party.SiteName() == "": // others' affairs
		case !ok:
			r.add(Delivered, NoIndex, "%s %d that you were told at %s is not in the log", m.KindName(), m.Seq, m.At)
		case !sameMessage(m, e.m):
			r.add(Delivered, e.Index, "%s %d is not what you were told", m.KindName(), m.Seq)
		}
	}
}
