package division

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

var fleets = flag.Int("fleets", 4, "random fleets of each size for which the gap is measured")

// rough returns a service over sites whose steps are all of chance, or whose nodes, of a size and a
// price of waking of their own, get dearer from one to the next.
func rough(rng *rand.Rand, replicas, sites int, nodes bool) Request {
	r := Request{Wanted: replicas}
	for i := range sites {
		s := Site{Name: fmt.Sprintf("site-%04d", i), Free: 1 + rng.IntN(4*replicas/sites+8)}
		level, wake, size := 40_000+rng.IntN(130_000), rng.IntN(200_000), 1+rng.IntN(8)
		for n := 0; n < s.Free; {
			if nodes {
				s.Steps = append(s.Steps, Step{Replicas: 1, Cost: protocol.Microdollars(level + wake)}, Step{Replicas: size, Cost: protocol.Microdollars(level)})
				n += 1 + size
				level += rng.IntN(20_000)
			} else {
				k := 1 + rng.IntN(8)
				s.Steps = append(s.Steps, Step{Replicas: k, Cost: protocol.Microdollars(rng.IntN(200_000))})
				n += k
			}
		}
		r.Sites = append(r.Sites, s)
	}
	return r
}

func TestTheSearchLeavesHardlyAGapWhereStepsFall(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range [][2]int{{20, 16}, {100, 64}, {1000, 64}, {10_000, 64}, {10_000, 1000}} {
		for _, nodes := range []bool{false, true} {
			worst, sum, none := 0.0, 0.0, 0
			for range *fleets {
				d := divide(t, rough(rng, size[0], size[1], nodes))
				gap := 100 * float64(d.Cost-d.LowerBound) / float64(d.LowerBound)
				worst, sum = max(worst, gap), sum+gap
				if gap == 0 {
					none++
				}
			}
			t.Logf("%d replicas, %d sites, nodes %v: gap %.5f %% on the mean, %.5f %% at worst, none in %d of %d", size[0], size[1], nodes, sum/float64(*fleets), worst, none, *fleets)
			if worst > 0.1 {
				t.Errorf("%d replicas over %d sites: the gap is %.3f %%; want 0.1 at most", size[0], size[1], worst)
			}
		}
	}
}
