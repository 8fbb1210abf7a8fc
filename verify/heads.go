package verify

import (
	"cmp"
	"slices"

	"golang.org/x/mod/sumdb/note"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
)

// A seenHead is a head that somebody was shown.
type seenHead struct {
	proof.Head
	by string // the site that was shown it; "": the reader
}

// headsIn returns the heads among messages that key signed, and adds a finding for each other.
func (r *Report) headsIn(key note.Verifier, by string, all []protocol.Message) (heads []seenHead, links []protocol.LogLink) {
	for _, m := range all {
		b, ok := m.Body.(protocol.LogHead)
		if !ok {
			continue
		}
		h, err := proof.OpenHead(key, b.Note)
		if err != nil {
			r.add(HeadCheck, NoIndex, "the head of round %d: %v", b.Round, err)
			continue
		}
		heads = append(heads, seenHead{h, by})
		if b.Since > 0 {
			links = append(links, protocol.LogLink{Old: b.Since, New: h.Size, Path: b.Path})
		}
	}
	return heads, links
}

// checkHeads checks that all heads are of one log: those of one size are equal, and each is proved
// to be the beginning of the next.
func (r *Report) checkHeads(heads []seenHead, links []protocol.LogLink) {
	slices.SortStableFunc(heads, func(x, y seenHead) int { return cmp.Compare(x.Size, y.Size) })
	r.Heads = len(heads)
	for i := 1; i < len(heads); i++ {
		was, is := heads[i-1], heads[i]
		check, whose := Consistency, "you were shown"
		if was.by != is.by {
			check, whose = SplitView, "you and site "+cmp.Or(was.by, is.by)+" were shown"
		}
		switch {
		case was.Head == is.Head:
		case was.Size == is.Size:
			r.add(check, NoIndex, "%s two logs of %d entries with different roots: keep both heads, they prove it", whose, is.Size)
		case !provedBy(links, was.Head, is.Head):
			r.add(check, NoIndex, "nothing proves that the log of %d entries that %s is the beginning of that of %d", was.Size, whose, is.Size)
		}
	}
}

// provedBy reports whether one of the links proves that one head's log is the beginning of another's.
func provedBy(links []protocol.LogLink, was, is proof.Head) bool {
	return slices.ContainsFunc(links, func(l protocol.LogLink) bool {
		return l.Old == was.Size && l.New == is.Size && proof.CheckConsistency(l.Path, was, is) == nil
	})
}
