package auction

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// What is put in order bit by bit comes in the order of one sort of all, though
// many cost the same.
func TestLazySortMatchesAFullSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := round([]Lot{lot("job", 1)})
		for _, name := range []string{"bern", "kiel"} {
			m := SiteBids{Site: name}
			for range rapid.IntRange(0, 150).Draw(t, "options") {
				from := float64(rapid.IntRange(0, 9).Draw(t, "from"))
				m.Options = append(m.Options, option("V100", from, from+1, protocol.Microdollars(rapid.IntRange(-3, 9).Draw(t, "cents"))))
			}
			r.Lots[0].Bids = append(r.Lots[0].Bids, m)
			r.Sites = append(r.Sites, Site{Name: name, Trust: 1000, Capacity: []protocol.CapacityProfile{hourly("V100", 1000, 1000)}})
		}
		k := newProblem(r, nil, &priceMemory{}).lots[0]
		want := slices.Clone(k.all)
		slices.SortFunc(want, k.compareByCost)
		for i, x := range want {
			got := k.candidateAt(i)
			o := r.Lots[0].Bids[x.bids].Options[x.option]
			if got.cost != x.cost || got.site != r.Lots[0].Bids[x.bids].Site || *got.BidOption != o || got.cost > k.most {
				t.Fatalf("candidate %d of %d is %+v at %s, want %+v", i, len(want), *got.BidOption, got.site, o)
			}
		}
		if k.candidateAt(len(want)) != nil || k.candidateCount() != len(want) {
			t.Fatalf("%d candidates, want %d", k.candidateCount(), len(want))
		}
	})
}
