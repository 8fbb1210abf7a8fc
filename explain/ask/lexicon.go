package ask

import (
	_ "embed" // lexicon/en.txt
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed lexicon/en.txt
var englishText string

// english is the lexicon of English questions. It is embedded in the program and a test reads
// it, so a fault in it is a bug, and reading it panics.
var english = func() *lexicon {
	l, err := readLexicon("lexicon/en.txt", englishText)
	if err != nil {
		panic(err)
	}
	return l
}()

// A lexicon is the vocabulary of the grammar: phrases with the concepts that they stand for,
// and questions with the rules that recognize them.
type lexicon struct {
	phrases    map[string][]string       // concepts, by phrase
	longest    int                       // words of the longest phrase
	vocabulary []string                  // words of phrases that are long enough to correct typos of
	operators  map[string]string         // names of operators, by phrase
	sayings    map[string]string         // what a concept says of many jobs: compose.go
	words      map[string][]string       // lists of words, by name
	meanings   []meaning                 // compose.go
	forms      map[string]*regexp.Regexp // that the parser knows by their name
	distinct   map[string]bool           // words that are not typos of the known words they resemble
	same       map[string]string         // the plain words that a phrase is read as: plain.go
	rewritings []func(string) string     // forms of text that are written otherwise, in order
	questions  map[string]question
	asks       []string // names of questions, in order
	rules      []rule

	longestOperator, longestSame int // words
}

// A question is one that can be asked, by its entry in the lexicon.
type question struct {
	text  string // in words, with slots: "why {target}"
	parts string // optional, after it: "site time"
	holds []string
	lacks []string
	is    []string
}

// isOfKind reports whether the question of a query is of a kind.
func (l *lexicon) isOfKind(q Query, kind string) bool {
	return slices.Contains(l.questions[q.Ask].is, kind)
}

// listed returns the list of words of a name. The lexicon is embedded, so that one is missing is a bug.
func listed(name string) []string {
	all, ok := english.words[name]
	if !ok {
		panic("ask: lexicon/en.txt: words " + name + ": there is no such list")
	}
	return all
}

// form returns the form of a name, which is there as listed ones are.
func form(name string) *regexp.Regexp { return english.forms[name] }

// Names that rules use for several concepts.
const (
	targetConcepts = "JOB|DEC"
	scopeConcepts  = "SITE TENANT WIN"
)

// readerConcepts are the concepts that no phrase stands for: the parser finds them as names,
// numbers and times.
var readerConcepts = strings.Fields("TERM JOB DEC SITE SITE2 TENANT POLICY MEASURE NUM DUR AT WIN extra ruleid")

// questionKinds are the marks of a question that the parser acts on.
var questionKinds = strings.Fields("supposition of-something of-a-site about-the-rejected about-the-other")

var slotNames, partNames = strings.Fields("{target} {site} {other} {and} {tenant} {number} {long} {ahead} {metric} {pick} {bill} {term} {measure}"), strings.Fields("site tenant job by then per pick number policies metric state home only size bounded bound except against model time")

// A lexiconReader reads a lexicon line by line.
type lexiconReader struct {
	*lexicon
	concepts  map[string]bool
	splitters []string
	last      string     // the question or refusal that a line belongs to
	unchecked []checking // what can be checked only when all concepts are known
}

// A checking is a list of concepts, and where it stands.
type checking struct {
	at       string
	concepts []string
}

// readLexicon reads a lexicon. name is of its file, for errors, each of which has the
// line too. A line is blank, a comment after "#", or one of
//
//	ignored: PHRASE, PHRASE       do not change an answer
//	concept NAME: PHRASE, PHRASE  stand for the concept; a name may have many lines
//	splitter: PHRASE, PHRASE      split a sum, before each noun of each split
//	split NAME: NOUN, NOUN        a concept whose phrases are a splitter and a noun
//	operator NAME: PHRASE, PHRASE are taken out before the rules read the rest: operators.go
//	says KEY=VALUE: NAME, NAME    what words of concepts say of many jobs: compose.go
//	meaning: CONDITIONS / MEANS   what several of those mean together: compose.go
//	form NAME: EXPRESSION         a form that the parser knows by its name
//	words NAME: WORD WORD         a list that the parser knows by its name
//	distinct: WORD WORD           look like typos of known words, but are not
//	same: WORDS = PHRASE, PHRASE  are read as the words, as if those had been written: plain.go
//	rewrite: FORM => TEXT         is a regular expression and what is written for it before that
//	question NAME: TEXT           can be asked; TEXT has slots such as {target}
//	refusal NAME                  is understood and not answered
//
// and, of the question or refusal before it,
//
//	parts: PART PART              may follow the text, in this order
//	rule: NEEDS / MAY             concepts that make it, and those it allows
//	holds: CONCEPT CONCEPT        are answered though no field of the query holds them
//	lacks: CONCEPT CONCEPT        are not answered: with one of them the user is asked
//	is: KIND                      how the reader treats it
//
// TARGET stands for JOB|DEC in a rule, ABOUT for SITE TENANT WIN.
func readLexicon(name, text string) (*lexicon, error) {
	r := &lexiconReader{
		lexicon:  &lexicon{phrases: make(map[string][]string), distinct: make(map[string]bool), same: make(map[string]string), operators: make(map[string]string), words: make(map[string][]string), sayings: make(map[string]string), forms: make(map[string]*regexp.Regexp), questions: make(map[string]question)},
		concepts: make(map[string]bool),
	}
	for _, c := range readerConcepts {
		r.concepts[c] = true
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		at := fmt.Sprintf("%s:%d", name, n)
		if line == "" || line[0] == '#' {
			continue
		}
		if strings.Join(strings.Fields(line), " ") != line {
			return nil, fmt.Errorf("%s: one blank between words, and none before or after them", at)
		}
		if err := r.readLine(at, line); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	return r.finishLexicon(name)
}

// readLine reads one line.
func (r *lexiconReader) readLine(at, line string) error {
	head, value, colon := strings.Cut(line, ": ")
	key, name, named := strings.Cut(head, " ")
	if wants := slices.Contains([]string{"concept", "split", "operator", "says", "words", "form", "question", "refusal"}, key); wants != named {
		return fmt.Errorf("%q: want concept NAME, split NAME, operator NAME, says KEY=VALUE, words NAME, question NAME or refusal NAME, and other keys without a name", head)
	}
	if colon == (key == "refusal") || strings.Contains(name, " ") {
		return fmt.Errorf("%q: want KEY: VALUE, or refusal NAME", line)
	}
	switch key {
	case "ignored":
		return r.addPhrases("_", value)
	case "concept":
		return r.addPhrases(name, value)
	case "meaning":
		of, means, ok := strings.Cut(value, " / ")
		if !ok {
			return fmt.Errorf("meaning: %q: want CONDITIONS / WHAT THEY MEAN", value)
		}
		r.meanings = append(r.meanings, meaning{strings.Fields(of), strings.Fields(means)})
		return nil
	case "form":
		var err error
		r.forms[name], err = regexp.Compile(value)
		return err
	case "splitter":
		r.splitters = append(r.splitters, strings.Split(value, ", ")...)
		return nil
	case "split":
		return r.addSplit(name, value)
	case "operator":
		for phrase := range strings.SplitSeq(value, ", ") {
			if r.operators[phrase] != "" {
				return fmt.Errorf("%q stands for %s already", phrase, r.operators[phrase])
			}
			r.operators[phrase] = name
			r.longestOperator = max(r.longestOperator, len(strings.Fields(phrase)))
		}
		return nil
	case "says":
		for concept := range strings.SplitSeq(value, ", ") {
			if r.sayings[concept] != "" {
				return fmt.Errorf("says %s: %s says %s already", name, concept, r.sayings[concept])
			}
			r.sayings[concept] = strings.Replace(name, "=", " ", 1)
			r.unchecked = append(r.unchecked, checking{at, []string{concept}})
		}
		return nil
	case "words":
		if r.words[name] != nil {
			return fmt.Errorf("words %s: there is a list of that name", name)
		}
		r.words[name] = strings.Fields(value)
		return nil
	case "distinct":
		for w := range strings.FieldsSeq(value) {
			r.distinct[w] = true
		}
		return nil
	case "same":
		plain, phrases, ok := strings.Cut(value, "= ")
		for phrase := range strings.SplitSeq(phrases, ", ") {
			if _, twice := r.same[phrase]; !ok || twice {
				return fmt.Errorf("same: %q: want WORDS = PHRASE, PHRASE, each once", phrase)
			}
			r.same[phrase] = strings.TrimSpace(plain)
			r.longestSame = max(r.longestSame, len(strings.Fields(phrase)))
		}
		return nil
	case "rewrite":
		form, text, ok := strings.Cut(value, " => ")
		x, err := regexp.Compile("(?i)" + form)
		if err != nil || !ok {
			return fmt.Errorf("rewrite: %q: want FORM => TEXT: %w", value, err)
		}
		r.rewritings = append(r.rewritings, func(s string) string { return x.ReplaceAllString(s, text) })
		return nil
	case "question":
		return r.addQuestion(name, value)
	case "refusal":
		r.last = "!" + name
		return nil
	}
	return r.readEntryLine(at, key, value)
}

// readEntryLine reads a line of the question or refusal before it.
func (r *lexiconReader) readEntryLine(at, key, value string) error {
	if r.last == "" {
		return fmt.Errorf("%s: no question or refusal stands before it", key)
	}
	if key == "rule" {
		return r.addRule(at, value)
	}
	q, ok := r.questions[r.last]
	if !ok {
		return fmt.Errorf("%s: a refusal has rules alone", key)
	}
	list := strings.Fields(value)
	switch key {
	case "parts":
		if unknown := firstOutside(list, partNames); unknown != "" || q.parts != "" {
			return fmt.Errorf("parts: %q: want each once, of %s", unknown, strings.Join(partNames, " "))
		}
		q.parts = value
	case "is":
		if unknown := firstOutside(list, questionKinds); unknown != "" {
			return fmt.Errorf("is: %q: want one of %s", unknown, strings.Join(questionKinds, " "))
		}
		q.is = list
	case "holds":
		q.holds = list
		r.unchecked = append(r.unchecked, checking{at, list})
	case "lacks":
		q.lacks = list
		r.unchecked = append(r.unchecked, checking{at, strings.Split(strings.Join(list, "+"), "+")})
	default:
		return fmt.Errorf("%q: no such key; want concept, ignored, splitter, split, operator, says, words, distinct, same, rewrite, question, refusal, parts, rule, holds, lacks or is", key)
	}
	r.questions[r.last] = q
	return nil
}

// firstOutside returns the first of a list that is not among those that are known, or
// stands there twice; "" if all are well.
func firstOutside(list, known []string) string {
	for i, x := range list {
		if !slices.Contains(known, x) || slices.Contains(list[:i], x) {
			return x
		}
	}
	return ""
}

func (r *lexiconReader) addPhrases(concept, value string) error {
	r.concepts[concept] = true
	for phrase := range strings.SplitSeq(value, ", ") {
		if err := r.addPhrase(concept, phrase); err != nil {
			return err
		}
	}
	return nil
}

func (r *lexiconReader) addPhrase(concept, phrase string) error {
	switch {
	case phrase == "" || strings.Contains(phrase, ","):
		return fmt.Errorf("%q: want phrases with a comma and a blank between them", phrase)
	case subscriptFolder.Replace(strings.ToLower(phrase)) != phrase:
		return fmt.Errorf("%q: want small letters", phrase)
	case slices.Contains(r.phrases[phrase], concept):
		return fmt.Errorf("%q stands for %s already", phrase, concept)
	}
	r.phrases[phrase] = append(r.phrases[phrase], concept)
	r.longest = max(r.longest, len(strings.Fields(phrase)))
	return nil
}

// addSplit adds the phrases of a split: "per site", "for each cluster". They are made of
// parts since they differ in their nouns alone.
func (r *lexiconReader) addSplit(concept, nouns string) error {
	if len(r.splitters) == 0 {
		return fmt.Errorf("split %s: no splitter stands before it", concept)
	}
	r.concepts[concept] = true
	for noun := range strings.SplitSeq(nouns, ", ") {
		for _, by := range r.splitters {
			if err := r.addPhrase(concept, by+" "+noun); err != nil {
				return err
			}
		}
	}
	return nil
}

// slotForm is a slot in the text of a question, perhaps unclosed.
var slotForm = regexp.MustCompile(`\{[^}]*\}?`)

func (r *lexiconReader) addQuestion(name, text string) error {
	if _, twice := r.questions[name]; twice {
		return fmt.Errorf("question %s: there is one of that name", name)
	}
	for _, slot := range slotForm.FindAllString(text, -1) {
		if !slices.Contains(slotNames, slot) {
			return fmt.Errorf("question %s: slot %s: want one of %s", name, slot, strings.Join(slotNames, " "))
		}
	}
	r.last = name
	r.asks = append(r.asks, name)
	r.questions[name] = question{text: text}
	return nil
}

func (r *lexiconReader) addRule(at, value string) error {
	needs, may, _ := strings.Cut(value, " / ")
	needs, may = strings.ReplaceAll(needs, "TARGET", targetConcepts), strings.ReplaceAll(may, "ABOUT", scopeConcepts)
	if needs == "" || strings.Contains(may, "/") || strings.Contains(may, "|") {
		return fmt.Errorf("rule %q: want NEEDS / MAY", value)
	}
	x := rule{ask: r.last, may: strings.Fields(may), allowed: make(map[string]bool)}
	if !x.allowsAll() {
		r.unchecked = append(r.unchecked, checking{at, x.may})
	}
	for group := range strings.FieldsSeq(needs) {
		x.needs = append(x.needs, strings.Split(group, "|"))
	}
	r.unchecked = append(r.unchecked, checking{at, slices.Concat(x.needs...)})
	for _, c := range slices.Concat(alwaysAllowed, x.concepts()) {
		x.allowed[c], x.allowed[nounOf[c]] = true, true
	}
	r.rules = append(r.rules, x)
	return nil
}

// finishLexicon checks what can be checked only when all lines are read.
func (r *lexiconReader) finishLexicon(name string) (*lexicon, error) {
	for _, c := range r.unchecked {
		for _, concept := range c.concepts {
			if !r.concepts[concept] {
				return nil, fmt.Errorf("%s: %q is no concept: no phrase stands for it", c.at, concept)
			}
		}
	}
	for _, ask := range r.asks {
		if !slices.ContainsFunc(r.rules, func(x rule) bool { return x.ask == ask }) {
			return nil, fmt.Errorf("%s: question %s has no rule, so it is never read", name, ask)
		}
	}
	slices.Sort(r.asks)
	r.vocabulary = slices.Compact(slices.Sorted(slices.Values(append(longWords(r.phrases), longWords(r.operators)...))))
	return r.lexicon, nil
}

// QuestionNames returns the names of all that can be asked, in order.
func QuestionNames() []string { return slices.Clone(english.asks) }

// concepts holds, for each word and name of a question in order, the concepts that it may
// stand for.
type concepts [][]string

// nounOf is the noun that may stand before a name.
var nounOf = map[string]string{"JOB": "jobs", "SITE": "sites", "TENANT": "tenants", "POLICY": "policy"}

// alwaysAllowed are the concepts that a word of any question may stand for.
var alwaysAllowed = strings.Fields("_ which how list future total")

// A rule says which concepts make a question. A refusal's ask begins with "!".
type rule struct {
	ask     string
	needs   [][]string      // one of each has to be there
	may     []string        // that other words may stand for; "*" alone allows all that is known
	allowed map[string]bool // all of these, with the nouns of names: every word stands for one
}

// concepts returns the concepts that a rule knows.
func (f rule) concepts() []string { return slices.Concat(slices.Concat(f.needs...), f.may) }

// hasConcept reports whether a rule knows a concept.
func (f rule) hasConcept(concept string) bool { return slices.Contains(f.concepts(), concept) }

// allowsAll reports whether a rule allows every word that is known.
func (f rule) allowsAll() bool { return len(f.may) == 1 && f.may[0] == "*" }

// matchConcepts reports whether the rule matches the concepts of a question, and by how many
// needs.
func (f rule) matchConcepts(s concepts) (int, bool) {
	for _, group := range f.needs {
		if !slices.ContainsFunc(group, s.hasConcept) {
			return 0, false
		}
	}
	if f.allowsAll() {
		return 0, true
	}
	for _, word := range s {
		if !slices.ContainsFunc(word, func(concept string) bool { return f.allowed[concept] }) {
			return 0, false
		}
	}
	return len(f.needs), true
}

// hasConcept reports whether any word of the question may stand for a concept.
func (s concepts) hasConcept(concept string) bool {
	return slices.ContainsFunc(s, func(word []string) bool { return slices.Contains(word, concept) })
}

// bestRules returns the rules that read the question with the most needs, one for
// each thing asked. Only rules of questions that count are tried; nil counts all.
func bestRules(s concepts, counts func(ask string) bool) (all []rule) {
	most := -1
	for _, r := range english.rules {
		n, ok := r.matchConcepts(s)
		if !ok || n < most || counts != nil && !counts(r.ask) {
			continue
		}
		if n > most {
			all, most = nil, n
		}
		if !containsAsk(all, r.ask) {
			all = append(all, r)
		}
	}
	return all
}

// containsAsk reports whether one of the rules makes a question.
func containsAsk(all []rule, ask string) bool {
	return slices.ContainsFunc(all, func(r rule) bool { return r.ask == ask })
}
