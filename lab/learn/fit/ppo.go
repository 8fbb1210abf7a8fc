package fit

import (
	"math"
	"math/rand/v2"

	"github.com/gridbid/gridbid/internal/net"
)

// A Step is one choice among actions.
type Step struct {
	Inputs  []float32 // of the policy's net, one row for each action; the first row is the value net's
	Priors  []float64 // logit of each action beside what the net adds
	Taken   int       // index of the chosen action
	LogProb float64   // of it, when it was chosen
	Value   float64   // that was expected then
}

// A Trajectory is the steps whose rewards belong together, in order. The reward comes after the last.
type Trajectory struct {
	Steps  []Step
	Reward float64
}

// Constants of PPO.
const (
	clipRatio   = 0.2  // of probabilities, beyond which a step teaches no more
	lambda      = 0.95 // of generalized advantage estimation
	epochs      = 4    // over the steps of an update
	batchSize   = 128  // steps
	mostKL      = 0.02 // from the policy that played, at which the epochs end
	firstRate   = 3e-3 // of Adam; it falls to zero
	firstBonus  = 0.01 // for entropy
	lastBonus   = 0.001
	negligible  = 1e-5 // probability of an action whose gradient is left out
	hiddenUnits = 16
)

// A PPO is a policy under training: its net gives each action of a step its logit, from which the
// action is drawn by a softmax; a second net says which reward is to be expected.
type PPO struct {
	Policy, Value *net.Net

	dice          *rand.Rand
	policyAdam    *Adam
	valueAdam     *Adam
	policyGrad    *Gradient
	valueGrad     *Gradient
	policyActs    net.Activation
	valueActs     net.Activation
	score         scorer
	inputs        []float64
	steps         []*Step
	advantages    []float64
	returns       []float64
	order         []int
	scaledByBatch bool
}

// NewPPO returns a policy whose net adds nothing yet. Rows of inputs have so many numbers.
func NewPPO(inputs int, seed uint64) *PPO {
	p := &PPO{
		Policy: net.New(inputs, hiddenUnits, hiddenUnits, 1), Value: net.New(inputs, hiddenUnits, 1),
		dice: rand.New(rand.NewPCG(seed, 1)),
	}
	DrawWeights(p.Policy, p.dice)
	DrawWeights(p.Value, p.dice)
	p.policyAdam, p.valueAdam = NewAdam(p.Policy), NewAdam(p.Value)
	p.policyGrad, p.valueGrad = NewGradient(p.Policy), NewGradient(p.Value)
	p.policyActs, p.valueActs = p.Policy.NewActivation(), p.Value.NewActivation()
	return p
}

// An UpdateReport says what one update did.
type UpdateReport struct {
	Steps   int
	Epochs  int     // that were done
	KL      float64 // from the policy that played
	Entropy float64 // mean, in nats
}

// Update improves the nets by what was played with them. Progress is the part of the training that is
// done, from 0 to 1.
func (p *PPO) Update(played []Trajectory, progress float64) (r UpdateReport) {
	p.estimateAdvantages(played)
	if len(p.steps) == 0 {
		return r
	}
	if !p.scaledByBatch {
		p.scaleInputs()
	}
	rate, bonus := firstRate*(1-progress), firstBonus+float64((lastBonus-firstBonus)*progress)
	r.Steps = len(p.steps)
	for r.Epochs < epochs && r.KL <= mostKL {
		p.dice.Shuffle(len(p.order), func(i, k int) { p.order[i], p.order[k] = p.order[k], p.order[i] })
		r.KL, r.Entropy = 0, 0
		for from := 0; from < len(p.order); from += batchSize {
			p.learnBatch(p.order[from:min(from+batchSize, len(p.order))], rate, bonus, &r)
		}
		r.KL, r.Entropy = r.KL/float64(r.Steps), r.Entropy/float64(r.Steps)
		r.Epochs++
	}
	return r
}

// learnBatch makes one step of each net.
func (p *PPO) learnBatch(batch []int, rate, bonus float64, r *UpdateReport) {
	p.policyGrad.Clear()
	p.valueGrad.Clear()
	for _, i := range batch {
		kl, entropy := p.addPolicyGradient(p.steps[i], p.advantages[i], bonus, float64(len(batch)))
		r.KL, r.Entropy = r.KL+kl, r.Entropy+entropy
		p.addValueGradient(p.steps[i], p.returns[i], float64(len(batch)))
	}
	p.policyAdam.Step(p.Policy, p.policyGrad, rate)
	p.valueAdam.Step(p.Value, p.valueGrad, rate)
}

