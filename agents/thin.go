package agents

import (
	"math"
	"slices"
	"sort"

	"github.com/gridbid/gridbid/protocol"
)

// thinToMaxBytes returns the bids of m with as many options per job as fit: the whole encoded
// message has at most maxBytes bytes, even with the longest sequence number. 0 means no limit. The
// result depends on the message alone.
//
// Every job gets the same limit of options, so that no job crowds out those called after it. If
// not even one option per job fits, the jobs called first keep one and the others get the reason
// [crowdedOut]. A message without any option is returned as it is, and sending it fails.
func thinToMaxBytes(m protocol.Message, maxBytes int) protocol.Bids {
	o := m.Body.(protocol.Bids)
	fits := func(o protocol.Bids) bool {
		m.Seq, m.Body = math.MaxInt64, o
		size, err := protocol.EncodedSize(m)
		return err == nil && size <= maxBytes
	}
	// Nearly all bids are far below the limit, and to count their bytes costs as much as to send them.
	if maxBytes == 0 || o.MaxWireSize() <= maxBytes || fits(o) {
		return o
	}
	most := 0
	for _, menu := range o.Jobs {
		most = max(most, len(menu.Options))
	}
	if most == 0 {
		return o
	}
	// Fewer options never take more bytes, so a binary search finds the largest number that fits.
	fewer := 1 + sort.Search(most-1, func(i int) bool { return fits(withMostOptions(o, most-1-i)) })
	if fewer < most {
		return withMostOptions(o, most-fewer)
	}
	o = withMostOptions(o, 1)
	left := sort.Search(len(o.Jobs), func(i int) bool { return fits(withJobsCrowdedOut(o, i)) })
	return withJobsCrowdedOut(o, left)
}

// withMostOptions returns o with at most most options per job. Options are sorted by start: the
// soonest stays, and the others are taken at equal distances.
func withMostOptions(o protocol.Bids, most int) protocol.Bids {
	var spreads []protocol.Spread
	var holes []protocol.Hole
	menus := make([]protocol.JobBids, len(o.Jobs))
	for i, m := range o.Jobs {
		if all := m.Options; len(all) > most {
			m.Options = make([]protocol.BidOption, most)
			for k := range m.Options {
				m.Options[k] = all[k*len(all)/most]
			}
		}
		menus[i] = m
		if len(o.Spreads) > 0 {
			kept := make([]int, len(m.Options))
			for k := range kept {
				kept[k] = k * len(o.Jobs[i].Options) / len(kept)
			}
			spreads = append(spreads, spreadsOf(o.Spreads, m.Job, kept)...)
			holes = append(holes, holesOf(o.Holes, m.Job, kept)...)
		}
	}
	o.Jobs, o.Spreads, o.Holes = menus, spreads, holes
	return o
}

// crowdedOut is the reason for a job whose options did not fit into the message.
var crowdedOut = protocol.Reason{Code: protocol.NoCapacity, Note: "the offer is full"}

// withJobsCrowdedOut returns o without the options of its last n jobs.
func withJobsCrowdedOut(o protocol.Bids, n int) protocol.Bids {
	menus := make([]protocol.JobBids, len(o.Jobs))
	copy(menus, o.Jobs)
	for i := len(menus) - n; i < len(menus); i++ {
		if len(menus[i].Options) > 0 {
			menus[i].Options, menus[i].Why = nil, crowdedOut
			o.Spreads = slices.DeleteFunc(slices.Clone(o.Spreads), func(s protocol.Spread) bool { return s.Job == menus[i].Job })
			o.Holes = slices.DeleteFunc(slices.Clone(o.Holes), func(h protocol.Hole) bool { return h.Job == menus[i].Job })
		}
	}
	o.Jobs = menus
	return o
}
