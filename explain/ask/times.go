package ask

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// timeWords collects the words of a question that name a time.
type timeWords struct {
	days     []protocol.Time
	instants []instant
	lookback time.Duration // "in the last 3 hours"
	spans    []time.Duration
	part     *dayPart
	dash     bool   // "12:00-14:00"
	half     string // "before" or "after" the one instant
}

// halves are words before a time that make it an end of a window.
var halves = map[string]string{"before": "before", "until": "before", "till": "before", "after": "after", "since": "after"}

// A dayPart is a part of the day, by the clock.
type dayPart struct{ from, to time.Duration }

var partsOfDay = map[string]dayPart{
	"morning":   {6 * time.Hour, 12 * time.Hour},
	"afternoon": {12 * time.Hour, 18 * time.Hour},
	"evening":   {18 * time.Hour, 24 * time.Hour},
	"night":     {-2 * time.Hour, 6 * time.Hour}, // that ends on the day, from 22:00 on
	"tonight":   {18 * time.Hour, 24 * time.Hour},
	"overnight": {-2 * time.Hour, 6 * time.Hour},
	"daytime":   {6 * time.Hour, 22 * time.Hour},
}

// partOfDay returns the part of the day that a word names: "morning", "mornings".
func partOfDay(w string) (p dayPart, ok bool) {
	p, ok = partsOfDay[strings.TrimSuffix(w, "s")]
	return p, ok
}

// An instant is a time of day, and its day if the question gives one.
type instant struct {
	day   protocol.Time
	clock time.Duration
	half  bool // "am" or "pm" was given with it
}

var monthNames = []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}

var numberWords = map[string]int64{
	"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100,
}

// monthNumber returns 1 to 12 for a month's name or its first three letters.
func monthNumber(w string) int {
	for i, m := range monthNames {
		if w == m || w == m[:3] || m == "september" && w == "sept" {
			return i + 1
		}
	}
	return 0
}

// parseNumber reads "8", "1,000" and "eight".
func parseNumber(w string) (int64, bool) {
	if n, ok := numberWords[w]; ok {
		return n, true
	}
	n, err := strconv.ParseInt(w, 10, 64)
	return n, err == nil && n >= 0 && n < 1e12
}

// isTimeWord reports whether a word may say a time: "yesterday", "march", "13:45",
// "6pm", "8h", "2022-04-13".
func isTimeWord(w string) bool {
	_, part := partOfDay(w)
	_, count := numberWords[w]
	if part || count || timeUnit(w) > 0 || monthNumber(w) > 0 || slices.Contains(listed("time-words"), w) || slices.Contains(slices.Concat(hourJoiners, rangeStarters, instantMarkers), w) {
		return true
	}
	for day := time.Sunday; day <= time.Saturday; day++ {
		if isDay(w, day) {
			return true
		}
	}
	if _, _, ok := parseWrittenTime(w); ok {
		return true
	}
	from, to, _ := strings.Cut(w, "-")
	_, long := readLength([]string{w})
	_, first := readClock([]string{from})
	_, second := readClock([]string{cmp.Or(to, from)})
	return long > 0 || first > 0 && second > 0
}

// isDay reports whether a word is a day's name, or its first three letters.
func isDay(w string, day time.Weekday) bool {
	long := strings.ToLower(day.String())
	return w == long || w == long[:3]
}

// parseWrittenTime reads an instant that is written out, or a day: "2022-04-13t13:45z",
// "2022-04-13".
func parseWrittenTime(w string) (at protocol.Time, day, ok bool) {
	for _, form := range []string{time.DateOnly, time.RFC3339, "2006-01-02T15:04", "2006-01-02T15:04Z"} {
		if t, err := time.Parse(form, strings.ToUpper(w)); err == nil {
			return protocol.FromStdTime(t), form == time.DateOnly, true
		}
	}
	return 0, false, false
}

// extraWords are words that make a length of time one that comes on top.
var extraWords = []string{"more", "extra", "additional", "further", "another"}

// readLength reads a duration at the start of words: "6 h", "8-hour", "2 h 30 min", "half a day",
// "another 6 hours", "6 more hours", "6 hours more". It is in whole minutes, as a query has it.
func readLength(words []string) (time.Duration, int) {
	value, kind, n := readAmount(words)
	switch {
	case kind == "time" || len(words) < 2:
	case words[0] == "another":
		value, kind, n = readAmount(words[1:])
		n++
	case slices.Contains(extraWords, words[1]):
		value, kind, n = readAmount(append(words[:1:1], words[2:]...))
		n++
	}
	if d := time.Duration(value) * time.Millisecond; kind != "time" || value > maxLength.Milliseconds() || d%time.Minute != 0 {
		return 0, 0
	} else if n < len(words) && slices.Contains(extraWords, words[n]) && !slices.Contains(words[n:], "than") {
		return d, n + 1
	} else {
		return d, n
	}
}

// maxLength is the longest duration that is accepted, in any unit: a time.Duration overflows
// at 292 years.
const maxLength = 280 * 365 * 24 * time.Hour

