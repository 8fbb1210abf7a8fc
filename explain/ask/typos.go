package ask

import (
	"maps"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/explain/format"
)

// A Typo is an unknown word and the known word that it was taken for.
type Typo struct{ Word, Known string }

// maxTypos bounds the words of one question that are taken for typos.
const maxTypos = 2

// parseWithTypos parses a question by taking each unknown word for a known one that is a typo
// away. It returns a query only if all combinations that parse give the same query;
// otherwise the clarification offers the readings.
func (l *Parser) parseWithTypos(question string, unknown []string, back *Clarification) (Query, []Typo, *Clarification) {
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
		r := &reading{}
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
		if sortedLetters(low) == sortedLetters(known) && (len(known) >= 6 || !isFillerWord(known)) && format.EditDistance(low, known) == 2 {
			swapped = append(swapped, known)
		}
		if known[0] != low[0] || len(known) < 6 && isFillerWord(known) {
			continue
		}
		if d := format.EditDistance(low, known); d <= 1 || d == 2 && sortedLetters(low) == sortedLetters(known) {
			all = append(all, known)
		}
	}
	if len(swapped) > 0 {
		return swapped
	}
	return all
}

// isFillerWord reports whether a word has no meaning of its own.
func isFillerWord(word string) bool { return slices.Contains(english.phrases[word], "_") }

// isDoubtfulWord reports whether an unknown word may be meant as written: it is short,
// holds a digit, or the lexicon lists it as distinct. Such a word is never corrected
// without asking.
func isDoubtfulWord(word string) bool {
	low := strings.ToLower(word)
	return len(low) < 4 || strings.ContainsAny(low, "0123456789") || english.distinct[low]
}

// longWords returns the words of phrases that have at least four letters, sorted and without
// duplicates. Shorter words are never corrected.
func longWords(phrases map[string][]string) (all []string) {
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
