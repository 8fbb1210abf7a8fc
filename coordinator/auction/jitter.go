package auction

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/gridbid/gridbid/protocol"
)

// A CostJitter moves the costs by which a round compares options, and nothing that is billed or
// metered. A rule that runs beside itself under another Seed shows how far two runs of the same
// policy differ by chance alone (decision 0254). The zero CostJitter moves nothing. Only replays
// set it.
type CostJitter struct {
	PerMillion int64  // each option costs up to so many millionths more or less
	Seed       uint64 // the same seed moves the same option by the same amount, in every round
}

// DefaultJitter is how far the row `chance` moves costs: 0.05 %, far less than any forecast is
// off by.
const DefaultJitter = 500

// moved returns the cost of an option for a comparison, moved by a hash of the seed, the job, the
// site and the option's start, model and cap. The hash depends on nothing else, so that the order
// of bids does not matter.
func (j CostJitter) moved(cost protocol.Microdollars, job protocol.JobID, site string, o *protocol.BidOption) protocol.Microdollars {
	if j.PerMillion == 0 {
		return cost
	}
	h := fnv.New64a()
	var word [8]byte
	number := func(v uint64) {
		binary.BigEndian.PutUint64(word[:], v)
		h.Write(word[:])
	}
	// A length before each text keeps ("ab", "c") and ("a", "bc") apart.
	text := func(s string) {
		number(uint64(len(s)))
		h.Write([]byte(s))
	}
	number(j.Seed)
	text(string(job))
	text(site)
	text(o.Model)
	number(uint64(o.Start))
	number(uint64(o.Cap))
	part := int64(mixBits(h.Sum64())%uint64(2*j.PerMillion+1)) - j.PerMillion
	return cost + protocol.Microdollars(int64(cost)*part/1_000_000)
}

// mixBits spreads every bit of a hash over all of them (the finalizer of SplitMix64): of FNV the
// low bits of similar texts are alike.
func mixBits(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
