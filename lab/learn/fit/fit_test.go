package fit

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/internal/net"
)

// weightsOf returns pointers to all weights of layers, in one order.
func weightsOf(layers []net.Layer) (all []*float64) {
	for i := range layers {
		for _, v := range [][]float64{layers[i].Weights, layers[i].Bias} {
			for k := range v {
				all = append(all, &v[k])
			}
		}
	}
	return all
}

// matchesDifferences checks a gradient against central differences of its loss, weight by weight.
func matchesDifferences(t *rapid.T, n *net.Net, g *Gradient, loss func() float64) {
	analytic := weightsOf(g.Layers)
	for i, w := range weightsOf(n.Layers) {
		// The loss has kinks where a rectifier opens. Where two widths of the difference disagree,
		// one is near, and nothing is known.
		slope := func(h float64) float64 {
			was := *w
			defer func() { *w = was }()
			*w = was + h
			up := loss()
			*w = was - h
			return (up - loss()) / (2 * h)
		}
		wide, narrow := slope(2e-5), slope(1e-5)
		if math.Abs(wide-narrow) > 1e-7*max(1, math.Abs(narrow)) {
			continue
		}
		if off := math.Abs(*analytic[i] - narrow); off > 1e-6*max(1, math.Abs(narrow)) {
			t.Fatalf("weight %d: gradient %v, difference %v", i, *analytic[i], narrow)
		}
	}
}

// drawNet draws a net of small odd sizes, with weights in all layers.
func drawNet(t *rapid.T, inputs, outputs int, dice *rand.Rand) *net.Net {
	n := net.New(inputs, rapid.IntRange(1, 6).Draw(t, "hidden"), rapid.IntRange(1, 6).Draw(t, "hidden2"), outputs)
	for _, w := range weightsOf(n.Layers) {
		*w = dice.NormFloat64()
	}
	return n
}

func TestGradientsAreThoseOfDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dice := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := drawNet(t, rapid.IntRange(1, 5).Draw(t, "inputs"), 2, dice)
		x := make([]float64, len(n.Mean))
		for i := range x {
			x[i] = dice.NormFloat64()
		}
		a, g := n.NewActivation(), NewGradient(n)
		loss := func() float64 {
			y := n.Forward(x, a)
			return float64(3*y[0]) + float64(y[1]*y[1])
		}
		loss()
		g.AddBackward(n, a, 3, 2*a[len(a)-1][1])
		matchesDifferences(t, n, g, loss)
	})
}

// The gradient of PPO's own loss: clipped advantage and entropy, over a softmax of priors and net.
func TestThePolicysGradientIsThatOfItsLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dice := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		p := NewPPO(3, 1)
		p.Policy = drawNet(t, 3, 1, dice)
		p.policyGrad, p.policyActs = NewGradient(p.Policy), p.Policy.NewActivation()
		s := Step{Taken: dice.IntN(3), LogProb: -2 * dice.Float64()}
		for range 3 {
			s.Priors = append(s.Priors, dice.NormFloat64())
			for range 3 {
				s.Inputs = append(s.Inputs, float32(dice.NormFloat64()))
			}
		}
		advantage, bonus := dice.NormFloat64(), 0.3
		loss := func() float64 {
			probs := p.score.probabilities(p.Policy, s.Inputs, s.Priors)
			entropy := 0.0
			for _, q := range probs {
				if q < 2*negligible {
					t.Skip("an action is left out")
				}
				entropy -= q * math.Log(q)
			}
			ratio := math.Exp(math.Log(probs[s.Taken]) - s.LogProb)
			return -min(ratio*advantage, min(max(ratio, 1-clipRatio), 1+clipRatio)*advantage) - bonus*entropy
		}
		loss()
		p.addPolicyGradient(&s, advantage, bonus, 1)
		matchesDifferences(t, p.Policy, p.policyGrad, loss)
	})
}

// playTwoSites trains on a market of two sites and two hours: each of the four places of a job costs
// what its site and hour say, and now and then the later hour of the cheap site is full. Which is best
// is not the one that the priors say. A reward is minus what the job paid or, of regret, minus what it paid
// beyond the best of its places.
func playTwoSites(seed uint64, decisions int, regret bool) (p *PPO, right float64) {
	p = NewPPO(4, seed)
	dice := rand.New(rand.NewPCG(seed, 2))
	y := p.NewPlayer(rand.New(rand.NewPCG(seed, 3)))
	draw := func() (s Step, costs []float64) {
		night := float32(dice.IntN(2)) // at night the second site is cheaper
		for site := range 2 {
			for hour := range 2 {
				cost := 1.0 + 0.5*float64(hour)
				if (site == 1) == (night == 1) {
					cost -= 0.4
				}
				if hour == 1 && night == 1 {
					cost -= 0.9
				}
				costs = append(costs, cost)
				s.Inputs = append(s.Inputs, night, float32(site), float32(hour), 1)
				s.Priors = append(s.Priors, float64(-site)) // it prefers the first
			}
		}
		return s, costs
	}
	const each = 500
	for done := 0; done < decisions; done += each {
		var played []Trajectory
		for range each {
			s, costs := draw()
			y.Play(&s)
			reward := -costs[s.Taken] + 0.1*dice.NormFloat64()
			if regret {
				reward += slices.Min(costs)
			}
			played = append(played, Trajectory{[]Step{s}, reward})
		}
		p.Update(played, float64(done)/float64(decisions))
	}
	const asked = 2000
	for range asked {
		s, costs := draw()
		probs, best := y.score.probabilities(p.Policy, s.Inputs, s.Priors), 0
		for i := range probs {
			if probs[i] > probs[best] {
				best = i
			}
		}
		if costs[best] == slices.Min(costs) {
			right += 1.0 / asked
		}
	}
	return p, right
}

// Either reward leads to the policy that is known to be best.
func TestAKnownOptimumIsLearned(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		for _, regret := range []bool{false, true} {
			if _, right := playTwoSites(seed, 20_000, regret); right < 0.99 {
				t.Errorf("seed %d, rewards of regret %v: it takes the best option in %.1f %% of the cases; want 99", seed, regret, 100*right)
			}
		}
	}
}

func TestOneSeedGivesOneSetOfWeights(t *testing.T) {
	sum := func(seed uint64) string {
		p, _ := playTwoSites(seed, 2000, false)
		text, err := json.Marshal([]*net.Net{p.Policy, p.Value})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x", sha256.Sum256(text))
	}
	if a, b := sum(7), sum(7); a != b {
		t.Errorf("seed 7 gave %s and %s", a, b)
	}
	if sum(7) == sum(8) {
		t.Error("seeds 7 and 8 gave the same weights")
	}
}

// A reward that comes after several steps is credited to all of them.
func TestAdvantagesReachBackToTheFirstStep(t *testing.T) {
	p := NewPPO(1, 1)
	p.estimateAdvantages([]Trajectory{{Steps: make([]Step, 2), Reward: 1}, {Steps: make([]Step, 2)}})
	if want := []float64{0.95, 1, 0, 0}; p.returns[0] != want[0] || p.returns[1] != want[1] || p.returns[2] != 0 || p.returns[3] != 0 {
		t.Errorf("returns %v; want %v", p.returns, want)
	}
}
