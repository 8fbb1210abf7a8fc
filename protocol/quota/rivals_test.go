package quota

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// The published rules of two other calculators, written from their documents and not from our code: they
// share no line with divide.go. Amounts are whole units.

// A rival is one node as another calculator sees it.
type rival struct {
	name          string
	min, max      int64 // max 0: none
	unlent        bool  // all of min is kept
	weight, band  int64
	ask           int64
	children      []*rival
	request, gets int64
}

// limited returns what a node requests of its parent: what its children request or keep, at most its max.
func (r *rival) limited() int64 {
	if len(r.children) > 0 {
		r.ask = 0
		for _, c := range r.children {
			r.ask += c.limited()
		}
	}
	if r.request = r.ask; r.max > 0 {
		r.request = min(r.request, r.max)
	}
	if r.unlent {
		return max(r.request, r.min)
	}
	return r.request
}

// koordinator divides a total among siblings by Koordinator's elastic quota (proposal 20220722): all of min if
// it is not lent, else what is requested of it; the rest by weight, in passes: each pass gives all that still
// lack their part, and takes back what exceeds a request.
func koordinator(total int64, all []*rival) {
	rest := total
	var lack []*rival
	for _, r := range all {
		if r.gets = min(r.request, r.min); r.unlent {
			r.gets = r.min
		}
		rest -= r.gets
		if r.request > r.gets && r.weight > 0 {
			lack = append(lack, r)
		}
	}
	for rest > 0 && len(lack) > 0 {
		parts := largestRemainders(rest, lack)
		rest = 0
		var next []*rival
		for i, r := range lack {
			if r.gets += parts[i]; r.gets >= r.request {
				rest, r.gets = rest+r.gets-r.request, r.request
			} else {
				next = append(next, r)
			}
		}
		lack = next
	}
	for _, r := range all {
		if len(r.children) > 0 {
			koordinator(r.gets, r.children)
		}
	}
}

// largestRemainders divides a total by weight into whole units.
func largestRemainders(total int64, all []*rival) []int64 {
	var weights, given int64
	for _, r := range all {
		weights += r.weight
	}
	parts, order := make([]int64, len(all)), make([]int, len(all))
	for i, r := range all {
		parts[i], order[i] = total*r.weight/weights, i
		given += parts[i]
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(total*all[y].weight%weights, total*all[x].weight%weights) })
	for _, i := range order[:total-given] {
		parts[i]++
	}
	return parts
}

// kai divides a total among siblings by KAI's resource division: what is requested of deserved (min) first; the
// rest to a higher band first, within a band unit by unit, each to whoever stands farthest below its weight's
// part of what the band has got. The published rule gives floors and remainders; unit by unit is the same
// division up to the last units, and knows no remainders.
func kai(total int64, all []*rival) {
	rest := total
	for _, r := range all {
		r.gets = min(r.request, r.min)
		rest -= r.gets
	}
	base := make(map[*rival]int64)
	for _, r := range all {
		base[r] = r.gets
	}
	bands := slices.Clone(all)
	slices.SortStableFunc(bands, func(x, y *rival) int { return cmp.Compare(y.band, x.band) })
	for len(bands) > 0 {
		n := 1
		for n < len(bands) && bands[n].band == bands[0].band {
			n++
		}
		for rest > 0 {
			var next *rival
			for _, r := range bands[:n] {
				if r.weight == 0 || r.gets >= r.request {
					continue
				}
				// (got + 1) / weight, compared without fractions
				if next == nil || (r.gets-base[r]+1)*next.weight < (next.gets-base[next]+1)*r.weight {
					next = r
				}
			}
			if next == nil {
				break
			}
			next.gets++
			rest--
		}
		bands = bands[n:]
	}
	for _, r := range all {
		if len(r.children) > 0 {
			kai(r.gets, r.children)
		}
	}
}

// drawRivals draws siblings that are guaranteed no more than a total, and groups of them, three levels deep.
func drawRivals(dice *rand.Rand, prefix string, total int64, depth int, bands bool) (all []*rival) {
	n, left := 2+dice.IntN(4), total
	for i := range n {
		r := &rival{name: fmt.Sprintf("%s%c", prefix, 'a'+i), min: dice.Int64N(left/2 + 1), weight: dice.Int64N(9), ask: dice.Int64N(total + total/2)}
		left -= r.min
		if dice.IntN(3) == 0 {
			r.max = r.min + 1 + dice.Int64N(total)
		}
		if bands {
			r.band = dice.Int64N(3)
		} else {
			r.unlent = dice.IntN(4) == 0
		}
		if depth > 0 && dice.IntN(2) == 0 {
			r.children = drawRivals(dice, r.name, r.min, depth-1, bands)
		}
		all = append(all, r)
	}
	return all
}

// listOf returns the same nodes as quotas, with asks, and the leaves.
func listOf(all []*rival, parent string, list *[]protocol.Quota, ask map[string]protocol.Milli, leaves *[]*rival) {
	for _, r := range all {
		q := protocol.Quota{Name: r.name, Parent: parent, Min: protocol.Milli(r.min), Max: protocol.Milli(r.max), Weight: protocol.Milli(r.weight), Band: r.band}
		if r.unlent {
			q.Kept = q.Min
		}
		*list = append(*list, q)
		if len(r.children) == 0 {
			ask[r.name] = protocol.Milli(r.ask)
			*leaves = append(*leaves, r)
		}
		listOf(r.children, r.name, list, ask, leaves)
	}
}

// Ten drawn trees are divided as two other calculators divide them by their published rules: each leaf alike but
// for the last units, in which the rules differ in how they round, one for each sibling on the way.
func TestDrawnTreesAreDividedAsByOthers(t *testing.T) {
	for name, divide := range map[string]func(int64, []*rival){"koordinator": koordinator, "kai": kai} {
		t.Run(name, func(t *testing.T) {
			alike, compared := 0, 0
			for seed := range uint64(10) {
				dice := rand.New(rand.NewPCG(seed, 29))
				const total = 1000
				all := drawRivals(dice, "", total, 2, name == "kai")
				var list []protocol.Quota
				var leaves []*rival
				ask := make(map[string]protocol.Milli)
				for _, r := range all {
					r.limited()
				}
				listOf(all, "", &list, ask, &leaves)
				tree, err := NewTree(list)
				if err != nil {
					t.Fatalf("tree %d: %v", seed, err)
				}
				divide(total, all)
				shares := tree.Shares(total, ask)
				for _, r := range leaves {
					compared++
					off := int64(shares[r.name]) - r.gets
					if off == 0 {
						alike++
					}
					if off > 3 || off < -3 {
						t.Errorf("tree %d: %s gets %d; by %s %d of %d\n%+v", seed, r.name, shares[r.name], name, r.gets, total, list)
					}
				}
			}
			t.Logf("%d of %d leaves alike to the unit", alike, compared)
			if alike < compared*9/10 || compared < 50 {
				t.Errorf("%d of %d leaves are alike to the unit", alike, compared)
			}
		})
	}
}
