package scenarios

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/explain/counterfactual"
	"github.com/gridbid/gridbid/internal/net"
	"github.com/gridbid/gridbid/protocol"
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

// besideItself is greensched in force with the same policy in its shadow.
type besideItself struct {
	*learned.Rule
	shadow  *learned.Rule
	decided int
	differ  []auction.Decision
}

// Clear implements auction.ClearingRule.
func (b *besideItself) Clear(r auction.Round) auction.Outcome {
	out := b.Rule.Clear(r)
	for i, d := range b.shadow.DecideInShadow(r, out.Decisions) {
		b.decided++
		if !counterfactual.SameDecision(d, out.Decisions[i]) {
			b.differ = append(b.differ, d)
		}
	}
	return out
}

// What a policy in shadow keeps between rounds is what the rule in force decided: beside itself it
// decides every round as that does. One that kept what it would have decided would soon differ beside another.
func TestAPolicyInShadowOfItselfDecidesTheSame(t *testing.T) {
	f, err := learned.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	b := &besideItself{Rule: learned.NewShadow(f), shadow: learned.NewShadow(f)}
	if _, err := Replay(t.Context(), small(150), PolicyGreensched, new(membus.Bus), Options{Rule: func() auction.ClearingRule { return b }}); err != nil {
		t.Fatal(err)
	}
	if b.decided < 150 || len(b.differ) > 0 {
		t.Errorf("of %d decisions %d differ: %+v", b.decided, len(b.differ), b.differ[:min(len(b.differ), 1)])
	}
}

// besideLate is the auction, which leaves every job waiting for four calls, with greensched in its shadow.
type besideLate struct {
	*auction.Auction
	shadow *learned.Rule
	calls  map[protocol.JobID]int
	early  int // awards that greensched would have made meanwhile
	queued int // those of them that go into a site's queue, as after three that the site declined
}

// Clear implements auction.ClearingRule.
func (b *besideLate) Clear(r auction.Round) auction.Outcome {
	out := b.Auction.Clear(r)
	for i := range r.Lots {
		id := r.Lots[i].Job.ID
		if b.calls[id]++; b.calls[id] < 5 {
			out.Decisions[i] = auction.Decision{Until: r.Next, Why: protocol.Reason{Code: protocol.Waiting}}
		}
	}
	for i, d := range b.shadow.DecideInShadow(r, out.Decisions) {
		if b.calls[r.Lots[i].Job.ID] < 5 && d.Verdict == auction.Award && d.Option.Start <= r.Now {
			b.early++
			if d.MayQueue {
				b.queued++
			}
		}
	}
	return out
}

// A job that the rule in force left waiting was awarded to nobody, whatever the policy would have done.
func TestAPolicyInShadowTakesNoneOfItsAwardsForMade(t *testing.T) {
	f := netOf(func() float64 { return 0 })
	b := &besideLate{Auction: auction.New(auction.Config{}), shadow: learned.NewShadow(f), calls: make(map[protocol.JobID]int)}
	if _, err := Replay(t.Context(), small(60), PolicyAuction, new(membus.Bus), Options{Rule: func() auction.ClearingRule { return b }}); err != nil {
		t.Fatal(err)
	}
	if b.early < 80 || b.queued > 0 {
		t.Errorf("of %d awards that were never made %d count on others that were not either", b.early, b.queued)
	}
}
