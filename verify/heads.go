package verify

import (
	"cmp"
	"slices"
	"strings"

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
// to be the beginning of the next. What somebody else was shown is compared with what the reader was.
func (r *Report) checkHeads(own, others []seenHead, links []protocol.LogLink) {
	r.Heads = len(own) + len(others)
	r.checkChain(Consistency, own, links, func(seenHead) bool { return false })
	mine := make(map[proof.Head]bool)
	for _, h := range own {
		mine[h.Head] = true
	}
	r.checkChain(SplitView, slices.Concat(own, others), links, func(h seenHead) bool { return mine[h.Head] })
}

// checkChain compares each head with the one before it, unless both are known to be of one log.
func (r *Report) checkChain(c Check, heads []seenHead, links []protocol.LogLink, known func(seenHead) bool) {
	heads = slices.Clone(heads)
	slices.SortStableFunc(heads, func(x, y seenHead) int { return cmp.Compare(x.Size, y.Size) })
	for i := 1; i < len(heads); i++ {
		was, is := heads[i-1], heads[i]
		switch {
		case was.Head == is.Head || known(was) && known(is):
		case was.Size == is.Size:
			r.add(c, NoIndex, "%s: two logs of %d entries have different roots: keep both heads, they prove it", nameReaders(was, is), is.Size)
		case !provedBy(links, was.Head, is.Head):
			r.add(c, NoIndex, "%s: nothing proves that the log of %d entries is the beginning of that of %d", nameReaders(was, is), was.Size, is.Size)
		}
	}
}

// nameReaders says who was shown two heads.
func nameReaders(x, y seenHead) string {
	if x.by == y.by {
		return "shown to " + nameReader(x.by)
	}
	return "shown to " + nameReader(x.by) + " and to " + nameReader(y.by)
}

// nameReader names a site, or the reader.
func nameReader(site string) string {
	if site == "" {
		return "you"
	}
	return "site " + site
}

// provedBy reports whether one of the links proves that one head's log is the beginning of another's.
func provedBy(links []protocol.LogLink, was, is proof.Head) bool {
	return slices.ContainsFunc(links, func(l protocol.LogLink) bool {
		return l.Old == was.Size && l.New == is.Size && proof.CheckConsistency(l.Path, was, is) == nil
	})
}

// checkCosigned compares the heads that other sites cosigned with the reader's. Root returns the root that the log of
// the reader has at a size; false if it does not know.
func (r *Report) checkCosigned(cosigned map[string]proof.Head, root func(size uint64) (proof.Head, bool)) (agree map[string]uint64) {
	agree = make(map[string]uint64)
	for _, site := range sortedKeys(cosigned) {
		h := cosigned[site]
		r.Heads++
		switch own, known := root(h.Size); {
		case known && own != h:
			r.add(SplitView, NoIndex, "%s: two logs of %d entries have different roots: keep both heads, they prove it", nameReaders(seenHead{}, seenHead{by: site}), h.Size)
		case known:
			agree[site] = h.Size
		default:
			r.note("site %s cosigned a head of %d entries, and you hold none of that size: verify again when you do, or compare its ledger (--other)", site, h.Size)
		}
	}
	return agree
}

// checkMajority finds the newest head on which more than half of some sites agree. Who cosigned a head agrees on all
// that it goes on from; agree has the sizes by site.
func (r *Report) checkMajority(sites []string, agree map[string]uint64) {
	if len(sites) == 0 {
		return
	}
	r.Agreed = &Agreed{}
	var sizes []uint64
	for _, site := range slices.Sorted(slices.Values(sites)) {
		if size, ok := agree[site]; ok {
			sizes, r.Agreed.By = append(sizes, size), append(r.Agreed.By, site)
		} else {
			r.Agreed.Missing = append(r.Agreed.Missing, site)
		}
	}
	slices.SortFunc(sizes, func(x, y uint64) int { return cmp.Compare(y, x) })
	if most := len(sites) / 2; len(sizes) > most {
		r.Agreed.Size = sizes[most]
		return
	}
	r.add(Majority, NoIndex, "of %d sites %d cosigned a head that you hold, which is no majority; missing: %s. Ask them for the head that they cosigned, by a way that is not the hub's",
		len(sites), len(sizes), strings.Join(r.Agreed.Missing, ", "))
}
