package power

import (
	"github.com/gridbid/gridbid/protocol"
)

// A PowerDemand is the demand of one device: Most is its draw without a ceiling, and
// Least the lowest limit that it can be set to.
type PowerDemand struct{ Least, Most protocol.Milliwatts }

// ShareCeiling divides a power ceiling among devices by max-min fairness and returns the
// limit of each, in their order: devices that want more than the common level
// get that level, others get what they want. Every device gets at least its
// Least. If these alone exceed the ceiling, each gets its Least and ok is
// false. Milliwatts that cannot be divided evenly stay unused.
func ShareCeiling(ceiling protocol.Milliwatts, wants []PowerDemand) (limits []protocol.Milliwatts, ok bool) {
	limits = make([]protocol.Milliwatts, len(wants))
	var floor, most protocol.Milliwatts
	for i, w := range wants {
		limits[i] = w.Least
		floor += w.Least
		most += max(w.Least, w.Most)
	}
	if floor > ceiling {
		return limits, false
	}
	at := func(level protocol.Milliwatts) (sum protocol.Milliwatts) {
		for _, w := range wants {
			sum += max(w.Least, min(w.Most, level))
		}
		return sum
	}
	// Invariant of the search: at(lo) keeps the ceiling.
	lo, hi := protocol.Milliwatts(0), protocol.Milliwatts(0)
	for _, w := range wants {
		hi = max(hi, w.Most)
	}
	if most <= ceiling {
		lo = hi
	}
	for lo < hi {
		level := lo + (hi-lo+1)/2
		if at(level) <= ceiling {
			lo = level
		} else {
			hi = level - 1
		}
	}
	for i, w := range wants {
		limits[i] = max(w.Least, min(w.Most, lo))
	}
	return limits, true
}
