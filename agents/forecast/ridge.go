package forecast

import "math"

// normal are the normal equations of a least-squares fit, half of them: they are
// symmetric.
type normal struct {
	xx [len(clues{})]clues
	xy clues
}

// add counts one more case: of x came y.
func (n *normal) add(x clues, y float64) {
	for i := range x {
		for j := range i + 1 {
			n.xx[i][j] += float64(x[i] * x[j])
		}
		n.xy[i] += float64(x[i] * y)
	}
}

// solve returns the weights that fit best, drawn to nothing by the penalty; none if
// there is no one best fit. It is Cholesky's method without roots, in this order
// and rounded at each step, so it is the same on any processor.
func (n *normal) solve(penalty float64) (w clues) {
	var low [len(w)]clues
	var pivot clues
	for i := range w {
		for j := range i + 1 {
			v := n.xx[i][j]
			if i == j {
				v += penalty
			}
			for k := range j {
				v -= float64(float64(low[i][k]*low[j][k]) * pivot[k])
			}
			if i == j {
				pivot[i] = v
			} else {
				low[i][j] = v / pivot[j]
			}
		}
		if !(pivot[i] > penalty/2 && pivot[i] < math.MaxFloat64) { // in exact numbers it is the penalty or more
			return clues{}
		}
	}
	for i := range w {
		w[i] = n.xy[i]
		for k := range i {
			w[i] -= float64(low[i][k] * w[k])
		}
	}
	for i := len(w) - 1; i >= 0; i-- {
		w[i] /= pivot[i]
		for k := i + 1; k < len(w); k++ {
			w[i] -= float64(low[k][i] * w[k])
		}
	}
	return w
}
