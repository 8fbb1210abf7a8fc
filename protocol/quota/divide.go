package quota

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// Shares returns how much of a capacity each leaf may use at a time, given what each asks for in
// all, used and wanted. All amounts are in the unit of the quotas. An ask of a tenant without a leaf
// counts for nothing.
//
// What a leaf gets never depends on how its own ask is split among jobs, and the shares of the
// children of a node never exceed the node's.
func (t *Tree) Shares(capacity protocol.Milli, ask map[string]protocol.Milli) map[string]protocol.Milli {
	out := make(map[string]protocol.Milli, len(t.leaf))
	if t.IsEmpty() {
		return out
	}
	want, share := t.wants(ask), make([]protocol.Milli, len(t.nodes))
	t.divide(min(max(capacity, 0), maxAmount), t.roots, want, share)
	for k, n := range t.nodes { // parents come before their children
		if len(n.children) > 0 {
			t.divide(share[k], n.children, want, share)
		} else {
			out[n.Name] = share[k]
		}
	}
	return out
}

// wants returns what each node asks for: a leaf what its tenant does, an inner node the sum over its
// children of what they ask for or keep, each at most its max.
func (t *Tree) wants(ask map[string]protocol.Milli) []protocol.Milli {
	want := make([]protocol.Milli, len(t.nodes))
	for k := len(t.nodes) - 1; k >= 0; k-- {
		n := &t.nodes[k]
		if len(n.children) == 0 {
			want[k] = min(max(ask[n.Name], 0), maxAmount)
		}
		if want[k] = min(want[k], maxAmount); n.Max != 0 {
			want[k] = min(want[k], n.Max)
		}
		if n.parent >= 0 {
			want[n.parent] += max(want[k], n.Kept)
		}
	}
	return want
}

// divide gives siblings their shares of a total: to each first what it asks for of its min, or keeps
// of it, then the surplus by band and weight. Where the total is below that, as after a site has
// left, every min is scaled down in proportion, rounded down; what rounding leaves is surplus.
func (t *Tree) divide(total protocol.Milli, siblings []int, want, share []protocol.Milli) {
	guarantee := func(scale func(protocol.Milli) protocol.Milli) (sum protocol.Milli) {
		for _, k := range siblings {
			n := &t.nodes[k]
			least := scale(n.Min)
			share[k] = max(min(want[k], least), min(n.Kept, least))
			sum += share[k]
		}
		return sum
	}
	given := guarantee(func(v protocol.Milli) protocol.Milli { return v })
	if given > total {
		var sum protocol.Milli
		for _, k := range siblings {
			sum += t.nodes[k].Min
		}
		// Invariant: total and a min are at most maxAmount, so that the product stays within 64 bits.
		given = guarantee(func(v protocol.Milli) protocol.Milli { return v * total / sum })
	}
	t.divideSurplus(total-given, siblings, want, share)
}

// divideSurplus gives siblings what they ask for beyond their shares, a higher band first, within a
// band by weight. A node of weight 0 gets none.
func (t *Tree) divideSurplus(left protocol.Milli, siblings []int, want, share []protocol.Milli) {
	var asking []int
	for _, k := range siblings {
		if t.nodes[k].Weight > 0 && want[k] > share[k] {
			asking = append(asking, k)
		}
	}
	slices.SortStableFunc(asking, func(x, y int) int { return cmp.Compare(t.nodes[y].Band, t.nodes[x].Band) })
	for len(asking) > 0 && left > 0 {
		band := t.nodes[asking[0]].Band
		n := slices.IndexFunc(asking, func(k int) bool { return t.nodes[k].Band != band })
		if n < 0 {
			n = len(asking)
		}
		left = t.divideBand(left, asking[:n], want, share)
		asking = asking[n:]
	}
}

// divideBand gives nodes of one band their parts of a surplus by weight, none more than it asks for,
// and returns what is left. The last units go by largest remainder, then by name.
func (t *Tree) divideBand(left protocol.Milli, asking []int, want, share []protocol.Milli) protocol.Milli {
	for len(asking) > 0 && left > 0 {
		var weights protocol.Milli
		for _, k := range asking {
			weights += t.nodes[k].Weight
		}
		// Who asks for no more than its part gets all of it, and the others divide the rest anew.
		before := left
		rest := slices.DeleteFunc(slices.Clone(asking), func(k int) bool {
			lacks := want[k] - share[k]
			if isLess(before, t.nodes[k].Weight, lacks, weights) {
				return false
			}
			share[k], left = want[k], left-lacks
			return true
		})
		if len(rest) < len(asking) {
			asking = rest
			continue
		}
		for _, k := range asking {
			part := before * t.nodes[k].Weight / weights
			share[k], left = share[k]+part, left-part
		}
		slices.SortStableFunc(asking, func(x, y int) int {
			return cmp.Compare(before*t.nodes[y].Weight%weights, before*t.nodes[x].Weight%weights)
		})
		for _, k := range asking[:left] {
			share[k]++
		}
		return 0
	}
	return left
}

// isLess reports whether a*b < c*d, of numbers that are not negative and whose products may need more
// than 64 bits.
func isLess(a, b, c, d protocol.Milli) bool {
	high, low := bits.Mul64(uint64(a), uint64(b))
	more, rest := bits.Mul64(uint64(c), uint64(d))
	return high < more || high == more && low < rest
}
