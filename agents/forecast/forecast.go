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
	averageDays = 7       // days that Average looks back
	medianHours = 2 * day // hours over which Steady takes the median
)

// usesBlend reports whether r is Blend or builds on it.
func (r Rule) usesBlend() bool { return r == Blend || r == Regression }

// fadeMiss returns what is left of a latest error after some hours: it loses a
// twentieth each hour, or a fifth with Steady.
func fadeMiss(missed int64, rule Rule, hours hour) int64 {
	left := int64(950)
	if rule == Steady {
		left = 800
	}
	for ; hours > 0 && missed != 0; hours-- {
		missed = missed * left / 1000
	}
	return missed
}

// forecastHours returns n values from h on, and by how much each may be off. A
// published value is returned as it is. For another hour it returns the
// service's forecast plus that service's latest error, which decays; without
// one, the forecast of rule. It returns nil if no value was ever received.
func (t *track) forecastHours(rule Rule, h hour, n int, bound limits) (values, off []int64) {
	anchor, missed, ok := t.forecastAnchor(rule, h)
	if !ok {
		return nil, nil
	}
	values, off = make([]int64, n), make([]int64, n)
	short := int64(0) // by how much the service's forecast was too low in the last published hour
	if anchor < h {
		short = fadeMiss(t.cellAt(anchor).guessMiss(), Blend, h-1-anchor)
	}
	usual := t.meanDailyChange(anchor)
	taught := t.newRegressionFit(rule, anchor, usual)
	for i := range values {
		at := h + hour(i)
		if v, ok := t.factAt(at); ok {
			values[i] = v
			if _, ok := t.factAt(at + 1); !ok {
				anchor, missed, taught = at, t.lastMiss(rule, at), t.newRegressionFit(rule, at, usual)
				short = t.cellAt(at).guessMiss()
			}
			continue
		}
		missed, short = fadeMiss(missed, rule, 1), fadeMiss(short, Blend, 1)
		values[i] = bound.clampValue(t.typicalValue(rule, at, anchor) + missed + taught.correctionAt(at))
		if c := t.cellAt(at); c.guess {
			values[i] = bound.clampValue(c.guessed + short)
		}
		off[i] = errorSpread(rule, usual, at-anchor)
	}
	return values, off
}

// forecastAnchor returns the hour that forecasts of h and later start from, and what is
// left at h of the error there. It is the last published hour before h, or else
// the first one after it, or else the first hour with a service forecast; ok is
// false if nothing was received.
func (t *track) forecastAnchor(rule Rule, h hour) (anchor hour, missed int64, ok bool) {
	anchor, ok = t.lastFactBefore(h)
	if !ok {
		if anchor, ok = t.firstFactAfter(h); !ok {
			anchor, ok = t.firstGuess()
		}
		return anchor, 0, ok
	}
	return anchor, fadeMiss(t.lastMiss(rule, anchor), rule, h-1-anchor), true
}

// typicalValue returns the typical value of h from the same hour of earlier days, none
// of them later than anchor, the last known hour. If no such day has that hour
// it is the value of anchor.
func (t *track) typicalValue(rule Rule, h, anchor hour) int64 {
	var sum, n int64
	d := h - day
	for d > anchor {
		d -= day
	}
	for ; rule != Flat && d > anchor-averageDays*day; d -= day {
		v, ok := t.factAt(d)
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
		return t.cellAt(anchor).value
	case rule == Steady:
		return (mulDiv(sum, 1, n) + t.recentMedian(anchor)) / 2
	}
	return mulDiv(sum, 1, n)
}

// recentMedian returns the median of the published values of the last two days up to
// and including anchor, which is one of them.
func (t *track) recentMedian(anchor hour) int64 {
	known := make([]int64, 0, medianHours) // its size is constant, so that it is no garbage
	for h := max(anchor-medianHours+1, t.first); h <= anchor; h++ {
		if v, ok := t.factAt(h); ok {
			known = append(known, v)
		}
	}
	if len(known) == 0 {
		return t.cellAt(anchor).value
	}
	slices.Sort(known)
	return known[len(known)/2]
}

// lastMiss returns by how much the rule's base was too low in the hour anchor.
func (t *track) lastMiss(rule Rule, anchor hour) int64 {
	last, ok := t.lastFactBefore(anchor - 1)
	v, _ := t.factAt(anchor)
	switch {
	case rule.usesBlend() && ok:
		return v - t.typicalValue(Average, anchor, last)
	case rule == Steady && ok:
		return (v - t.recentMedian(anchor)) / 2
	}
	return 0
}
