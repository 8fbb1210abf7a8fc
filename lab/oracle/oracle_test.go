package oracle

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gridbid/gridbid/internal/net"
	"github.com/gridbid/gridbid/lab/learn/fit"
)

// batch is how many inputs a loss is summed over.
const batch = 16

// tolerance is how far two sums of float64 in different orders may be apart, in parts of the larger of
// the value and 1.
const tolerance = 1e-9

// drawNet returns a net of those sizes with drawn weights, and inputs for it.
func drawNet(dice *rand.Rand, sizes []int) (n *net.Net, inputs [][]float64) {
	n = net.New(sizes...)
	for i := range n.Layers {
		spread := math.Sqrt(2 / float64(sizes[i]))
		for _, v := range [][]float64{n.Layers[i].Weights, n.Layers[i].Bias} {
			for k := range v {
				v[k] = spread * dice.NormFloat64()
			}
		}
	}
	for i := range n.Mean {
		n.Mean[i], n.Scale[i] = dice.NormFloat64(), 0.5+dice.Float64()
	}
	for range batch {
		x := make([]float64, sizes[0])
		for i := range x {
			x[i] = dice.NormFloat64()
		}
		inputs = append(inputs, x)
	}
	return n, inputs
}

// ours returns the loss, which is the sum of outputs and of their squares, and its gradient, layer by
// layer weights then bias, as fit computes them.
func ours(n *net.Net, inputs [][]float64) (loss float64, gradients [][]float64) {
	a, g := n.NewActivation(), fit.NewGradient(n)
	for _, x := range inputs {
		y := n.Forward(x, a)
		by := make([]float64, len(y))
		for k, v := range y {
			loss += v + v*v
			by[k] = 1 + 2*v
		}
		g.AddBackward(n, a, by...)
	}
	for _, l := range g.Layers {
		gradients = append(gradients, l.Weights, l.Bias)
	}
	return loss, gradients
}

// theirs is ours, as gomlx computes it.
func theirs(n *net.Net, inputs [][]float64) (loss float64, gradients [][]float64) {
	args := []any{inputs, [][]float64{n.Mean}, [][]float64{n.Scale}}
	for _, l := range n.Layers {
		args = append(args, tensors.FromFlatDataAndDimensions(l.Weights, len(l.Bias), len(l.Weights)/len(l.Bias)), [][]float64{l.Bias})
	}
	out := graph.MustExecOnceN(gobackend.GetBackend(), func(in []*graph.Node) []*graph.Node {
		alike := func(x, y *graph.Node) *graph.Node { return graph.BroadcastToShape(x, y.Shape()) }
		x := graph.Div(graph.Sub(in[0], alike(in[1], in[0])), alike(in[2], in[0]))
		weights := in[3:]
		for i := 0; i < len(weights); i += 2 {
			x = graph.MatMul(x, graph.Transpose(weights[i], 0, 1))
			if x = graph.Add(x, alike(weights[i+1], x)); i+2 < len(weights) {
				x = graph.MaxScalar(x, 0.0)
			}
		}
		loss := graph.ReduceAllSum(graph.Add(x, graph.Square(x)))
		return append([]*graph.Node{loss}, graph.Gradient(loss, weights...)...)
	}, args...)
	for _, t := range out[1:] {
		gradients = append(gradients, tensors.MustCopyFlatData[float64](t))
	}
	return tensors.ToScalar[float64](out[0]), gradients
}

// off returns how far two numbers are apart, in parts of the larger of the second and 1.
func off(x, y float64) float64 { return math.Abs(x-y) / max(1, math.Abs(y)) }

// Loss and gradient of nets of many shapes, that of greensched and that of the design among them, are
// those that gomlx computes.
func TestGradientsAreThoseOfGomlx(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 1))
	shapes := [][]int{{1, 1}, {3, 2}, {42, 16, 16, 1}, {25, 32, 32, 1}, {30, 32, 32, 1}, {64, 64, 64, 1}}
	for range 14 {
		shapes = append(shapes, []int{1 + dice.IntN(9), 1 + dice.IntN(9), 1 + dice.IntN(9), 1 + dice.IntN(4)})
	}
	worst, weights := 0.0, 0
	for _, sizes := range shapes {
		n, inputs := drawNet(dice, sizes)
		loss, gradients := ours(n, inputs)
		wantLoss, want := theirs(n, inputs)
		if off(loss, wantLoss) > tolerance {
			t.Errorf("a net of %v has the loss %v; gomlx says %v", sizes, loss, wantLoss)
		}
		for i := range want {
			for k, v := range want[i] {
				weights++
				worst = max(worst, off(gradients[i][k], v))
				if off(gradients[i][k], v) > tolerance {
					t.Fatalf("a net of %v: part %d (weights and bias by layer), number %d: gradient %v; gomlx says %v", sizes, i, k, gradients[i][k], v)
				}
			}
		}
	}
	t.Logf("%d shapes, %d weights: at most %.1g apart", len(shapes), weights, worst)
}
