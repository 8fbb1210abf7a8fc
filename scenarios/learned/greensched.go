package learned

import (
	"fmt"
	"math"
	"slices"

	"github.com/gridbid/gridbid/internal/net"
)

// Inputs is how many numbers a net may read of one action: those of the job, then those of the option.
const Inputs = jobFeatures + optionFeatures

// What an action counts less than the first allowed one before the net has learned anything.
const (
	sharpness   = 50 // for costing as much more as the job's cheapest option costs
	lateness    = 5  // for missing the deadline
	holdPenalty = 6  // for holding
)

// noOption is the row of an option that is none.
var noOption [optionFeatures]float64

// InputNames returns the names of the inputs that a net may read, in order.
func InputNames() (names []string) {
	for _, n := range JobFeatures {
		names = append(names, "job_"+n)
	}
	return append(names, OptionFeatures...)
}

// AppendInputs appends the inputs for an action. Hold is an option of zeros.
func (o *Observation) AppendInputs(to []float64, action int) []float64 {
	for _, v := range o.Job {
		to = append(to, float64(v))
	}
	if action == Hold {
		return append(to, noOption[:]...)
	}
	for _, v := range o.optionRow(action) {
		to = append(to, float64(v))
	}
	return to
}

// optionRow returns the features of an option.
func (o *Observation) optionRow(option int) []float32 {
	return o.Options[option*len(OptionFeatures) : (option+1)*len(OptionFeatures)]
}

// Positions of features among those of an option.
var (
	costFeature   = slices.Index(OptionFeatures, "cost")
	inTimeFeature = slices.Index(OptionFeatures, "in_time")
)

// Prior returns the logit that an allowed action has beside what the net adds to it: 0 for the first
// allowed option, which costs least.
func (o *Observation) Prior(action int) float64 {
	if action == Hold {
		return -holdPenalty
	}
	first, row := o.optionRow(slices.Index(o.Mask[:], 1)), o.optionRow(action)
	dearer, later := float64(row[costFeature]-first[costFeature]), float64(first[inTimeFeature]-row[inTimeFeature])
	return -float64(sharpness*dearer) - float64(lateness*later)
}

// ParseWeights reads weights of greensched. An error names the field that does not fit.
func ParseWeights(text []byte) (net.File, error) {
	f, err := net.Parse(text)
	if err != nil {
		return net.File{}, err
	}
	return f, CheckWeights(f)
}

// CheckWeights returns an error if a net is not one of greensched.
func CheckWeights(f net.File) error {
	known := InputNames()
	for i, name := range f.Features {
		if !slices.Contains(known, name) || slices.Contains(f.Features[:i], name) {
			return fmt.Errorf("learned: features: %q is none that this program has, or occurs twice: train the net anew", name)
		}
	}
	switch {
	case f.Name != Name:
		return fmt.Errorf("learned: name: %q: want weights of %s", f.Name, Name)
	case len(f.Layers[len(f.Layers)-1].Bias) != 1:
		return fmt.Errorf("learned: layers: the last has %d outputs: want one, the worth of an action", len(f.Layers[len(f.Layers)-1].Bias))
	}
	return nil
}

// Name is the policy's, and that of its weights.
const Name = "greensched"

// New returns the rule greensched: of a job's allowed actions it takes the one that the net holds
// worth most, and the cheaper one of equals.
func New(f net.File) *Rule { return newNetRule(f, false) }

// NewShadow returns greensched for DecideInShadow: it is asked about each called job, also about one
// for which the rule in force planned a later start.
func NewShadow(f net.File) *Rule { return newNetRule(f, true) }

// newNetRule returns a rule that a net answers; see NewRule.
func newNetRule(f net.File, replan bool) *Rule {
	c := newChooser(f)
	return NewRule(func(q *Question) (int, string) { return c.choose(&q.Observation), c.note }, replan)
}

// TitleOf returns the name of the policy with the first digits of the hash of its weights.
func TitleOf(f net.File) string { return fmt.Sprintf("%s %.4s", Name, f.SHA256) }

// A chooser answers by a net.
type chooser struct {
	net    net.Net
	acts   net.Activation
	reads  []int     // which of an action's inputs the net reads, in its order
	all    []float64 // the inputs of an action
	inputs []float64 // those that the net reads
	note   string
}

// newChooser returns a chooser by weights, whose file names the inputs that the net reads. So weights
// that were trained before an observation got more numbers decide as they did.
func newChooser(f net.File) chooser {
	c := chooser{net: f.Net, acts: f.NewActivation(), note: TitleOf(f), inputs: make([]float64, len(f.Features))}
	known := InputNames()
	for _, name := range f.Features {
		c.reads = append(c.reads, slices.Index(known, name))
	}
	return c
}

// choose returns the allowed action that is worth most. One whose worth is no number, as huge weights
// make it, is passed over; if all are, the job is held.
func (c *chooser) choose(o *Observation) int {
	best, worth := Hold, math.Inf(-1)
	for action, allowed := range o.Mask {
		if allowed == 0 {
			continue
		}
		c.all = o.AppendInputs(c.all[:0], action)
		for i, from := range c.reads {
			c.inputs[i] = c.all[from]
		}
		if v := o.Prior(action) + c.net.Forward(c.inputs, c.acts)[0]; v > worth {
			best, worth = action, v
		}
	}
	return best
}
