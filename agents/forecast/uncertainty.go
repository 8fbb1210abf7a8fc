package forecast

import "math"

// How far a forecast may be off. A forecast of a grid one day ahead is off by
// about as much as one day differs from the day before; a nearer one by less and
// a farther one by more, about with the square root of the lead. That holds for
// carbon and prices, and for our forecasts as for those of services
// (docs/signals-and-power.md has the figures). A source that went silent needs
// no rule of its own, because the lead from its last hour keeps growing.

// fourInFive times the mean error is the bound that four in five errors stay
// within if errors are exponentially distributed: ln 5, in thousandths.
const fourInFive = 1609

// meanDailyChange returns the mean absolute difference between the values of the week
// up to anchor and those a day before them. With less than half a day of pairs
// it is half of the mean absolute value.
func (t *track) meanDailyChange(anchor hour) int64 {
	var moved, level, pairs, n int64
	for h := max(anchor-averageDays*day, t.first); h <= anchor; h++ {
		c := t.cellAt(h)
		if !c.known && !c.guess {
			continue
		}
		level += int64(absValue(c.value))
		n++
		if was, ok := t.factAt(h - day); ok && c.known {
			moved += int64(absValue(c.value - was))
			pairs++
		}
	}
	switch {
	case pairs >= day/2:
		return moved / pairs
	case n == 0:
		return 0
	}
	return level / n / 2
}

// errorSpread returns the bound that four in five forecasts stay within, lead hours
// after the last known hour. Only Blend and Regression start from that last hour;
// the other rules are off by a day's difference even at a short lead.
func errorSpread(rule Rule, restless int64, lead hour) int64 {
	if lead < 0 {
		lead = -lead
	}
	if !rule.usesBlend() {
		lead = max(lead, day)
	}
	return mulDiv(mulDiv(restless, fourInFive, 1000), integerSqrt(int64(lead)*1_000_000/day), 1000)
}

// integerSqrt returns the square root of n, rounded down. It is exact on any machine: the root of a float64
// is rounded as IEEE 754 says, so it is off by one at most.
func integerSqrt(n int64) int64 {
	r := int64(math.Sqrt(float64(n)))
	for r > n/max(r, 1) {
		r--
	}
	for r+1 <= n/(r+1) {
		r++
	}
	return r
}

// firstGuess returns the first hour for which a service forecast is stored.
func (t *track) firstGuess() (hour, bool) {
	for i, c := range t.cells {
		if c.guess {
			return t.first + hour(i), true
		}
	}
	return 0, false
}
