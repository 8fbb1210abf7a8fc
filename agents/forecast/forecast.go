package forecast

import "slices"

// A Rule forecasts an hour from the values published before it.
type Rule string

// Rules (docs/method.md, section 3).
const (
	Persistence Rule = "persistence" // the same hour of the last known day
	Average     Rule = "average"     // the mean of that hour over up to seven known days
	Blend       Rule = "blend"       // Average plus its latest error, which decays with the lead
	Steady      Rule = "steady"      // half Average, half the median of the last two days; plus half of the last hour's excess over that median, which decays fast
	Regression  Rule = "regression"  // Blend plus a correction learnt from its errors of the last weeks
	Flat        Rule = "flat"        // the last known hour, held for ever: no forecast at all
)

// Rules are the rules that use history, from the simplest on, for comparisons.
var Rules = []Rule{Persistence, Average, Blend, Steady, Regression}

const (
	days = 7       // days that Average looks back
	late = 2 * day // hours over which Steady takes the median
)

// blends reports whether r is Blend or builds on it.
func (r Rule) blends() bool { return r == Blend || r == Regression }

// fade returns what is left of a latest error after some hours: it loses a
// twentieth each hour, or a fifth with Steady.
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

// outlook returns n values from h on, and by how much each may be off. A
// published value is returned as it is. For another hour it returns the
// service's forecast plus that service's latest error, which decays; without
// one, the forecast of rule. It returns nil if no value was ever received.
func (t *track) outlook(rule Rule, h hour, n int, bound limits) (values, off []int64) {
	anchor, missed, ok := t.anchor(rule, h)
	if !ok {
		return nil, nil
	}
	values, off = make([]int64, n), make([]int64, n)
	short := int64(0) // by how much the service's forecast was too low in the last published hour
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

// anchor returns the hour that forecasts of h and later start from, and what is
// left at h of the error there. It is the last published hour before h, or else
// the first one after it, or else the first hour with a service forecast; ok is
// false if nothing was received.
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

// usual returns the typical value of h from the same hour of earlier days, none
// of them later than anchor, the last known hour. If no such day has that hour
// it is the value of anchor.
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

// middle returns the median of the published values of the last two days up to
// and including anchor, which is one of them.
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

// missed returns by how much the rule's base was too low in the hour anchor.
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
