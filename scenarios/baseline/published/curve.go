package published

import (
	"math"
	"slices"
)

// A Curve is a quantity of the grid by time, in ticks from the curve's start:
// one value for each step of a number of ticks. What a tick lasts, and the unit
// of values, are the caller's.
type Curve struct {
	step   int
	values []float64
	sums   []float64 // Invariant: sums[i] is the sum of the first i values
}

// NewCurve returns the curve of values that hold for step ticks each.
func NewCurve(values []float64, step int) Curve {
	c := Curve{step: max(step, 1), values: slices.Clone(values), sums: make([]float64, len(values)+1)}
	for i, v := range values {
		c.sums[i+1] = c.sums[i] + v
	}
	return c
}

// End returns the tick past the last that the curve knows.
func (c Curve) End() int { return c.step * len(c.values) }

// Over returns the sum over the ticks of [from, to), which lie on the curve.
func (c Curve) Over(from, to int) float64 { return c.until(to) - c.until(from) }

func (c Curve) until(t int) float64 {
	i, rest := t/c.step, t%c.step
	sum := float64(c.sums[i] * float64(c.step))
	if rest > 0 {
		sum += float64(c.values[i] * float64(rest))
	}
	return sum
}

// A piece is a span of ticks within one step.
type piece struct {
	Span
	value float64
}

// pieces cuts [from, to) at the ends of steps.
func (c Curve) pieces(from, to int) (out []piece) {
	for t := from; t < to; {
		end := min((t/c.step+1)*c.step, to)
		out = append(out, piece{Span{t, end}, c.values[t/c.step]})
		t = end
	}
	return out
}

// Threshold returns the quantile q (0..1) of the ticks of [from, from+window),
// or of what the curve knows of them, by a straight line between neighbours.
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

func byValue(x, y piece) int {
	switch {
	case x.value < y.value:
		return -1
	case x.value > y.value:
		return 1
	}
	return x.From - y.From
}
