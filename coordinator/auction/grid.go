package auction

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Slots of the plan. Starts may lie anywhere; slots are only how room and its
// price are counted.
const (
	slot    = 15 * time.Minute
	horizon = 72 * 4 // slots that are planned; beyond them room is free
)

// A poolKey names the GPUs of one model at one site.
type poolKey struct{ site, model string }

// A line holds one value per slot of a pool, from the problem's first slot.
type line [horizon]float64

// hours returns how far t lies after from, in hours.
func hours(t, from protocol.Time) float64 { return float64(t-from) / 3_600_000 }

const slotHours = float64(slot) / float64(time.Hour)

// spread adds gpu GPUs between two positions, as GPU-hours per slot.
func (l *line) spread(a, b, gpu float64) {
	i, j := int(a), int(b)
	if i >= horizon {
		return
	}
	if i == j {
		l[i] += float64(gpu * (b - a) * slotHours)
		return
	}
	l[i] += float64(gpu * (float64(i+1) - a) * slotHours)
	for k := i + 1; k < j; k++ {
		l[k] += float64(gpu * slotHours)
	}
	if j < horizon {
		l[j] += float64(gpu * (b - float64(j)) * slotHours)
	}
}

// position returns t in slots after from, held to [0, horizon].
func position(t, from protocol.Time) float64 {
	p := hours(t, from) / slotHours
	return min(max(p, 0), horizon)
}

// A sum holds the running sum of a line of hourly rates, so that what any span
// of time costs takes two looks. The last value is never counted: over looks past
// the end of the plan, at nothing of it.
type sum [horizon + 2]float64

// accumulate makes s the running sum of rates, each of them per hour.
func (s *sum) accumulate(rates *line) {
	for i, r := range rates {
		s[i+1] = s[i] + float64(r*slotHours)
	}
}

// over returns the sum between two positions.
func (s *sum) over(a, b float64) float64 {
	i, j := int(a), int(b)
	return s[j] + float64((s[j+1]-s[j])*(b-float64(j))) - (s[i] + float64((s[i+1]-s[i])*(a-float64(i))))
}
