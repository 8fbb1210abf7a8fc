package forecast

import (
	"math"
	"slices"
)

// until returns the track as it was when the hour h was the last published one. It shares t's memory.
func (t *track) until(h hour) *track { return t.between(t.first, h) }

// between returns the track of what was published from first to last, both included. It shares t's
// memory and is not to be changed.
func (t *track) between(first, last hour) *track {
	first, end := max(first, t.first), min(last+1, t.endHour())
	if first >= end {
		return &track{first: first}
	}
	return &track{first: first, cells: t.cells[first-t.first : end-t.first : end-t.first]}
}

// isWholeDay reports whether the last 24 hours of the track were all published.
func (t *track) isWholeDay() bool {
	for h := t.endHour() - day; h < t.endHour(); h++ {
		if _, ok := t.factAt(h); !ok {
			return false
		}
	}
	return true
}

// A vantage is what is known of a series at its last published hour, for the inputs of a net.
type vantage struct {
	past             *track
	anchor           hour // the last published hour
	kind             int
	scale            float64 // usual change within a day, above 0
	meanDay          float64
	meanWeek         float64
	most, least      float64      // of the last day
	hourly           float64      // mean absolute change from hour to hour, of the last day
	days             float64      // of history, at most a week
	phases           [day]float64 // of each hour of the day: its place in the order of the mean day, from 0 to 1
	miss, missBefore float64      // by which Average was too low in the last published hour and in the one before
	average          float64      // what it said of the last published hour
}

// newVantage returns the vantage of a track at its end; ok is false unless its last day was published
// without a gap.
func (t *track) newVantage(kind int) (v vantage, ok bool) {
	if !t.isWholeDay() {
		return v, false
	}
	v = vantage{past: t, anchor: t.endHour() - 1, kind: kind, most: math.Inf(-1), least: math.Inf(1)}
	var sums, counts [day]float64
	known := 0.0
	for h := max(t.first, v.anchor-averageDays*day+1); h <= v.anchor; h++ {
		value, told := t.factAt(h)
		if !told {
			continue
		}
		f, at := float64(value), hourOfDay(h)
		known++
		v.meanWeek += f
		sums[at], counts[at] = sums[at]+f, counts[at]+1
		if h > v.anchor-day {
			v.meanDay += f / day
			v.most, v.least = max(v.most, f), min(v.least, f)
			if before, told := t.factAt(h - 1); told {
				v.hourly += math.Abs(f-float64(before)) / day
			}
		}
	}
	v.meanWeek, v.days = v.meanWeek/known, min(float64(len(t.cells)), averageDays*day)/(averageDays*day)
	for i := range sums {
		sums[i] /= counts[i] // each hour of the last day was published
	}
	order := slices.Sorted(slices.Values(sums[:]))
	for i, f := range sums {
		first, _ := slices.BinarySearch(order, f)
		v.phases[i] = float64(first) / (day - 1)
	}
	v.scale = max(float64(t.meanDailyChange(v.anchor)), math.Abs(v.meanDay)/50, 1)
	v.miss, v.average = v.missAt(v.anchor)
	v.missBefore, _ = v.missAt(v.anchor - 1)
	return v, true
}

// missAt returns by how much the rule Average, asked an hour before, was too low in the hour h, and what
// it said; 0 of the first hour of a track.
func (v *vantage) missAt(h hour) (miss, average float64) {
	value, _ := v.past.factAt(h)
	if _, ok := v.past.factAt(h - 1); !ok {
		return 0, float64(value)
	}
	said := v.past.typicalValue(Average, h, h-1)
	return float64(value - said), float64(said)
}

// appendInputs appends the inputs of the net for the hour h, of which the usual rule said usual: see
// LearnedInputNames.
func (v *vantage) appendInputs(x []float64, h hour, usual int64) []float64 {
	u, lead := float64(usual), float64(h-v.anchor)/day
	of := func(f float64) float64 { return (f - u) / v.scale }
	x = append(x, lead, math.Sqrt(lead))
	for _, back := range lastHours {
		value, _ := v.past.factAt(v.anchor - back)
		x = append(x, of(float64(value)))
	}
	same := h - day
	for same > v.anchor {
		same -= day
	}
	week := h - averageDays*day
	for week > v.anchor {
		week -= averageDays * day
	}
	for _, at := range []hour{same, same - day, same - 2*day, week} {
		value, told := v.past.factAt(at)
		if !told { // as if nothing spoke against the usual rule
			value = usual
		}
		x = append(x, of(float64(value)))
	}
	average := float64(v.past.typicalValue(Average, h, v.anchor))
	return append(x, of(v.meanDay), of(v.meanWeek), of(v.most), of(v.least),
		of(average), v.miss/v.scale, v.missBefore/v.scale, (average-v.average)/v.scale,
		v.phases[hourOfDay(h)], v.phases[hourOfDay(v.anchor)], weekend(v.anchor), weekend(h),
		math.Abs(v.meanDay)/v.scale, oneIf(v.least < 0), (v.most-v.least)/v.scale, v.hourly/v.scale, v.days,
		oneIf(v.kind == 0), oneIf(v.kind == 2))
}

// hourOfDay returns the hour of the day of h, in UTC.
func hourOfDay(h hour) int { return int((h%day + day) % day) }

// weekend returns 1 if h is on a Saturday or Sunday of UTC, or else 0.
func weekend(h hour) float64 {
	d := (h - hour(hourOfDay(h))) / day // 0 is Thursday, the first of January 1970
	weekday := ((d+4)%7 + 7) % 7
	return oneIf(weekday == 0 || weekday == 6)
}

// oneIf returns 1 for true and 0 for false.
func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
