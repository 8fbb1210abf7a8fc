package ask

import (
	"maps"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/explain/format"
)

// A Typo is a word that is not known, taken for one that is.
type Typo struct{ Word, Known string }

// maxTypos bounds the words of one question that are taken for slips.
const maxTypos = 2

// parseWithTypos reads a question whose unknown words are known ones with a slip of the
// fingers in them. It is answered only if all that they may be gives one query;
// else its readings are offered.
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

// wordsOneTypoAway returns the known words that are one slip of the fingers away.
func wordsOneTypoAway(word string) (all []string) {
	low := subscriptFolder.Replace(strings.ToLower(word))
	if len(low) < 4 {
		return nil
	}
	var swapped []string // two letters that changed places are the likeliest slip
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

// isFillerWord reports whether a word says nothing by itself.
func isFillerWord(word string) bool { return slices.Contains(english.phrases[word], "_") }

// isDoubtfulWord reports whether a word that is not known may well be meant as it
// stands: a short one, one with a figure, or one that sets a limit.
func isDoubtfulWord(word string) bool {
	low := strings.ToLower(word)
	return len(low) < 4 || strings.ContainsAny(low, "0123456789") || english.distinct[low]
}

// longWords returns the words of phrases that are long enough to be known by their
// looks.
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
