package forecast

// How far a forecast may be off. Forecasts of grids are off by about as much as
// one day differs from the day before, where they look a day ahead; by less the
// nearer, and by more the farther they look, which grows about as the root of the
// time. That holds for carbon and prices, for forecasts of ours and of services
// (docs/signals-and-power.md has the figures). A feed that fell silent needs no
// rule of its own: its last hour lies further and further back.

// fourInFive times the mean error is what four in five errors stay within, if they
// are exponential: ln 5, in thousandths.
const fourInFive = 1609

// restless returns by how much values of the week up to anchor differed from those
// a day before them, in the mean. With less than half a day to compare it is half
// of what was told.
func (t *track) restless(anchor hour) int64 {
	var moved, level, pairs, n int64
	for h := max(anchor-days*day, t.first); h <= anchor; h++ {
		c := t.of(h)
		if !c.known && !c.guess {
			continue
		}
		level += int64(size(c.value))
		n++
		if was, ok := t.at(h - day); ok && c.known {
			moved += int64(size(c.value - was))
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

// spread returns what four in five forecasts so many hours from the last that is
// known are within. Only Blend, and what amends it, make something of that last hour.
func spread(rule Rule, restless int64, lead hour) int64 {
	if lead < 0 {
		lead = -lead
	}
	if !rule.blends() {
		lead = max(lead, day)
	}
	return mulDiv(mulDiv(restless, fourInFive, 1000), root(int64(lead)*1_000_000/day), 1000)
}

// root returns the square root of n, rounded down.
func root(n int64) int64 {
	r := int64(0)
	for bit := int64(1) << 30; bit > 0; bit >>= 1 {
		if x := r + bit; x <= n/x {
			r = x
		}
	}
	return r
}

// firstGuess returns the first hour of which others guessed something.
func (t *track) firstGuess() (hour, bool) {
	for i, c := range t.told {
		if c.guess {
			return t.first + hour(i), true
		}
	}
	return 0, false
}
