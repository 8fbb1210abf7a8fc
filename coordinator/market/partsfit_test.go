package market

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// Whether sites hold all parts of a job is what trying every site for every part says.
func TestPartsThatNeverFitAreThoseThatNoDivisionHolds(t *testing.T) {
	never := 0
	rapid.Check(t, func(t *rapid.T) {
		k := New(Config{}, nil)
		r := &round{offers: make(map[string]protocol.Bids)}
		n, sites := rapid.IntRange(2, 4).Draw(t, "parts"), rapid.IntRange(1, 4).Draw(t, "sites")
		w := &lot{job: protocol.Job{ID: "w", MaxSites: rapid.IntRange(1, n).Draw(t, "max")}}
		for i := range n {
			w.parts = append(w.parts, &lot{job: protocol.Job{ID: protocol.JobID(fmt.Sprint("w.", i)), GPUs: rapid.IntRange(1, 4).Draw(t, "gpus"), Share: 1000}})
		}
		have := make([]int, sites)
		cannot := make([][]bool, sites)
		for s := range sites {
			name := fmt.Sprint("s", s)
			have[s] = rapid.IntRange(1, 8).Draw(t, "have")
			k.siteNames, k.sites[name] = append(k.siteNames, name), &site{registration: protocol.RegisterSite{Site: name, Pools: []protocol.Pool{{Model: "V100", Nodes: 1, GPUs: have[s]}}}}
			var b protocol.Bids
			for _, p := range w.parts {
				no := rapid.IntRange(0, 3).Draw(t, "no") == 0
				if cannot[s] = append(cannot[s], no); no {
					b.Jobs = append(b.Jobs, noBids(p.job.ID, protocol.FitsNoNode))
				}
			}
			r.offers[name] = b
		}
		var try func(i int) bool
		used := make([]int, sites) // parts
		try = func(i int) bool {
			if i == n {
				return true
			}
			for s := range sites {
				open := 0
				for _, u := range used {
					open += min(u, 1)
				}
				g := w.parts[i].job.GPUs
				if cannot[s][i] || have[s] < g || used[s] == 0 && open == w.job.MaxSites {
					continue
				}
				used[s], have[s] = used[s]+1, have[s]-g
				ok := try(i + 1)
				if used[s], have[s] = used[s]-1, have[s]+g; ok {
					return true
				}
			}
			return false
		}
		if _, got := k.partsNeverFit(r, w); got == try(0) {
			t.Fatalf("never %v; trying all says that they fit: %v", got, try(0))
		} else if got {
			never++
		}
	})
	if never == 0 {
		t.Error("no drawn job never fits: the test proves nothing")
	}
}
