package ask

import (
	"maps"
	"slices"
	"strings"
)

// firm are words that a phrase with one of them is not taken apart for: what they
// deny or compare is in the words beside them.
var firm = strings.Fields("not no never than without nothing nobody none by per each every my i more less fewer other but except")

// mostApart bounds the ways of taking a question apart that are tried.
const mostApart = 60

// apart reads a question of which the longest phrases make none by shorter
// ones. It is answered only if all the ways that make a question make the same.
func (l *Listener) apart(question string, r *reading, back *Back) (Query, *Back) {
	tokens := l.index.split(question)
	var cuts []map[int]int
	var one [][2]int
	for _, at := range slices.Sorted(maps.Keys(r.whole)) {
		words := make([]string, 0, r.whole[at])
		for _, t := range tokens[at : at+r.whole[at]] {
			words = append(words, t.low)
		}
		if slices.Contains(english.phrases[strings.Join(words, " ")], "kind") || slices.ContainsFunc(words, func(w string) bool { return slices.Contains(firm, w) }) {
			continue
		}
		for n := r.whole[at]; n > 1; n-- {
			one = append(one, [2]int{at, n})
		}
	}
	for i, a := range one {
		cuts = append(cuts, map[int]int{a[0]: a[1]})
		for _, b := range one[:i] {
			if a[0] != b[0] {
				cuts = append(cuts, map[int]int{a[0]: a[1], b[0]: b[1]})
			}
		}
	}
	slices.SortStableFunc(cuts, func(a, b map[int]int) int { return len(a) - len(b) })
	var found []Query
	for _, cut := range cuts[:min(len(cuts), mostApart)] {
		q, other := l.into(question, &reading{cut: cut})
		if other == nil && !slices.ContainsFunc(found, func(x Query) bool { return x.String() == q.String() }) {
			found = append(found, q)
		}
		if other != nil && other.Kind == "ambiguous" && len(other.offered) > 0 && other.lacks == "" {
			return Query{}, other
		}
	}
	switch len(found) {
	case 0:
		return Query{}, back
	case 1:
		return found[0], nil
	}
	a := &Back{Kind: "ambiguous", Text: []string{"This can be read in several ways. Which is meant?"}}
	return Query{}, a.offer("", found...)
}