// readTime reads what words say of time at their start, and returns how many of
// them it took.
func (w *timeWords) readTime(l *Parser, words []string) int {
	first := words[0]
	if n := w.readTimeOfDay(l, words); n > 0 {
		return n
	}
	if half := halves[first]; half != "" && len(words) > 1 && w.half == "" {
		filler := 0 // "since I came on shift at 22:00"
		for n, c := longestPhrase(words[1:], english.longest); slices.Equal(c, []string{"_"}) && filler+n+1 < len(words); n, c = longestPhrase(words[1+filler:], english.longest) {
			filler += n
		}
		words = words[filler:]
		n, before := w.readTime(l, words[1:]), len(w.instants)
		if h, ok := parseNumber(words[1]); n == 0 && ok && h <= 24 && (len(words) == 2 || timeUnit(words[2]) == 0) {
			w.instants, n = append(w.instants, instant{clock: time.Duration(h) * time.Hour}), 1
			before = 0
		}
		if n > 0 && len(w.instants) == 1 && before <= 1 {
			w.half = half
			return n + 1 + filler
		}
		return 0
	}
	if slices.Contains([]string{"last", "past"}, first) {
		if len(words) > 1 && timeUnit(words[1]) > 0 {
			w.lookback = timeUnit(words[1])
			return 2
		}
		if d, n := readLength(words[1:]); n > 0 {
			w.lookback = d
			return n + 1
		}
		return 0
	}
	if at, day, ok := parseWrittenTime(first); ok && day {
		w.days = append(w.days, at)
		return 1
	} else if ok {
		midnight := at.Floor(24 * time.Hour)
		w.instants = append(w.instants, instant{day: midnight, clock: at.Sub(midnight)})
		return 1
	}
	if n := w.readDate(l, words); n > 0 {
		return n
	}
	switch first {
	case "today":
		w.days = append(w.days, l.Today)
	case "yesterday":
		w.days = append(w.days, l.Today.Add(-24*time.Hour))
	case "tomorrow":
		w.days = append(w.days, l.Today.Add(24*time.Hour))
	default:
		d, n := readLength(words)
		if n > 0 {
			w.spans = append(w.spans, d)
		}
		return n
	}
	return 1
}

// dayOf returns a day of a year. If the question gives no year, it takes the one in which the
// day is in the record or in the forecast range, and otherwise the last such day before the
// end of the record.
func (l *Parser) dayOf(year, month, day int, yearGiven bool) time.Time {
	of := func(year int) time.Time { return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC) }
	for _, y := range []int{year, year - 1, year + 1} {
		t := of(y)
		if at := protocol.FromStdTime(t); !yearGiven && t.Day() == day && at >= l.First.Floor(24*time.Hour) && at <= l.Last.Add(maxForecastAhead) {
			return t
		}
	}
	if t := of(year); yearGiven || protocol.FromStdTime(t) <= l.Last {
		return t
	}
	return of(year - 1)
}

// maxForecastAhead is how far past the record a day without a year is looked for.
const maxForecastAhead = 30 * 24 * time.Hour

// ordinalDay is a day of a month.
var ordinalDay = regexp.MustCompile(`^[0-3]?[0-9](?:st|nd|rd|th)$`)

// readDate reads a day: "11 march", "march 11 2026", "wednesday".
func (w *timeWords) readDate(l *Parser, words []string) int {
	year, yearGiven := l.Today.StdTime().Year(), false
	dayOf := func(m int, d string) bool {
		n, err := strconv.Atoi(strings.TrimRight(d, "stndrh"))
		if m == 0 || err != nil {
			return false
		}
		t := l.dayOf(year, m, n, yearGiven)
		if t.Day() != n { // there is no such day
			return false
		}
		w.days = append(w.days, protocol.FromStdTime(t))
		return true
	}
	if len(words) > 2 && words[1] == "of" && dayOf(monthNumber(words[2]), words[0]) { // the 11th of march
		return 3
	}
	if len(words) > 1 {
		used := 2
		if len(words) > 2 && len(words[2]) == 4 && isNumber(words[2]) {
			year, _ = strconv.Atoi(words[2])
			used, yearGiven = 3, true
		}
		if dayOf(monthNumber(words[1]), words[0]) || dayOf(monthNumber(words[0]), words[1]) {
			return used
		}
	}
	if len(words) > 2 && words[0] == "on" && words[1] == "the" && ordinalDay.MatchString(words[2]) && dayOf(int(l.Today.StdTime().Month()), words[2]) { // "on the 11th"
		return 3
	}
	if len(words) > 1 && words[0] == "next" {
		for n := 1; n <= 7; n++ {
			if t := l.Today.Add(time.Duration(n) * 24 * time.Hour); isDay(words[1], t.StdTime().Weekday()) {
				w.days = append(w.days, t)
				return 2
			}
		}
	}
	end := l.Last.Floor(24 * time.Hour)
	for t := end; t > end.Add(-7*24*time.Hour); t = t.Add(-24 * time.Hour) {
		if isDay(words[0], t.StdTime().Weekday()) {
			w.days = append(w.days, t)
			return 1
		}
	}
	return 0
}

