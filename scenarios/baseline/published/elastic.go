package published

import "math"

// A ScalingCurve describes how an elastic job scales: by number of workers, from zero on,
// the work done in a slot and the energy that takes. Both slices have the same
// length.
type ScalingCurve struct{ Work, Energy []float64 }

// A WorkerShare is the allocation of an elastic job in one slot: a number of workers for a
// part (0..1) of the slot.
type WorkerShare struct {
	Workers int
	Part    float64
}

// ElasticSchedule returns an elastic job's allocation in each slot, given each slot's
// intensity, so that the work gets done. It is CarbonScaler's greedy algorithm: it
// repeatedly adds one worker in the slot with most work per carbon, the first of
// equals, and finally trims the excess from the slot whose work has the highest
// carbon. It returns nil if all workers in all slots cannot do the work. If each
// further worker adds less work per energy than the one before, no schedule of whole
// slots emits less carbon.
func ElasticSchedule(intensity []float64, work float64, s ScalingCurve) []WorkerShare {
	shares := make([]WorkerShare, len(intensity))
	left := work
	for left > float64(work*rounding) {
		best, least := -1, math.Inf(1)
		for i, x := range shares {
			n := x.Workers + 1
			if n >= len(s.Work) {
				continue
			}
			if v := intensity[i] * (s.Energy[n] - s.Energy[n-1]) / max(s.Work[n]-s.Work[n-1], switchPenalty); v < least {
				best, least = i, v
			}
		}
		if best < 0 {
			return nil
		}
		n := shares[best].Workers + 1
		shares[best] = WorkerShare{n, 1}
		left -= s.Work[n] - s.Work[n-1]
	}
	worst, most := -1, math.Inf(-1)
	for i, x := range shares {
		if x.Workers == 0 {
			continue
		}
		if v := intensity[i] * s.Energy[x.Workers] / s.Work[x.Workers]; v > most {
			worst, most = i, v
		}
	}
	if worst >= 0 {
		// left <= 0 is the excess work of the last worker added.
		shares[worst].Part += min(left, 0) / s.Work[shares[worst].Workers]
	}
	return shares
}

const (
	switchPenalty = 1e-6 // work of a worker that adds none, to avoid a division by zero
	rounding      = 1e-9 // of the work: a smaller remainder counts as done
)

// CarbonOf returns the sum of intensity times energy over the slots of an allocation.
func (s ScalingCurve) CarbonOf(intensity []float64, shares []WorkerShare) (sum float64) {
	for i, x := range shares {
		sum += float64(intensity[i] * s.Energy[x.Workers] * x.Part)
	}
	return sum
}
