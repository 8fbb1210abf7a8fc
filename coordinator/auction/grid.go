package auction

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A grid is the slots of the plan. Runs may start anywhere; slots are only the unit in which
// capacity is counted and priced.
type grid struct {
	slot      time.Duration
	slots     int // planned ones; beyond them capacity is unlimited and free
	slotHours float64
}

// newGrid returns the grid of a valid Planning.
func newGrid(p protocol.Planning) grid {
	return grid{slot: p.Slot, slots: p.SlotCount(), slotHours: float64(p.Slot) / float64(time.Hour)}
}

// A poolKey identifies the GPUs of one model at one site.
type poolKey struct{ site, model string }

// A slotSeries holds one value per slot of a pool, from the problem's first slot on; slots beyond
// the horizon hold 0. It is an array, so that the thousands in a round lie side by side in memory.
type slotSeries [protocol.MaxSlots]float64

// hoursBetween returns t - from in hours.
func hoursBetween(t, from protocol.Time) float64 { return float64(t-from) / 3_600_000 }

// inSlots returns a duration in slots.
func (g *grid) inSlots(d time.Duration) float64 { return float64(d) / float64(g.slot) }

// addGPUHours adds gpu GPUs between positions a and b to l, in GPU-hours per slot.
func (g *grid) addGPUHours(l *slotSeries, a, b, gpu float64) {
	i, j := int(a), int(b)
	if i >= g.slots {
		return
	}
	if i == j {
		l[i] += float64(gpu * (b - a) * g.slotHours)
		return
	}
	l[i] += float64(gpu * (float64(i+1) - a) * g.slotHours)
	for k := i + 1; k < j; k++ {
		l[k] += float64(gpu * g.slotHours)
	}
	if j < g.slots {
		l[j] += float64(gpu * (b - float64(j)) * g.slotHours)
	}
}

// slotPosition returns t as slots after from, within [0, slots].
func (g *grid) slotPosition(t, from protocol.Time) float64 {
	p := hoursBetween(t, from) / g.slotHours
	return min(max(p, 0), float64(g.slots))
}

// A prefixSum holds the running sum of a slotSeries of hourly rates, so that the sum over any span
// takes two look-ups. The extra last element lets a span end at the horizon; nothing is ever added
// to it.
type prefixSum [protocol.MaxSlots + 2]float64

// accumulateRates makes s the running sum of rates, which are per hour.
func (g *grid) accumulateRates(s *prefixSum, rates *slotSeries) {
	for i, r := range rates {
		s[i+1] = s[i] + float64(r*g.slotHours)
	}
}

// sumBetween returns the sum between two positions; within a slot the rate is constant.
func (s *prefixSum) sumBetween(a, b float64) float64 {
	i, j := int(a), int(b)
	return s[j] + float64((s[j+1]-s[j])*(b-float64(j))) - (s[i] + float64((s[i+1]-s[i])*(a-float64(i))))
}