// timeWindow returns the time that a question is about: an instant, or a range.
func (w *timeWords) timeWindow(l *Parser) (at, from, to protocol.Time, ok bool) {
	day := l.Today
	if len(w.days) == 1 && len(w.instants) > 0 {
		day = w.days[0]
	}
	fix := func(i instant) protocol.Time {
		if i.day != 0 {
			return i.day.Add(i.clock)
		}
		return day.Add(i.clock)
	}
	switch {
	case w.lookback > 0 && len(w.days)+len(w.instants) == 0:
		return 0, l.Last.Add(-w.lookback), l.Last, true
	case w.part != nil && len(w.days) < 2 && len(w.instants) == 0 && w.lookback == 0:
		if len(w.days) == 1 {
			day = w.days[0]
		}
		return 0, day.Add(w.part.from), day.Add(w.part.to), true
	case w.part != nil && *w.part == partsOfDay["morning"] && len(w.instants) == 1 && w.instants[0].clock < w.part.from: // "3 in the morning"
		w.part = nil
		return w.timeWindow(l)
	case w.part != nil && w.part.from >= 12*time.Hour && len(w.instants) > 0 && w.fitsSecondHalf():
		for i := range w.instants { // "8 in the evening"
			w.instants[i].clock += 12 * time.Hour
		}
		return w.timeWindow(l)
	case w.part != nil && slices.ContainsFunc(w.instants, func(i instant) bool { return i.clock < w.part.from || i.clock > w.part.to }):
		return 0, 0, 0, false
	case w.lookback > 0 || len(w.days) > 2 || len(w.instants) > 2 || len(w.days) == 2 && len(w.instants) > 0:
		return 0, 0, 0, false
	case len(w.instants) == 2 && w.halfOnSecondOnly():
		return 0, 0, 0, false
	case len(w.instants) == 2:
		first, second := w.instants[0], w.instants[1]
		if len(w.days) == 0 { // "from 2026-03-11T12:00 to 14:00"
			day = cmp.Or(first.day, day)
		}
		if first.day == 0 && second.day != 0 && second.day != day { // from 12:00 of which day?
			return 0, 0, 0, false
		}
		from, to = fix(first), fix(second)
		if second == (instant{}) || to <= from && first.day == 0 && second.day == 0 { // until midnight, from 22 to 6
			to = to.Add(24 * time.Hour)
		}
		return 0, from, to, from < to
	case len(w.instants) == 1 && w.half == "before":
		at = fix(w.instants[0])
		return 0, at.Floor(24 * time.Hour), at, at.Floor(24*time.Hour) < at
	case len(w.instants) == 1 && w.half == "after":
		at = fix(w.instants[0])
		return 0, at, at.Floor(24 * time.Hour).Add(24 * time.Hour), true
	case w.half != "":
		return 0, 0, 0, false
	case len(w.instants) == 1 && w.instants[0] == (instant{}) && len(w.days) == 0 && day.Add(24*time.Hour) <= l.Last:
		return day.Add(24 * time.Hour), 0, 0, true // of the day, its end
	case len(w.instants) == 1:
		return fix(w.instants[0]), 0, 0, true
	case len(w.days) == 2:
		return 0, w.days[0], w.days[1].Add(24 * time.Hour), w.days[0] < w.days[1]
	case len(w.days) == 1:
		return 0, w.days[0], w.days[0].Add(24 * time.Hour), true
	}
	return 0, 0, 0, true
}

// fitsSecondHalf reports whether all instants are of a clock of twelve hours, and within
// the part of the day that the question names, if they are of its second half.
func (w *timeWords) fitsSecondHalf() bool {
	return !slices.ContainsFunc(w.instants, func(i instant) bool {
		late := i.clock + 12*time.Hour
		return i.clock >= 12*time.Hour || late < w.part.from || late > w.part.to
	})
}

// halfOnSecondOnly reports whether "pm" stands with the second of two instants alone, and
// may be meant of both: from 2:30 to 4 pm.
func (w *timeWords) halfOnSecondOnly() bool {
	first, second := w.instants[0], w.instants[1]
	return second.half && !first.half && first.day == 0 && first.clock > 0 && first.clock < 12*time.Hour && first.clock+12*time.Hour < second.clock
}

// isTwoTimes reports whether a question names two separate times, and not a window between
// them: "at 12:00 and 14:00". A day and the next one are a window.
func (w *timeWords) isTwoTimes(question string) bool {
	if len(w.instants) != 2 && (len(w.days) != 2 || w.days[1].Sub(w.days[0]) == 24*time.Hour) {
		return false
	}
	words := strings.Fields(strings.ToLower(question))
	has := func(any ...string) bool {
		return slices.ContainsFunc(any, func(s string) bool { return slices.Contains(words, s) })
	}
	return has("and") && !has(rangeStarters...) && !has("to", "until", "till", "through", "-", "–") && !w.dash
}
