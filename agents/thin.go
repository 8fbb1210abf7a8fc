package agents

import (
	"math"
	"sort"

	"github.com/gridbid/gridbid/protocol"
)

// thinToMaxBytes returns the offer of m with as many options for each job as fit: the
// whole message, encoded, has at most maxBytes bytes, also under the highest number
// that a message can have. 0 is no limit. What is offered twice is the same twice.
//
// No job has more options than the others are allowed, so that none is sold out by
// those that were called before it. Where not even one for each job fits, the jobs that
// were called first keep one, and the menus of the others say [crowdedOut]. What is left when no
// job has an option is sent as it is, and its sender gets an error.
func thinToMaxBytes(m protocol.Message, maxBytes int) protocol.Bids {
	o := m.Body.(protocol.Bids)
	fits := func(o protocol.Bids) bool {
		m.Seq, m.Body = math.MaxInt64, o
		size, err := protocol.EncodedSize(m)
		return err == nil && size <= maxBytes
	}
	if maxBytes == 0 || fits(o) {
		return o
	}
	most := 0
	for _, menu := range o.Jobs {
		most = max(most, len(menu.Options))
	}
	if most == 0 {
		return o
	}
	// Fewer options are fewer bytes, so the first that fits is the most that does.
	fewer := 1 + sort.Search(most-1, func(i int) bool { return fits(withMostOptions(o, most-1-i)) })
	if fewer < most {
		return withMostOptions(o, most-fewer)
	}
	o = withMostOptions(o, 1)
	left := sort.Search(len(o.Jobs), func(i int) bool { return fits(withJobsCrowdedOut(o, i)) })
	return withJobsCrowdedOut(o, left)
}

// withMostOptions returns o with at most so many options for each job. Menus are sorted
// by start: the soonest is kept, and those that are left lie apart.
func withMostOptions(o protocol.Bids, most int) protocol.Bids {
	menus := make([]protocol.JobBids, len(o.Jobs))
	for i, m := range o.Jobs {
		if all := m.Options; len(all) > most {
			m.Options = make([]protocol.BidOption, most)
			for k := range m.Options {
				m.Options[k] = all[k*len(all)/most]
			}
		}
		menus[i] = m
	}
	o.Jobs = menus
	return o
}

// crowdedOut is why a job has no option in an offer that is full.
var crowdedOut = protocol.Reason{Code: protocol.NoCapacity, Note: "the offer is full"}

// withJobsCrowdedOut returns o without the options of its last n jobs.
func withJobsCrowdedOut(o protocol.Bids, n int) protocol.Bids {
	menus := make([]protocol.JobBids, len(o.Jobs))
	copy(menus, o.Jobs)
	for i := len(menus) - n; i < len(menus); i++ {
		if len(menus[i].Options) > 0 {
			menus[i].Options, menus[i].Why = nil, crowdedOut
		}
	}
	o.Jobs = menus
	return o
}
