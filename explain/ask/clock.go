package ask

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// readTimeOfDay reads what people say of the time of day at the start of words: "6 pm",
// "at 14", "12 o'clock", "from 12 to 18", "12:00-18:00", "this evening",
// "that day". It returns how many words it took.
func (w *timeWords) readTimeOfDay(l *Parser, words []string) int {
	first := words[0]
	if len(words) > 1 {
		two := first + " " + words[1]
		if slices.Contains([]string{"that day", "all day", "whole day", "the day", "this day", "entire day"}, two) {
			w.days = append(w.days, l.Today)
			return 2
		}
	}
	if _, part := partsOfDay[strings.Join(words[1:min(2, len(words))], "")]; part && w.part == nil && (first == "late" || first == "early" || first == "last" && words[1] == "night") {
		return 1 + w.readTimeOfDay(l, words[1:])
	}
	if p, ok := partOfDay(first); ok && w.part == nil {
		w.part = &p
		return 1
	}
	if from, to, ok := strings.Cut(first, "-"); ok {
		a, both := readClock([]string{from})
		b, last := readClock([]string{to})
		if x, isX := parseNumber(strings.TrimSuffix(from, "h")); both+last == 0 && isX && x <= 24 && (len(words) == 1 || !slices.Contains(slices.Concat(listed("gpu-nouns"), listed("job-nouns")), words[1])) {
			if y, isY := parseNumber(strings.TrimSuffix(to, "h")); isY && y <= 24 && x != y { // "20-24"
				a, b, both, last = time.Duration(x)*time.Hour, time.Duration(y)*time.Hour, 1, 1
			}
		}
		if both == 1 && last == 1 {
			w.instants = append(w.instants, instant{clock: a, half: hasDayHalf(from)}, instant{clock: b, half: hasDayHalf(to)})
			w.dash = true
			return 1
		}
	}
	if n := w.readBareHours(words); n > 0 {
		return n
	}
	at, n := readClock(words)
	if n > 0 {
		w.instants = append(w.instants, instant{clock: at, half: hasDayHalf(words[n-1])})
	}
	return n
}

// hasDayHalf reports whether a time of day ends with which half of the day it is in.
func hasDayHalf(word string) bool {
	return slices.ContainsFunc(dayHalves, func(h string) bool { return strings.HasSuffix(word, h) })
}

var dayHalves = []string{"am", "pm", "a.m", "p.m"}

// hourJoiners stand between two hours; marks, behind them.
var (
	hourJoiners    = []string{"to", "and", "until", "till"}
	rangeStarters  = []string{"from", "between"}
	instantMarkers = []string{"at"}
)

// readBareHours reads bare hours where the words about them say that they are: "at 14"
// or "at 14h" at the end of a question, "from 12 to 18".
func (w *timeWords) readBareHours(words []string) int {
	bare := func(i int) (time.Duration, bool) {
		if i >= len(words) {
			return 0, false
		}
		text := strings.TrimSuffix(words[i], "h")
		n, ok := parseNumber(text)
		return time.Duration(n) * time.Hour, ok && n <= 24
	}
	last := func(i int) bool {
		return i == len(words) || slices.Contains([]string{"utc", "on", "in", "this", "today", "yesterday", "tomorrow", "at", "for", "by", "per", "were", "was", "did", "ran"}, words[i])
	}
	if len(words) > 3 && slices.Contains(rangeStarters, words[0]) { // "between noon and 3"
		from, n := readClock(words[1:])
		if end := 2 + n; n > 0 && end < len(words) && slices.Contains(hourJoiners, words[end-1]) {
			if to, ok := bare(end); ok && last(end+1) {
				if to < from && to <= 12*time.Hour {
					to += 12 * time.Hour
				}
				w.instants = append(w.instants, instant{clock: from}, instant{clock: to})
				return end + 1
			}
		}
	}
	h, ok := bare(1)
	switch {
	case !ok:
		return 0
	case slices.Contains(instantMarkers, words[0]) && last(2):
		w.instants = append(w.instants, instant{clock: h})
		return 2
	case slices.Contains(rangeStarters, words[0]) && len(words) > 3 && slices.Contains(hourJoiners, words[2]):
		to, n := readClock(words[3:])
		if n == 0 {
			n = 1
			if len(words) > 4 && slices.Contains([]string{"h", "hrs", "hours", "oclock"}, words[4]) {
				n = 2 // "between 9 and 17 h"
			}
			if to, ok = bare(3); !ok || n == 1 && !last(4) {
				return 0
			}
		} else if last := words[2+n]; hasDayHalf(last) && strings.Contains(last, "p") && h < 12*time.Hour && h+12*time.Hour < to {
			h += 12 * time.Hour
		}
		w.instants = append(w.instants, instant{clock: h}, instant{clock: to})
		return 3 + n
	}
	return 0
}

// readClock reads a time of day at the start of words: "13:45", "6pm", "6 pm",
// "6.30 pm", "12 o'clock".
func readClock(words []string) (time.Duration, int) {
	text, n, half := strings.TrimSuffix(words[0], "h"), 1, ""
	next := append(slices.Clip(words), "", "")[1:]
	for _, mark := range dayHalves {
		if cut, ok := strings.CutSuffix(text, mark); ok && cut != "" {
			text, half = cut, mark
		} else if next[0] == mark {
			half, n = mark, 2
		}
	}
	if v, ok := numberWords[text]; ok { // "nine o'clock"
		text = strconv.FormatInt(v, 10)
	}
	switch {
	case text == "noon" || text == "midday":
		return 12 * time.Hour, 1
	case text == "midnight":
		return 0, 1
	case half != "":
	case next[0] == "o" && next[1] == "clock":
		n = 3
	case next[0] == "oclock":
		n = 2
	case !strings.Contains(text, ":"):
		return 0, 0
	}
	text = strings.Replace(text, ".", ":", 1)
	if !strings.Contains(text, ":") {
		text += ":00"
	}
	if text == "24:00" {
		return 24 * time.Hour, n
	}
	t, err := time.Parse("15:04", text)
	if err != nil || half != "" && (t.Hour() > 12 || t.Hour() == 0) {
		return 0, 0
	}
	at := time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
	switch half {
	case "am", "a.m":
		at %= 12 * time.Hour
	case "pm", "p.m":
		at = at%(12*time.Hour) + 12*time.Hour
	}
	return at, n
}
