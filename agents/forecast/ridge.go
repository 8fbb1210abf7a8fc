package forecast

import "math"

// normalEquations holds the normal equations of a least-squares fit; of the symmetric
// matrix only the lower half.
type normalEquations struct {
	xx [len(features{})]features
	xy features
}

// addCase adds one observation: variables x with outcome y.
func (n *normalEquations) addCase(x features, y float64) {
	for i := range x {
		for j := range i + 1 {
			n.xx[i][j] += float64(x[i] * x[j])
		}
		n.xy[i] += float64(x[i] * y)
	}
}

// solveRidge returns the weights that fit best under the penalty; zeros if the system
// is too close to singular. It is Cholesky's method without square roots (LDL),
// in this order and rounded at each step, so that every processor gets the same
// bits.
func (n *normalEquations) solveRidge(penalty float64) (w features) {
	var low [len(w)]features
	var pivot features
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
		if !(pivot[i] > penalty/2 && pivot[i] < math.MaxFloat64) { // without rounding, a pivot is at least the penalty
			return features{}
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
