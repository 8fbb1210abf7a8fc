package fit

import (
	"math"
	"math/rand/v2"

	"github.com/gridbid/gridbid/internal/net"
)

// A Gradient is the derivative of a loss by each weight of a net, in the form of its layers.
type Gradient struct {
	Layers []net.Layer
	back   net.Activation // derivatives by what each layer puts out
}

// NewGradient returns a gradient of zeros.
func NewGradient(n *net.Net) *Gradient {
	g := &Gradient{back: n.NewActivation()}
	for _, l := range n.Layers {
		g.Layers = append(g.Layers, net.Layer{Weights: make([]float64, len(l.Weights)), Bias: make([]float64, len(l.Bias))})
	}
	return g
}

// Clear sets a gradient to zero.
func (g *Gradient) Clear() {
	for i := range g.Layers {
		clear(g.Layers[i].Weights)
		clear(g.Layers[i].Bias)
	}
}

// AddBackward adds the gradient of a loss whose derivatives by the net's outputs are given, at the
// inputs of the last forward pass in a.
func (g *Gradient) AddBackward(n *net.Net, a net.Activation, byOutput ...float64) {
	last := len(n.Layers)
	copy(g.back[last], byOutput)
	for i := last - 1; i >= 0; i-- {
		in, out := a[i], g.back[i+1]
		below := g.back[i]
		clear(below)
		for k, d := range out {
			if d == 0 || i < last-1 && a[i+1][k] <= 0 { // the rectifier lets nothing through
				continue
			}
			g.Layers[i].Bias[k] += d
			row, weights := g.Layers[i].Weights[k*len(in):][:len(in)], n.Layers[i].Weights[k*len(in):][:len(in)]
			if i == 0 {
				for x, v := range in {
					row[x] += float64(d * v)
				}
				continue
			}
			for x, v := range in {
				row[x] += float64(d * v)
				below[x] += float64(d * weights[x])
			}
		}
	}
}

// DrawWeights sets the weights of all layers but the last by He's rule, uniformly, and the last to zero,
// so that the net begins at zero.
func DrawWeights(n *net.Net, dice *rand.Rand) {
	in := len(n.Mean)
	for i := range n.Layers {
		bound := math.Sqrt(6 / float64(in))
		for k := range n.Layers[i].Weights {
			if n.Layers[i].Weights[k] = 0; i < len(n.Layers)-1 {
				n.Layers[i].Weights[k] = bound * (float64(2*dice.Float64()) - 1)
			}
		}
		clear(n.Layers[i].Bias)
		in = len(n.Layers[i].Bias)
	}
}

// An Adam is the state of Adam (Kingma and Ba 2015, arXiv 1412.6980) for one net.
type Adam struct {
	first, second []net.Layer
	steps         int
}

// NewAdam returns the state for a net.
func NewAdam(n *net.Net) *Adam {
	return &Adam{first: NewGradient(n).Layers, second: NewGradient(n).Layers}
}

// Constants of Adam as its authors propose them, and the greatest length of a gradient.
const (
	adamFirst, adamSecond, adamTiny = 0.9, 0.999, 1e-8

	longestGradient = 0.5
)

// Step moves a net's weights against a gradient, which is cut to longestGradient first.
func (s *Adam) Step(n *net.Net, g *Gradient, rate float64) {
	s.steps++
	length := 0.0
	for _, l := range g.Layers {
		length += squares(l.Weights) + squares(l.Bias)
	}
	cut := min(1, longestGradient/max(math.Sqrt(length), adamTiny))
	rate *= math.Sqrt(1-math.Pow(adamSecond, float64(s.steps))) / (1 - math.Pow(adamFirst, float64(s.steps)))
	for i := range n.Layers {
		move(n.Layers[i].Weights, g.Layers[i].Weights, s.first[i].Weights, s.second[i].Weights, cut, rate)
		move(n.Layers[i].Bias, g.Layers[i].Bias, s.first[i].Bias, s.second[i].Bias, cut, rate)
	}
}

// move moves weights by their gradients and the running moments of those.
func move(w, g, first, second []float64, cut, rate float64) {
	for i := range w {
		d := cut * g[i]
		first[i] = float64(adamFirst*first[i]) + float64((1-adamFirst)*d)
		second[i] = float64(adamSecond*second[i]) + float64((1-adamSecond)*float64(d*d))
		w[i] -= rate * first[i] / (math.Sqrt(second[i]) + adamTiny)
	}
}

// squares returns the sum of squares.
func squares(v []float64) (sum float64) {
	for _, x := range v {
		sum += float64(x * x)
	}
	return sum
}
