package ask

import (
	"slices"
	"strings"
	"unicode"
)

// plainWords writes a question in words that the rules know: what is said to be the same is replaced, and
// an unknown word by the known one of which it is another form. Names and what is in quotes stay.
func (l *Parser) plainWords(question string) string {
	s := replaceOutsideQuotes(question, func(s string) string {
		for _, rewrite := range english.rewritings {
			s = rewrite(s)
		}
		return s
	})
	tokens, from := l.index.splitTokens(s), 0
	low := lowWords(tokens)
	var b strings.Builder
	for i := 0; i < len(tokens); i++ {
		plain, n := longestIn(english.same, low[i:], english.longestSame)
		if form := english.knownForm(low[i]); n == 0 && form != "" {
			plain, n = form, 1
		}
		if _, known := english.phrases[plain]; plain != "" && !known && !strings.Contains(plain, " ") && l.index.longestAt(plain, "") == 0 {
			n = 0 // a policy that was not replayed
		}
		if n > 0 && !tokens[i].quoted {
			b.WriteString(s[from:tokens[i].at] + plain)
			i += n - 1
			from = tokens[i].end
		}
	}
	return strings.Trim(b.String()+s[from:], " ,;:")
}

// knownForm returns the word of the lexicon of which an unknown one is another form: plural, tense,
// spelling. It is "" for a word that is known, or of which none is.
func (l *lexicon) knownForm(word string) string {
	if _, known := slices.BinarySearch(l.vocabulary, word); known || len(word) < 4 || l.distinct[word] || isTimeWord(word) || strings.ContainsFunc(word, func(c rune) bool { return !unicode.IsLower(c) }) {
		return ""
	}
	for _, w := range []string{word, strings.ReplaceAll(word, "is", "iz"), strings.ReplaceAll(word, "iz", "is"), strings.Replace(word, "our", "or", 1)} {
		for _, tail := range []string{"", "s", "es", "ed", "d", "ing"} {
			stem, cut := strings.CutSuffix(w, tail)
			for _, other := range []string{"", "e", "s", "ed", "d", "ing"} {
				if _, phrase := l.phrases[stem+other]; cut && len(stem) > 2 && stem+other != word && (phrase || l.operators[stem+other] != "") {
					return stem + other
				}
			}
		}
	}
	return ""
}
