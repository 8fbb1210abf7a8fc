package ask

import (
	"maps"
	"slices"
	"strings"
)

// unsplittableWords keep a phrase that holds one of them whole: what they negate or compare
// is in the words beside them.
var unsplittableWords = strings.Fields("not no never than without nothing nobody none by per each every my i more less fewer other but except")

// maxPhraseSplits bounds how many ways of taking a question apart are tried, and so the time
// that one question may cost.
const maxPhraseSplits = 60

// parseWithShorterPhrases parses a question that no rule reads with the longest phrases, by
// taking up to two phrases apart. It returns a query only if all ways that parse give the
// same query.
func (l *Parser) parseWithShorterPhrases(question string, r *reading, back *Clarification) (Query, *Clarification) {
	tokens := r.tokens
	var cuts []map[int]int
	var one [][2]int
	for _, at := range slices.Sorted(maps.Keys(r.phraseLengths)) {
		words := make([]string, 0, r.phraseLengths[at])
		for _, t := range tokens[at : at+r.phraseLengths[at]] {
			words = append(words, t.low)
		}
		if slices.Contains(english.phrases[strings.Join(words, " ")], "kind") || slices.ContainsFunc(words, func(w string) bool { return slices.Contains(unsplittableWords, w) }) {
			continue
		}
		for n := r.phraseLengths[at]; n > 1; n-- {
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
	for _, cut := range cuts[:min(len(cuts), maxPhraseSplits)] {
		q, other := l.parseInto(question, &reading{operators: r.operators, phraseLimits: cut})
		if other == nil && !slices.ContainsFunc(found, func(x Query) bool { return x.String() == q.String() }) {
			found = append(found, q)
		}
		if other != nil && other.Kind == "ambiguous" && len(other.offered) > 0 && other.missingSlot == "" {
			return Query{}, other
		}
	}
	switch len(found) {
	case 0:
		return Query{}, back
	case 1:
		return found[0], nil
	}
	return Query{}, newClarification("ambiguous", severalReadings).offerQueries("", found...)
}
