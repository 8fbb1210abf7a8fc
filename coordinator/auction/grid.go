package auction

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A grid is the slots of the plan. Starts may lie anywhere; slots are only how room
// and its price are counted.
type grid struct {
	slot      time.Duration
	slots     int // that are planned; beyond them room is free
	slotHours float64
}

// newGrid returns the slots of a valid Planning.
func newGrid(p protocol.Planning) grid {
	return grid{slot: p.Slot, slots: p.SlotCount(), slotHours: float64(p.Slot) / float64(time.Hour)}
}

// A poolKey names the GPUs of one model at one site.
type poolKey struct{ site, model string }

// A slotSeries holds one value per slot of a pool, from the problem's first slot. It is an
// array, so that a round's thousands of them lie side by side; slots beyond the
// horizon hold 0.
type slotSeries [protocol.MaxSlots]float64

// hoursBetween returns how far t lies after from, in hours.
func hoursBetween(t, from protocol.Time) float64 { return float64(t-from) / 3_600_000 }

// inSlots returns a span in slots.
func (g *grid) inSlots(d time.Duration) float64 { return float64(d) / float64(g.slot) }

// addGPUHours adds gpu GPUs between two positions to l, as GPU-hours per slot.
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

// slotPosition returns t in slots after from, held to [0, slots].
func (g *grid) slotPosition(t, from protocol.Time) float64 {
	p := hoursBetween(t, from) / g.slotHours
	return min(max(p, 0), float64(g.slots))
}

// A prefixSum holds the running sum of a line of hourly rates, so that what any span
// of time costs takes two looks. The last value is never counted: over looks past
// the end of the plan, at nothing of it.
type prefixSum [protocol.MaxSlots + 2]float64

// accumulateRates makes s the running sum of rates, each of them per hour.
func (g *grid) accumulateRates(s *prefixSum, rates *slotSeries) {
	for i, r := range rates {
		s[i+1] = s[i] + float64(r*g.slotHours)
	}
}

// sumBetween returns the sum between two positions.
func (s *prefixSum) sumBetween(a, b float64) float64 {
	i, j := int(a), int(b)
	return s[j] + float64((s[j+1]-s[j])*(b-float64(j))) - (s[i] + float64((s[i+1]-s[i])*(a-float64(i))))
}
