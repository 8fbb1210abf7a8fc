package published

import (
	"math"
	"slices"
)

// A Curve is a grid quantity over time as a step function: one value for each step of
// a fixed number of ticks, from the curve's start. Callers choose the length of a
// tick and the unit of values.
type Curve struct {
	step       int
	values     []float64
	prefixSums []float64 // Invariant: sums[i] is the sum of the first i values, each counted once
}

// NewCurve returns the curve of values that hold for step ticks each. A step below 1
// counts as 1.
func NewCurve(values []float64, step int) Curve {
	c := Curve{step: max(step, 1), values: slices.Clone(values), prefixSums: make([]float64, len(values)+1)}
	for i, v := range values {
		c.prefixSums[i+1] = c.prefixSums[i] + v
	}
	return c
}

// EndTick returns the first tick after the last known one.
func (c Curve) EndTick() int { return c.step * len(c.values) }

// SumOver returns the sum over the ticks of [from, to), which must lie on the curve.
func (c Curve) SumOver(from, to int) float64 { return c.prefixSumAt(to) - c.prefixSumAt(from) }

// prefixSumAt returns the sum over the ticks of [0, t). The conversions to float64 forbid
// fused multiply-add, whose last digit differs between processors.
func (c Curve) prefixSumAt(t int) float64 {
	i, rest := t/c.step, t%c.step
	sum := float64(c.prefixSums[i] * float64(c.step))
	if rest > 0 {
		sum += float64(c.values[i] * float64(rest))
	}
	return sum
}

// A curvePiece is a span of ticks within one step, with its value.
type curvePiece struct {
	TickSpan
	value float64
}

// splitAtSteps splits [from, to) at the ends of steps.
func (c Curve) splitAtSteps(from, to int) (out []curvePiece) {
	for t := from; t < to; {
		end := min((t/c.step+1)*c.step, to)
		out = append(out, curvePiece{TickSpan{t, end}, c.values[t/c.step]})
		t = end
	}
	return out
}

// QuantileThreshold returns the quantile q (0..1) of the ticks of [from, from+window), cut at
// the curve's end, with linear interpolation between neighbouring ranks. It returns
// +Inf if the curve has no ticks there.
func (c Curve) QuantileThreshold(from, window int, q float64) float64 {
	all := c.splitAtSteps(from, min(from+window, c.EndTick()))
	if len(all) == 0 {
		return math.Inf(1)
	}
	slices.SortFunc(all, compareByValue)
	n := 0
	for _, p := range all {
		n += p.To - p.From
	}
	rank := float64(q * float64(n-1))
	low := int(rank)
	// at returns the k-th smallest value, counting every tick of a piece.
	at := func(k int) float64 {
		for _, p := range all {
			if k -= p.To - p.From; k < 0 {
				return p.value
			}
		}
		return all[len(all)-1].value
	}
	return at(low) + float64((at(min(low+1, n-1))-at(low))*(rank-float64(low)))
}

// compareByValue orders pieces by value, then by time.
func compareByValue(x, y curvePiece) int {
	switch {
	case x.value < y.value:
		return -1
	case x.value > y.value:
		return 1
	}
	return x.From - y.From
}
