package auction

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// One GPU: b has the expensive hour, and a is in the one that b wants. Only a move of both
// improves.
func TestEjectionMovesALotIfThatCostsLess(t *testing.T) {
	m := func(o ...protocol.BidOption) SiteBids { return SiteBids{Site: "oslo", Options: o} }
	early, mid, late := option("V100", 0, 1, 1), option("V100", 2, 3, 2), option("V100", 5, 6, 9)
	dear := option("V100", 2, 3, 10)
	for _, c := range []struct {
		name     string
		other    protocol.BidOption
		priority int
		next     float64 // hour of the next full round
		want     []int
	}{
		{"a's other hour costs less than b saves", mid, 0, 9, []int{1, 0}},
		{"it costs more", dear, 0, 9, []int{0, 1}},
		{"a goes first", mid, 1, 9, []int{0, 1}},
		{"a would rather wait than pay twice as much", mid, 0, 1, []int{0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := lot("a", 1, m(early, c.other)), lot("b", 1, m(early, late))
			a.Job.Priority = c.priority
			r := round([]Lot{a, b}, oslo())
			r.Next = at(c.next)
			p := newProblem(r, nil, &priceMemory{})
			p.bestResponses(make([]slotSeries, len(p.pools))) // puts the options in order
			if got := p.improveByEjection([]int{0, 1}, []int{0, 1}); !slices.Equal(got, c.want) {
				t.Errorf("options %v, want %v", got, c.want)
			}
		})
	}
}

func TestAnExchangeFitsAndIsNeverWorse(t *testing.T) {
	better := 0
	rapid.Check(t, func(t *rapid.T) {
		r := drawRound(t, 12)
		if rapid.Bool().Draw(t, "crowd") {
			r = crowd(rapid.IntRange(10, 40).Draw(t, "jobs"), rapid.IntRange(2, 5).Draw(t, "sites"), 3, 1)
		}
		p := newProblem(r, nil, &priceMemory{})
		p.searchPrices(20)
		order := p.orderByRegret()
		one := p.chooseInOrder(order, p.newRemainingCapacity(), priceOfFreeCapacity)
		two := p.improveByEjection(order, one)
		if !fit(r, p, two) {
			t.Fatalf("choices %v do not fit", two)
		}
		was, is := p.assignmentCost(one), p.assignmentCost(two)
		if was < is {
			t.Fatalf("%d became %d", was, is)
		}
		if is < was {
			better++
		}
	})
	if better == 0 {
		t.Error("no exchange was ever better")
	}
}

// The cached and cut-off search finds what a scan of all options finds.
func TestBestAtPricesMatchesAFullScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRound(t, 8)
		p := newProblem(r, nil, &priceMemory{})
		for range 2 {
			for i, l := range p.lots {
				want := math.Inf(1)
				for c := range l.candidateCount() {
					k := l.candidateAt(c)
					want = min(want, float64(k.cost)+shadow(p, k))
				}
				for range 2 {
					if c, got := p.bestAtPrices(i); got != want || c >= 0 && p.costWithCapacity(i, c) != want {
						t.Fatalf("lot %d: option %d at %g, want one at %g", i, c, got, want)
					}
				}
			}
			p.searchPrices(10)
		}
	})
}
