package forecast

import "slices"

// A Rule forecasts an hour from the hours told before it.
type Rule string

// Rules (METHOD, section 3).
const (
	Persistence Rule = "persistence" // the same hour of the last day that is known
	Average     Rule = "average"     // the mean of that hour over up to seven known days
	Blend       Rule = "blend"       // Average, and what it missed of late, fading
	Steady      Rule = "steady"      // half Average, half the median of late; and half of what the last hour is above that, soon gone
	Regression  Rule = "regression"  // Blend, and what it was off by of late when it was as now
	Flat        Rule = "flat"        // the last hour that is known, for ever: no forecast at all
)

// Rules are those that look back, from the plainest on: what a comparison is of.
var Rules = []Rule{Persistence, Average, Blend, Steady, Regression}

const (
	days = 7       // that Average looks back
	late = 2 * day // hours of which Steady takes the median
)

// blends reports whether a rule is Blend, or what amends it.
func (r Rule) blends() bool { return r == Blend || r == Regression }

// fade returns what is left of a miss after some hours, of which each takes a
// twentieth, or with Steady a fifth.
func fade(missed int64, rule Rule, hours hour) int64 {
	left := int64(950)
	if rule == Steady {
		left = 800
	}
	for ; hours > 0 && missed != 0; hours-- {
		missed = missed * left / 1000
	}
	return missed
}

// outlook returns n values from h on: what was told; what others guess, and what
// they missed in the last hour told, fading; and our own forecasts of the rest. And
// by how much each may be off. It is nil if nothing was ever told.
func (t *track) outlook(rule Rule, h hour, n int, bound limits) (values, off []int64) {
	anchor, missed, ok := t.anchor(rule, h)
	if !ok {
		return nil, nil
	}
	values, off = make([]int64, n), make([]int64, n)
	short := int64(0) // how much others guessed too little
	if anchor < h {
		short = fade(t.of(anchor).missed(), Blend, h-1-anchor)
	}
	usual := t.restless(anchor)
	taught := t.lesson(rule, anchor, usual)
	for i := range values {
		at := h + hour(i)
		if v, ok := t.at(at); ok {
			values[i] = v
			if _, ok := t.at(at + 1); !ok {
				anchor, missed, taught = at, t.missed(rule, at), t.lesson(rule, at, usual)
				short = t.of(at).missed()
			}
			continue
		}
		missed, short = fade(missed, rule, 1), fade(short, Blend, 1)
		values[i] = bound.clamp(t.usual(rule, at, anchor) + missed + taught.amend(at))
		if c := t.of(at); c.guess {
			values[i] = bound.clamp(c.theirs + short)
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
	return anchor, fade(t.missed(rule, anchor), rule, h-1-anchor), true
}

// usual returns what h is by the days up to and with the hour anchor, the last
// that is known; the value of anchor itself if no day tells of that hour.
func (t *track) usual(rule Rule, h, anchor hour) int64 {
	var sum, n int64
	d := h - day
	for d > anchor {
		d -= day
	}
	for ; rule != Flat && d > anchor-days*day; d -= day {
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
	switch {
	case n == 0:
		return t.of(anchor).value
	case rule == Steady:
		return (mulDiv(sum, 1, n) + t.middle(anchor)) / 2
	}
	return mulDiv(sum, 1, n)
}

// middle returns the median of the last hours told up to and with anchor, which
// is one of them.
func (t *track) middle(anchor hour) int64 {
	var known []int64
	for h := max(anchor-late+1, t.first); h <= anchor; h++ {
		if v, ok := t.at(h); ok {
			known = append(known, v)
		}
	}
	if len(known) == 0 {
		return t.of(anchor).value
	}
	slices.Sort(known)
	return known[len(known)/2]
}

// missed returns by how much the usual was too low in the last hour known.
func (t *track) missed(rule Rule, anchor hour) int64 {
	last, ok := t.before(anchor - 1)
	v, _ := t.at(anchor)
	switch {
	case rule.blends() && ok:
		return v - t.usual(Average, anchor, last)
	case rule == Steady && ok:
		return (v - t.middle(anchor)) / 2
	}
	return 0
}
