package forecast

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestAnExactLineIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n normalEquations
		var want features
		for i := range want {
			want[i] = rapid.Float64Range(-3, 3).Draw(t, "weight")
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range 100 {
			var x features
			y := 0.0
			for i := range x {
				x[i] = r.NormFloat64()
				y += x[i] * want[i]
			}
			n.addCase(x, y)
		}
		for i, got := range n.solveRidge(1e-9) {
			if math.Abs(got-want[i]) > 1e-6 {
				t.Fatalf("weight %d is %v; want %v", i, got, want[i])
			}
		}
		for i, got := range n.solveRidge(1e9) {
			if math.Abs(got) > 1e-5 {
				t.Fatalf("under a great penalty weight %d is %v; want next to none", i, got)
			}
		}
	})
}

func TestWithoutOneBestFitNothingIsLearnt(t *testing.T) {
	for name, x := range map[string]features{"one case": {1, 2, 3, 4, 5}, "nothing": {}, "no number": {math.NaN()}, "too much": {math.MaxFloat64}} {
		var n normalEquations
		n.addCase(x, 1)
		if w := n.solveRidge(0); w != (features{}) {
			t.Errorf("%s teaches %v; want nothing", name, w)
		}
	}
}