// addPolicyGradient adds the gradient of a step's part of the loss: minus the clipped advantage, minus
// the bonus for entropy. It returns an estimate of the divergence, and the entropy.
func (p *PPO) addPolicyGradient(s *Step, advantage, bonus, parts float64) (kl, entropy float64) {
	probs := p.score.probabilities(p.Policy, s.Inputs, s.Priors)
	logProb := math.Log(max(probs[s.Taken], 1e-300))
	ratio := math.Exp(logProb - s.LogProb)
	byLogProb := 0.0
	if advantage > 0 && ratio < 1+clipRatio || advantage < 0 && ratio > 1-clipRatio {
		byLogProb = -advantage * ratio
	}
	for _, q := range probs {
		if q > 0 {
			entropy -= float64(q * math.Log(q))
		}
	}
	width := len(p.Policy.Mean)
	for i, q := range probs {
		if q < negligible {
			continue
		}
		d := -byLogProb * q
		if i == s.Taken {
			d += byLogProb
		}
		d += float64(bonus * q * (math.Log(q) + entropy))
		p.inputs = widen(p.inputs, s.Inputs[i*width:(i+1)*width])
		p.Policy.Forward(p.inputs, p.policyActs)
		p.policyGrad.AddBackward(p.Policy, p.policyActs, d/parts)
	}
	return s.LogProb - logProb, entropy
}

// addValueGradient adds the gradient of half the squared error of what was expected.
func (p *PPO) addValueGradient(s *Step, want, parts float64) {
	p.inputs = widen(p.inputs, s.Inputs[:len(p.Value.Mean)])
	got := p.Value.Forward(p.inputs, p.valueActs)[0]
	p.valueGrad.AddBackward(p.Value, p.valueActs, (got-want)/parts)
}

// estimateAdvantages computes how much better each step came out than expected, by generalized
// advantage estimation (Schulman et al. 2016, arXiv 1506.02438) without discount, in standard
// deviations from the mean.
func (p *PPO) estimateAdvantages(played []Trajectory) {
	p.steps, p.advantages, p.returns, p.order = p.steps[:0], p.advantages[:0], p.returns[:0], p.order[:0]
	for t := range played {
		steps := played[t].Steps
		first := len(p.steps)
		for i := range steps {
			p.order = append(p.order, len(p.steps))
			p.steps = append(p.steps, &steps[i])
			p.advantages, p.returns = append(p.advantages, 0), append(p.returns, 0)
		}
		advantage, next := 0.0, 0.0
		for i := len(steps) - 1; i >= 0; i-- {
			off := next - steps[i].Value
			if i == len(steps)-1 {
				off = played[t].Reward - steps[i].Value
			}
			advantage = off + float64(lambda*advantage)
			p.advantages[first+i], p.returns[first+i] = advantage, advantage+steps[i].Value
			next = steps[i].Value
		}
	}
	mean, deviation := meanAndDeviation(p.advantages)
	for i := range p.advantages {
		p.advantages[i] = (p.advantages[i] - mean) / max(deviation, 1e-8)
	}
}

// meanAndDeviation returns the mean and the standard deviation of values.
func meanAndDeviation(v []float64) (mean, deviation float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		deviation += float64((x-mean)*(x-mean)) / float64(len(v))
	}
	return mean, math.Sqrt(deviation)
}

// scaleInputs shifts and scales the nets' inputs by their means and deviations over the rows of the
// first update. An input that never changes keeps its scale.
func (p *PPO) scaleInputs() {
	p.scaledByBatch = true
	width := len(p.Policy.Mean)
	column := make([]float64, 0, len(p.steps))
	for i := range width {
		column = column[:0]
		for _, s := range p.steps {
			for at := i; at < len(s.Inputs); at += width {
				column = append(column, float64(s.Inputs[at]))
			}
		}
		mean, deviation := meanAndDeviation(column)
		if deviation < 1e-3 {
			deviation = 1
		}
		for _, n := range []*net.Net{p.Policy, p.Value} {
			n.Mean[i], n.Scale[i] = mean, deviation
		}
	}
}

// widen returns numbers in double precision, in the memory of to.
func widen(to []float64, from []float32) []float64 {
	to = to[:0]
	for _, v := range from {
		to = append(to, float64(v))
	}
	return to
}
