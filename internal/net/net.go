// Package net is a small neural network, a multilayer perceptron: numbers in, numbers out, and the file
// that its weights are kept in.
//
// Promises: the same weights and inputs give the same output, bit for bit, on any machine, since sums
// have a fixed order and products are rounded before they are added; no file that [Parse] accepts
// holds a value that is not finite, or a byte that its writer did not write; nothing panics.
//
// Neighbours: lab/learn/fit trains nets, scenarios/learned decides and agents/forecast forecasts by them.
package net

import (
	"fmt"
	"math"
)

// A Net is dense layers with a rectifier (ReLU) after each but the last. Inputs are first shifted by
// Mean and divided by Scale.
type Net struct {
	Mean   []float64 `json:"mean"`   // of each input
	Scale  []float64 `json:"scale"`  // of each input, above zero
	Layers []Layer   `json:"layers"` // at least one
}

// A Layer has one weight for each pair of output and input.
type Layer struct {
	Weights []float64 `json:"weights"` // by output, then by input
	Bias    []float64 `json:"bias"`    // by output
}

// New returns a net of zeros: sizes are the inputs, the outputs of each hidden layer, and the outputs.
func New(sizes ...int) *Net {
	n := &Net{Mean: make([]float64, sizes[0]), Scale: make([]float64, sizes[0])}
	for i := range n.Scale {
		n.Scale[i] = 1
	}
	for i, in := range sizes[:len(sizes)-1] {
		n.Layers = append(n.Layers, Layer{make([]float64, in*sizes[i+1]), make([]float64, sizes[i+1])})
	}
	return n
}

// An Activation is what a forward pass computes: the scaled input, and what each layer puts out.
type Activation [][]float64

// NewActivation returns the memory of a forward pass.
func (n *Net) NewActivation() Activation {
	a := Activation{make([]float64, len(n.Mean))}
	for _, l := range n.Layers {
		a = append(a, make([]float64, len(l.Bias)))
	}
	return a
}

// Forward computes the outputs of n for inputs x, as many as n has, in the memory of a, and returns
// them. They are valid until the next use of a. Huge weights may make them infinite or NaN.
func (n *Net) Forward(x []float64, a Activation) []float64 {
	for i := range a[0] {
		a[0][i] = (x[i] - n.Mean[i]) / n.Scale[i]
	}
	for i := range n.Layers {
		n.Layers[i].apply(a[i], a[i+1], i+1 < len(n.Layers))
	}
	return a[len(a)-1]
}

// apply computes a layer's outputs from its inputs.
func (l *Layer) apply(in, out []float64, rectified bool) {
	for k := range out {
		row := l.Weights[k*len(in):][:len(in)]
		sum := l.Bias[k]
		for i, v := range in {
			sum += float64(row[i] * v)
		}
		if rectified && sum <= 0 {
			sum = 0
		}
		out[k] = sum
	}
}

// validate returns an error that names the first number that a net may not have.
func (n *Net) validate() error {
	if len(n.Mean) == 0 || len(n.Scale) != len(n.Mean) {
		return fmt.Errorf("scale: %d numbers for %d inputs of mean: want as many, at least one", len(n.Scale), len(n.Mean))
	}
	if err := finite("mean", n.Mean); err != nil {
		return err
	}
	if err := finite("scale", n.Scale); err != nil {
		return err
	}
	for i, v := range n.Scale {
		if v <= 0 {
			return fmt.Errorf("scale[%d]: %v: want a number above 0", i, v)
		}
	}
	if len(n.Layers) == 0 {
		return fmt.Errorf("layers: none: want at least one")
	}
	in := len(n.Mean)
	for i, l := range n.Layers {
		if len(l.Bias) == 0 || len(l.Weights) != in*len(l.Bias) {
			return fmt.Errorf("layers[%d].weights: %d numbers for %d inputs and %d outputs: want their product, above 0", i, len(l.Weights), in, len(l.Bias))
		}
		if err := finite(fmt.Sprintf("layers[%d].weights", i), l.Weights); err != nil {
			return err
		}
		if err := finite(fmt.Sprintf("layers[%d].bias", i), l.Bias); err != nil {
			return err
		}
		in = len(l.Bias)
	}
	return nil
}

// finite returns an error that names the first number that is infinite or no number.
func finite(field string, v []float64) error {
	for i, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%s[%d]: %v: want a finite number", field, i, x)
		}
	}
	return nil
}
