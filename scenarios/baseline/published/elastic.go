package published

import "math"

// A Scaling is what an elastic job makes of workers: by their number, from none
// on, what it gets done in a slot, and what energy that takes; both of one length.
type Scaling struct{ Work, Energy []float64 }

// A Share is what an elastic job has in one slot: so many workers, for a part
// (0..1) of the slot.
type Share struct {
	Workers int
	Part    float64
}

// Elastic returns what an elastic job has in each slot, by the intensity of each,
// to get an amount of work done: one worker more, again and again, where it adds
// most work for its carbon; of equals in the first. What is too much at last is taken
// off the slot whose work costs most. If all workers in all slots cannot do it, the
// answer is nil. Where each further worker adds less work for its energy than the
// one before, no other way to do the work of whole slots takes less carbon.
func Elastic(intensity []float64, work float64, s Scaling) []Share {
	shares := make([]Share, len(intensity))
	left := work
	for left > float64(work*rounding) {
		best, least := -1, math.Inf(1)
		for i, x := range shares {
			n := x.Workers + 1
			if n >= len(s.Work) {
				continue
			}
			if v := intensity[i] * (s.Energy[n] - s.Energy[n-1]) / max(s.Work[n]-s.Work[n-1], inTheWay); v < least {
				best, least = i, v
			}
		}
		if best < 0 {
			return nil
		}
		n := shares[best].Workers + 1
		shares[best] = Share{n, 1}
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
		shares[worst].Part += min(left, 0) / s.Work[shares[worst].Workers]
	}
	return shares
}

const (
	inTheWay = 1e-6 // what a worker counts as adding that adds nothing
	rounding = 1e-9 // of the work: as good as none
)

// Carbon returns intensity times energy of the shares of slots.
func (s Scaling) Carbon(intensity []float64, shares []Share) (sum float64) {
	for i, x := range shares {
		sum += float64(intensity[i] * s.Energy[x.Workers] * x.Part)
	}
	return sum
}
