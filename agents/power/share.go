package power

import (
	"github.com/gridbid/gridbid/protocol"
)

// A Want is what a device would draw at most, if it may, and what its limit cannot
// go below.
type Want struct{ Least, Most protocol.Milliwatts }

// Share divides a ceiling among devices, and returns each one's limit in their
// order: the same for all that want so much, less for those that want less
// (max-min fairness). No device gets less than its Least, even if that breaks the
// ceiling; ok is false then, and each gets just that. Milliwatts that do not
// divide are left over.
func Share(ceiling protocol.Milliwatts, wants []Want) (limits []protocol.Milliwatts, ok bool) {
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
	lo, hi := protocol.Milliwatts(0), protocol.Milliwatts(0) // at(lo) keeps the ceiling
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
