package division

import (
	"container/heap"
	"hash/fnv"
	"math/bits"
)

// A party takes part in a division by Webster's method (Sainte-Laguë).
type party struct {
	votes int64 // not negative
	seats int   // in: those that it has already and that count; out: those that it has
	most  int   // seats that it can have
	order int   // place in the order of ties
}

// takeSeats gives a number of seats to parties, one by one, each to the party with the most votes
// for 2*seats+1 that can have one more; at a tie to the one with fewer seats, then to the first in
// order. A party without votes gets a seat only when no other can. Seats that nobody can have are
// not given.
//
// Source: Webster's method as in Karmada's pkg/util/helper/webster.go, with an upper bound for each
// party in addition. Where votes are free places and no more seats are given than there are places,
// the bound never binds: the quotient of a full site, v/(2v+1), is below 1/2, that of any other is
// not.
func takeSeats(total int, parties []*party) {
	total -= takeSureSeats(total, parties)
	h := make(byQuotient, 0, len(parties))
	for _, p := range parties {
		if p.seats < p.most {
			h = append(h, p)
		}
	}
	heap.Init(&h)
	for total > 0 && len(h) > 0 {
		next := h[0]
		next.seats++
		total--
		if next.seats < next.most {
			heap.Fix(&h, 0)
		} else {
			heap.Pop(&h)
		}
	}
}

// takeSureSeats gives the seats at once that are among the first total ones whatever the ties: all
// whose quotient is above a threshold that no more than so many reach. It returns how many.
//
// With the threshold V/(2*total-n) for V votes of n parties, a party reaches it with less than
// v*(2*total-n)/(2V) + 1/2 seats: in all at most total.
func takeSureSeats(total int, parties []*party) (given int) {
	var all uint64
	for _, p := range parties {
		all += uint64(p.votes)
	}
	if all == 0 || 2*total <= len(parties) {
		return 0
	}
	// Invariant: votes < 2^30 and total < 2^21, so the product stays within 64 bits.
	twice := uint64(2*total - len(parties))
	for _, p := range parties {
		odd := (uint64(p.votes)*twice + all - 1) / all // the quotient of a seat s is above for 2s+1 < odd
		if sure := min(int(odd/2), p.most); sure > p.seats {
			given += sure - p.seats
			p.seats = sure
		}
	}
	return given
}

// byQuotient is a heap with the party on top that gets the next seat.
type byQuotient []*party

func (h byQuotient) Len() int      { return len(h) }
func (h byQuotient) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *byQuotient) Push(x any)   { *h = append(*h, x.(*party)) }

func (h *byQuotient) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	*h = (*h)[:last]
	return p
}

func (h byQuotient) Less(i, j int) bool {
	a, b := h[i], h[j]
	if c := compareRatios(uint64(a.votes), uint64(2*a.seats+1), uint64(b.votes), uint64(2*b.seats+1)); c != 0 {
		return c > 0
	}
	if a.seats != b.seats {
		return a.seats < b.seats
	}
	return a.order < b.order
}

// compareRatios compares a/b with c/d, exactly; b and d are above zero.
func compareRatios(a, b, c, d uint64) int {
	leftHigh, leftLow := bits.Mul64(a, d)
	rightHigh, rightLow := bits.Mul64(c, b)
	switch {
	case leftHigh > rightHigh || leftHigh == rightHigh && leftLow > rightLow:
		return 1
	case leftHigh == rightHigh && leftLow == rightLow:
		return 0
	}
	return -1
}

// isDescending reports whether ties of the service go by descending names of sites.
func isDescending(uid string) bool {
	if uid == "" {
		return false
	}
	h := fnv.New32a()
	h.Write([]byte(uid))
	return h.Sum32()%2 == 1
}
