package published

import (
	"math"
	"slices"
)

// A Curve is a grid quantity over time as a step function: one value for each step of a fixed number of ticks, from
// the curve's start. Callers choose the length of a tick and the unit of values.
type Curve struct {
	step   int
	values []float64
	sums   []float64 // Invariant: sums[i] is the sum of the first i values, each counted once
}

// NewCurve returns the curve of values that hold for step ticks each. A step below 1 counts as 1.
func NewCurve(values []float64, step int) Curve {
	c := Curve{step: max(step, 1), values: slices.Clone(values), sums: make([]float64, len(values)+1)}
	for i, v := range values {
		c.sums[i+1] = c.sums[i] + v
	}
	return c
}

// End returns the first tick after the last known one.
func (c Curve) End() int { return c.step * len(c.values) }

// Over returns the sum over the ticks of [from, to), which must lie on the curve.
func (c Curve) Over(from, to int) float64 { return c.until(to) - c.until(from) }

// until returns the sum over the ticks of [0, t). The conversions to float64 forbid fused multiply-add, whose last
// digit differs between processors.
func (c Curve) until(t int) float64 {
	i, rest := t/c.step, t%c.step
	sum := float64(c.sums[i] * float64(c.step))
	if rest > 0 {
		sum += float64(c.values[i] * float64(rest))
	}
	return sum
}

// A piece is a span of ticks within one step, with its value.
type piece struct {
	Span
	value float64
}

// pieces splits [from, to) at the ends of steps.
func (c Curve) pieces(from, to int) (out []piece) {
	for t := from; t < to; {
		end := min((t/c.step+1)*c.step, to)
		out = append(out, piece{Span{t, end}, c.values[t/c.step]})
		t = end
	}
	return out
}

// Threshold returns the quantile q (0..1) of the ticks of [from, from+window), cut at the curve's end, with linear
// interpolation between neighbouring ranks. It returns +Inf if the curve has no ticks there.
func (c Curve) Threshold(from, window int, q float64) float64 {
	all := c.pieces(from, min(from+window, c.End()))
	if len(all) == 0 {
		return math.Inf(1)
	}
	slices.SortFunc(all, byValue)
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

// byValue orders pieces by value, then by time.
func byValue(x, y piece) int {
	switch {
	case x.value < y.value:
		return -1
	case x.value > y.value:
		return 1
	}
	return x.From - y.From
}
