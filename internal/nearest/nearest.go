// Package nearest finds the names that a mistyped one was meant as, for errors and questions.
package nearest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Names returns the names that text may have been meant as, nearest first, at most
// most: those that begin with it, and those that few typing errors make of it. A part of a
// name between hyphens or slashes counts as its name.
func Names(text string, names []string, most int) []string {
	type candidate struct {
		name  string
		apart int
	}
	var near []candidate
	text = strings.ToLower(text)
	for _, name := range names {
		low := strings.ToLower(name)
		apart := TypingErrors(text, low)
		for _, part := range strings.FieldsFunc(low, func(r rune) bool { return r == '-' || r == '/' }) {
			apart = min(apart, TypingErrors(text, part))
		}
		if len(text) >= 2 && strings.HasPrefix(low, text) {
			apart = 0
		}
		if apart <= max(1, len(text)/3) {
			near = append(near, candidate{name, apart})
		}
	}
	// Equal distances by name, so that the same text is always answered alike.
	slices.SortStableFunc(near, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.apart, b.apart), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, c := range near[:min(most, len(near))] {
		out = append(out, c.name)
	}
	return out
}

// DidYouMean returns the end of an error about an unknown name: ` (did you mean "auction"?)`,
// or "" if no name is near.
func DidYouMean(text string, names []string) string {
	near := Names(text, names, 3)
	if len(near) == 0 {
		return ""
	}
	return " (did you mean " + quotedList(near, " or ") + "?)"
}

// mostListed is how many names an error lists where none is near.
const mostListed = 12

// WhatThereIs returns the end of an error about an unknown name that does not list the known
// ones itself: the nearest names or, if none is near, all that there are, if they are few.
func WhatThereIs(text string, names []string) string {
	near := DidYouMean(text, names)
	switch {
	case near != "":
		return near
	case len(names) == 0:
		return ": there are none"
	case len(names) > mostListed:
		return fmt.Sprintf(": there are %d, and none is like it", len(names))
	case len(names) == 1:
		return `: there is only "` + names[0] + `"`
	}
	return ": there are " + quotedList(names, " and ")
}

// quotedList joins names, quoted, with commas, and the last one with a word.
func quotedList(names []string, last string) string {
	var out strings.Builder
	for i, name := range names {
		switch {
		case i > 0 && i == len(names)-1:
			out.WriteString(last)
		case i > 0:
			out.WriteString(", ")
		}
		out.WriteString(`"` + name + `"`)
	}
	return out.String()
}

// TypingErrors returns how many typing errors lie between two words: two letters that changed
// places are one.
func TypingErrors(a, b string) int {
	sorted := func(s string) []byte { all := []byte(s); slices.Sort(all); return all }
	d := EditDistance(a, b)
	if d == 2 && slices.Equal(sorted(a), sorted(b)) {
		return 1
	}
	return d
}

// EditDistance returns the Levenshtein distance of a and b in bytes; only their first 128
// bytes count.
func EditDistance(a, b string) int {
	a, b = a[:min(len(a), 128)], b[:min(len(b), 128)]
	row := make([]int, len(b)+1)
	for k := range row {
		row[k] = k
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for k := range len(b) {
			change := diagonal
			if a[i] != b[k] {
				change++
			}
			diagonal = row[k+1]
			row[k+1] = min(change, row[k]+1, row[k+1]+1)
		}
	}
	return row[len(b)]
}
