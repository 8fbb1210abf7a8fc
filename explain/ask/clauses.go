package ask

import (
	"regexp"
	"slices"
	"strings"
)

// maxQuestions bounds how many questions one text may ask.
const maxQuestions = 4

// clauseStarters are words that begin a question of its own after a comma or an "and".
var clauseStarters = append([]string{"show", "is", "are", "do", "whose"}, questionWords...)

// differenceForm asks what tells two words apart.
var differenceForm = regexp.MustCompile(`^what is (?:the )?differen(?:ce|t)[,:]? (?:between )?(?:an? )?"?(.+?)"?(?: jobs?)? (?:and|from|or|vs) (?:an? )?"?(.+?)"?(?: one| ones| jobs?)?[?. ]*$`)

// splitSentences splits a text at its question marks.
func splitSentences(text string) (all []string) {
	for _, s := range strings.SplitAfter(text, "? ") {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// splitClauses splits a question where a comma, a semicolon or an "and" is followed by
// a word that begins a question. What is in quotes is not split.
func splitClauses(text string) (all []string) {
	words := strings.Fields(text)
	from, quoted := 0, false
	cut := func(to, next int) {
		if to > from {
			all = append(all, strings.TrimRight(strings.Join(words[from:to], " "), ",;"))
		}
		from = next
	}
	for i, w := range words {
		quoted = quoted != (strings.Count(w, `"`)%2 == 1)
		if quoted || i == 0 {
			continue
		}
		low := strings.ToLower(strings.Trim(w, `"?.,;`))
		before := words[i-1]
		if !slices.Contains(clauseStarters, low) || i <= from {
			continue
		}
		switch joined := strings.EqualFold(before, "and"); {
		case joined && i-1 > from:
			cut(i-1, i)
		case strings.HasSuffix(before, ",") || strings.HasSuffix(before, ";"):
			cut(i, i)
		}
	}
	cut(len(words), len(words))
	return all
}

// asksNothing reports whether a clause asks for nothing: "show it as a graph".
func (l *Parser) asksNothing(clause string) bool {
	r := &reading{}
	if back := r.readTokens(l, l.index.splitTokens(clause)); back != nil || len(r.unknown) > 0 {
		return false
	}
	for _, word := range r.concepts {
		if !slices.Contains(word, "_") && !slices.Contains(word, "which") {
			return false
		}
	}
	return true
}

// SplitQuestions splits a text that asks several things: into its sentences or, if the whole
// does not parse as one question, its clauses. It returns nil for a text that asks one thing,
// or more than maxQuestions.
func (l *Parser) SplitQuestions(text string) []string {
	if tooLong(text) != nil {
		return nil
	}
	text = l.plainWords(text)
	if m := differenceForm.FindStringSubmatch(strings.ToLower(text)); m != nil { // of two words: the meaning of both
		if _, one := parseDefinition("define " + m[1]); one {
			if _, other := parseDefinition("define " + m[2]); other {
				return []string{"define " + m[1], "define " + m[2]}
			}
		}
	}
	parts := splitSentences(text)
	if len(parts) < 2 {
		if parts = splitClauses(text); len(parts) < 2 {
			return nil
		}
		if _, _, back := l.ParseQuestion(text); back == nil || back.Kind == "refused" {
			return nil
		}
	}
	parts = slices.DeleteFunc(parts, l.asksNothing)
	if len(parts) < 2 || len(parts) > maxQuestions {
		return nil
	}
	return parts
}
