package fit

import (
	"math"
	"math/rand/v2"

	"github.com/gridbid/gridbid/internal/net"
)

// A Player draws actions by a policy as it stands. Several may play at once, while nothing learns.
type Player struct {
	policy, value *net.Net
	dice          *rand.Rand
	score         scorer
	valueActs     net.Activation
	inputs        []float64
}

// NewPlayer returns a player with dice of its own.
func (p *PPO) NewPlayer(dice *rand.Rand) *Player {
	return &Player{policy: p.Policy, value: p.Value, dice: dice, valueActs: p.Value.NewActivation()}
}

// Play draws the action of a step, whose inputs and priors are given, and notes it there.
func (y *Player) Play(s *Step) {
	probs := y.score.probabilities(y.policy, s.Inputs, s.Priors)
	s.Taken = 0
	for left := y.dice.Float64(); s.Taken < len(probs)-1; s.Taken++ {
		if left -= probs[s.Taken]; left < 0 {
			break
		}
	}
	s.LogProb = math.Log(max(probs[s.Taken], 1e-300))
	y.inputs = widen(y.inputs, s.Inputs[:len(y.value.Mean)])
	s.Value = y.value.Forward(y.inputs, y.valueActs)[0]
}

// A scorer computes probabilities of actions in memory of its own.
type scorer struct {
	acts   net.Activation
	inputs []float64
	probs  []float64
}

// probabilities returns the softmax over actions of prior and net, valid until the next call.
func (c *scorer) probabilities(n *net.Net, inputs []float32, priors []float64) []float64 {
	if c.acts == nil {
		c.acts = n.NewActivation()
	}
	c.probs = c.probs[:0]
	width, most := len(n.Mean), math.Inf(-1)
	for i, prior := range priors {
		c.inputs = widen(c.inputs, inputs[i*width:(i+1)*width])
		logit := prior + n.Forward(c.inputs, c.acts)[0]
		c.probs = append(c.probs, logit)
		most = max(most, logit)
	}
	sum := 0.0
	for i, logit := range c.probs {
		c.probs[i] = math.Exp(logit - most)
		sum += c.probs[i]
	}
	for i := range c.probs {
		c.probs[i] /= sum
	}
	return c.probs
}
