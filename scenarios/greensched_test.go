package scenarios

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/internal/net"
	"github.com/gridbid/gridbid/scenarios/learned"
)

// netOf returns weights of greensched that a function draws.
func netOf(draw func() float64) net.File {
	n := net.New(learned.Inputs, 5, 1)
	for i := range n.Layers {
		for k := range n.Layers[i].Weights {
			n.Layers[i].Weights[k] = draw()
		}
		for k := range n.Layers[i].Bias {
			n.Layers[i].Bias[k] = draw()
		}
	}
	return net.File{Name: learned.Name, Features: learned.InputNames(), Net: *n}
}

// Whatever the weights are, a day under them ends, its record is consistent, and every job runs or is
// refused; what decides is only which option is taken.
func TestNoWeightsBreakARun(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 1))
	for name, draw := range map[string]func() float64{
		"small":    dice.NormFloat64,
		"large":    func() float64 { return 1000 * dice.NormFloat64() },
		"huge":     func() float64 { return math.Copysign(1e300, dice.Float64()-0.5) },
		"no worth": func() float64 { return math.NaN() },
	} {
		t.Run(name, func(t *testing.T) {
			s := small(60)
			f := netOf(draw)
			asked := 0
			res, err := Replay(t.Context(), s, PolicyGreensched, new(membus.Bus), Options{Rule: func() auction.ClearingRule {
				asked++
				return learned.New(f)
			}})
			if err != nil {
				t.Fatal(err)
			}
			if x := res.Totals; x.Placed+x.Unplaced != len(s.Jobs) || asked != 1 {
				t.Errorf("%d jobs ran, %d did not; there are %d", x.Placed, x.Unplaced, len(s.Jobs))
			}
		})
	}
}

// A net that adds nothing takes the cheapest option of those that keep the deadline.
func TestAnUntrainedNetIsGreedy(t *testing.T) {
	s, f := small(60), netOf(func() float64 { return 0 })
	untrained := func() auction.ClearingRule { return learned.New(f) }
	greedy := func() auction.ClearingRule {
		return learned.NewRule(func(q *learned.Question) (int, string) { return q.Best, fmt.Sprintf("%s ", learned.Name) }, false)
	}
	var costs [2]float64
	for i, rule := range []func() auction.ClearingRule{untrained, greedy} {
		res, err := Replay(t.Context(), s, PolicyGreensched, new(membus.Bus), Options{Rule: rule})
		if err != nil {
			t.Fatal(err)
		}
		costs[i] = res.Totals.ObjectiveUSD
	}
	if costs[0] != costs[1] {
		t.Errorf("untrained it costs $%v, greedily $%v", costs[0], costs[1])
	}
}

// The weights in the program are whole, and it decides by them.
func TestTheShippedWeightsAreWhole(t *testing.T) {
	if _, err := learned.Shipped(); err != nil {
		t.Fatal(err)
	}
	if n := len(learned.ShippedBytes()); n > 100_000 {
		t.Errorf("they have %d bytes; want at most 100,000", n)
	}
	rule, _, _ := policyConfig(PolicyGreensched, 1)
	if _, ok := rule.(*learned.Rule); !ok {
		t.Errorf("a %T decides under %s", rule, PolicyGreensched)
	}
}
