package grid

// A Rule forecasts an hour from the hours told before it.
type Rule string

// Rules (METHOD, section 3).
const (
	Persistence Rule = "persistence" // the same hour of the last day that is known
	Average     Rule = "average"     // the mean of that hour over up to seven known days
	Blend       Rule = "blend"       // Average, and what it missed of late, fading
	Flat        Rule = "flat"        // the last hour that is known, for ever: no forecast at all
)

const (
	days = 7   // that Average looks back
	fade = 950 // of what Average missed is left after each hour, in thousandths
)

// outlook returns n values from h on: what was told, what others guess, and our
// own forecasts of the rest; and by how much each may be off. It is nil if nothing
// was ever told.
func (t *track) outlook(rule Rule, h hour, n int, bound limits) (values, off []int64) {
	anchor, missed, ok := t.anchor(rule, h)
	if !ok {
		return nil, nil
	}
	values, off = make([]int64, n), make([]int64, n)
	usual := t.restless(anchor)
	for i := range values {
		at := h + hour(i)
		if v, ok := t.at(at); ok {
			values[i] = v
			if _, ok := t.at(at + 1); !ok {
				anchor, missed = at, t.missed(rule, at)
			}
			continue
		}
		missed = missed * fade / 1000
		values[i] = bound.clamp(t.usual(rule, at, anchor) + missed)
		if c := t.of(at); c.guess {
			values[i] = c.value
		}
		off[i] = spread(rule, usual, at-anchor)
	}
	return values, off
}

// anchor returns the hour that forecasts of h and later start from, the last
// told before it, and what is left at h of the error there. If only later
// hours were told it is the first of these, whose value has to do; and if there
// are only guesses, the first of them. It is not ok if there is nothing.
func (t *track) anchor(rule Rule, h hour) (anchor hour, missed int64, ok bool) {
	anchor, ok = t.before(h)
	if !ok {
		if anchor, ok = t.after(h); !ok {
			anchor, ok = t.firstGuess()
		}
		return anchor, 0, ok
	}
	missed = t.missed(rule, anchor)
	for gone := anchor + 1; gone < h && missed != 0; gone++ {
		missed = missed * fade / 1000
	}
	return anchor, missed, true
}

// usual returns what h is by the days up to and with the hour anchor, the last
// that is known; the value of anchor itself if no day tells of that hour.
func (t *track) usual(rule Rule, h, anchor hour) int64 {
	var sum, n int64
	for d := h - day; rule != Flat && d > anchor-days*day; d -= day {
		v, ok := t.at(d)
		if !ok {
			continue
		}
		if rule == Persistence {
			return v
		}
		sum += v
		n++
	}
	if n == 0 {
		return t.of(anchor).value
	}
	return mulDiv(sum, 1, n)
}

// missed returns by how much the usual was too low in the last hour known.
func (t *track) missed(rule Rule, anchor hour) int64 {
	last, ok := t.before(anchor - 1)
	if rule != Blend || !ok {
		return 0
	}
	v, _ := t.at(anchor)
	return v - t.usual(Average, anchor, last)
}
