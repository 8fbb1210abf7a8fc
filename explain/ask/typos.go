package ask

import (
	"maps"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/internal/nearest"
)

// A Typo is an unknown word and the known word that it was taken for.
type Typo struct{ Word, Known string }

// maxTypos bounds the words of one question that are taken for typos.
const maxTypos = 4

// maxCorrections bounds how many ways to correct a question are tried, and so the time that one
// may cost.
const maxCorrections = 200

// parseWithTypos parses a question by taking each unknown word for a known one that is a typo
// away. It returns a query only if all combinations that parse give the same query;
// otherwise the clarification offers the readings.
func (l *Parser) parseWithTypos(question string, first *reading, back *Clarification) (Query, []Typo, *Clarification) {
	unknown, tries := first.unknown, 0
	if len(unknown) > maxTypos {
		return Query{}, nil, back
	}
	var sure []Query
	var taken []Typo
	far := false
	var try func(text string, rest []string, so []Typo)
	try = func(text string, rest []string, so []Typo) {
		if len(rest) > 0 {
			for _, known := range wordsOneTypoAway(rest[0]) {
				try(strings.Replace(text, rest[0], known, 1), rest[1:], append(slices.Clone(so), Typo{rest[0], known}))
			}
			return
		}
		if tries++; tries > maxCorrections {
			far = true // too many to say that one alone is meant
			return
		}
		r := &reading{operators: first.operators}
		q, other := l.parseInto(text, r)
		if other != nil && other.splittable {
			q, other = l.parseWithShorterPhrases(text, r, other)
		}
		switch {
		case other == nil && !slices.ContainsFunc(sure, func(x Query) bool { return x.String() == q.String() }):
			sure, taken = append(sure, q), so
		case other != nil && other.Kind != "unclear":
			far = true
		}
	}
	try(question, unknown, nil)
	if len(sure) == 1 && !far && !slices.ContainsFunc(unknown, isDoubtfulWord) {
		return sure[0], taken, nil
	}
	if len(sure) > 0 {
		back.Kind = "ambiguous"
		back.offerQueries("Perhaps one of these is meant:", sure...)
	}
	return Query{}, nil, back
}

// wordsOneTypoAway returns the known words that are one typo away.
func wordsOneTypoAway(word string) (all []string) {
	low := subscriptFolder.Replace(strings.ToLower(word))
	if len(low) < 4 {
		return nil
	}
	var swapped []string // two swapped letters are the likeliest typo
	for _, known := range english.vocabulary {
		if nearest.TypingErrors(low, known) > 1 || len(known) < 6 && slices.Contains(english.phrases[known], "_") { // a short filler
			continue
		}
		if nearest.EditDistance(low, known) == 2 {
			swapped = append(swapped, known)
		}
		if known[0] == low[0] {
			all = append(all, known)
		}
	}
	if len(swapped) > 0 {
		return swapped
	}
	return all
}

// correctSiteNames returns a question with each word, or two of them, that is one typo away from the name of
// one site or policy, or two from a long one, replaced by it. Names of jobs and tenants are never corrected:
// the next one may be somebody else's.
func (l *Parser) correctSiteNames(question string) (text string, names []Typo) {
	text = question
	tokens := l.index.splitTokens(question)
	for i, t := range tokens {
		for n := min(2, len(tokens)-i); n > 0; n-- { // "wind coats" are two words
			words := question[t.at:tokens[i+n-1].end]
			low := strings.ReplaceAll(strings.ToLower(words), " ", "-")
			if len(tokens[i+n-1].names) > 0 || len(low) < 5 || strings.ContainsAny(low, "0123456789") || english.distinct[low] || len(english.phrases[low]) > 0 {
				continue
			}
			var near []string
			for _, name := range slices.Concat(l.Sites, l.Policies, l.Replayed) {
				if errors := nearest.TypingErrors(low, strings.ToLower(name)); errors > 0 && errors <= 1+len(low)/10 && !slices.Contains(near, name) {
					near = append(near, name)
				}
			}
			if len(near) == 1 {
				text = strings.Replace(text, words, QuoteName(near[0]), 1)
				names = append(names, Typo{words, near[0]})
				break
			}
		}
	}
	return text, names
}

// isDoubtfulWord reports whether an unknown word may be meant as written: it is short,
// holds a digit, or the lexicon lists it as distinct. Such a word is never corrected
// without asking.
func isDoubtfulWord(word string) bool {
	low := strings.ToLower(word)
	return len(low) < 4 || strings.ContainsAny(low, "0123456789") || english.distinct[low]
}

// longWords returns the words of phrases that have at least four letters, sorted and without
// duplicates. Shorter words are never corrected.
func longWords[V any](phrases map[string]V) (all []string) {
	for _, text := range slices.Sorted(maps.Keys(phrases)) {
		for word := range strings.FieldsSeq(text) {
			if len(word) >= 4 {
				all = append(all, word)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// wholeConcepts are those of phrases that say which jobs are meant, and that are never taken apart.
var wholeConcepts = strings.Fields("kind heldjobs neverheld lateby")

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
		if slices.ContainsFunc(english.phrases[strings.Join(words, " ")], func(c string) bool { return slices.Contains(wholeConcepts, c) }) || slices.ContainsFunc(words, func(w string) bool { return slices.Contains(listed("unsplittable-words"), w) }) {
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
	most := map[bool]int{false: maxPhraseSplits, true: len(one)}[l.exact]
	for _, cut := range cuts[:min(len(cuts), most, maxPhraseSplits)] {
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
