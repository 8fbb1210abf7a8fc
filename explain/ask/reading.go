package ask

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// maxQuestionBytes bounds the length of a question. It is checked before any of the text is
// parsed.
const maxQuestionBytes = 2000

// tooLong refuses a text longer than maxQuestionBytes; nil if it is short enough.
func tooLong(question string) *Clarification {
	if len(question) <= maxQuestionBytes {
		return nil
	}
	return unclearText(fmt.Sprintf("A question has at most %d bytes; this one has %d.", maxQuestionBytes, len(question)))
}

// questionWords are words that a sentence has only if it is a question.
var questionWords = []string{"what", "why", "which", "when", "where", "who", "how", "would", "could", "did", "does", "was", "were"}

// invertedVerbs are words that make a question of what they begin; the first modals of
// them also before a "not".
var invertedVerbs = []string{"should", "must", "may", "might", "can", "will", "shall", "is", "are", "has", "have", "had", "was", "were", "do"}

const modalCount = 4

// A reading is the state of parsing one question.
type reading struct {
	concepts   concepts
	times      timeWords
	query      Query
	rejected   string // the site after a "not"
	numbers    []int64
	unknown    []string
	isQuestion bool   // it has a word of questions
	hasAnd     bool   // it has an "and"
	verb       string // before the first site, and after it
	next       string

	operators bool     // their words are taken out before the rules read the rest
	implied   concepts // of words that were taken out
	tokens    []token  // without them

	phraseLengths map[int]int // by the token that they begin at: how many words phrases have
	phraseLimits  map[int]int // phrases begin here that are to have fewer words than that
}

// ParseQuestion parses a question. If no single query results, the clarification says which
// word or name is not known, or which readings there are. The typos are the words that were
// corrected.
func (l *Parser) ParseQuestion(question string) (Query, []Typo, *Clarification) {
	question = l.plainWords(question)
	q, typos, back := l.parseWithOrWithout(question, true)
	if back != nil && (back.Kind == "not-found" || back.Kind == "unclear") {
		if text, names := l.correctSiteNames(question); len(names) > 0 {
			if q, typos, other := l.parseWithOrWithout(text, true); other == nil {
				return q, append(names, typos...), nil
			}
		}
	}
	if back == nil {
		back = unanswerable(q)
	}
	if back != nil {
		if term, the := strings.CutPrefix(strings.ToLower(question), "what is the "); the && back.Kind == "unclear" { // that is no figure
			if q, ok := parseDefinition("define " + term); ok {
				return q, nil, nil
			}
		}
		if back.Kind == "unclear" && len(back.offered) == 0 {
			l.offerNearest(question, back)
		}
		back.Readings = l.answerableQuestions(back.offered)
		if len(back.Readings) > 0 && back.intro != "" {
			back.Text = append(back.Text, back.intro)
		}
	}
	return q, typos, back
}

// parseWithOrWithout parses a question: as a definition that is asked for, as one without
// operators, and then as one with them. Words of a state are operators first, because a question
// without them would count all jobs. Unless it is to be corrected, it counts as it is written.
func (l *Parser) parseWithOrWithout(question string, correct bool) (Query, []Typo, *Clarification) {
	if q, ok := parseDefinition(question); ok {
		return q, nil, nil
	}
	parse := l.parseOrCorrect
	if !correct {
		parse = func(question string, operators bool) (Query, []Typo, *Clarification) {
			q, back := l.parseInto(question, &reading{operators: operators})
			return q, nil, back
		}
	}
	q, typos, back := parse(question, false)
	model := back == nil && q.Model == "" && q.Job == "" && q.Decision == 0 && l.namesModel(question)
	mayNarrow := model || slices.Contains([]string{"jobs", "free", "block"}, q.Ask) // words of a state or a GPU model may have gone unheard
	if back == nil && !mayNarrow || back != nil && tooLong(question) != nil {
		return q, typos, back
	}
	refused := back != nil && back.Kind == "refused"
	narrow, slips, other := parse(question, true)
	if other == nil && (back != nil || narrow.State+narrow.Model != "") && !(refused && narrow.Ask == "measure") {
		return narrow, slips, nil
	}
	if model {
		return Query{}, nil, cmp.Or(other, unclearText("That is not told by GPU model."))
	}
	return q, typos, back
}

// parseOrCorrect parses a question. If no rule reads it, it tries shorter phrases, and then
// corrections of the unknown words. With operators, their words are taken out first.
func (l *Parser) parseOrCorrect(question string, operators bool) (Query, []Typo, *Clarification) {
	r := &reading{operators: operators}
	q, back := l.parseInto(question, r)
	switch {
	case back == nil || back.Kind != "unclear" && !back.splittable:
	case len(r.unknown) > 0:
		if len(r.phraseLengths) > 0 { // a phrase may have taken a word from another
			if q, other := l.parseWithShorterPhrases(question, r, back); other != back {
				return q, nil, other
			}
		}
		if !l.exact {
			return l.parseWithTypos(question, r, back)
		}
	default:
		q, back = l.parseWithShorterPhrases(question, r, back)
	}
	return q, nil, back
}

// parseInto reads a question into r.
func (l *Parser) parseInto(question string, r *reading) (Query, *Clarification) {
	if back := tooLong(question); back != nil {
		return Query{}, back
	}
	r.hasAnd = strings.Contains(question, ",")
	if words, n, ok := readQuoted(strings.TrimPrefix(question, "measure ")); ok && strings.HasPrefix(question, "measure ") && r.query.readMeasure(words) {
		question = question[len("measure ")+n:]
		r.imply("MEASURE")
	}
	if r.tokens = l.index.splitTokens(question); r.operators {
		r.tokens = r.takeOperators(l, r.tokens)
	}
	if back := r.readTokens(l, r.tokens); back != nil {
		r.unknown = nil
		return Query{}, back
	}
	if first := r.refusedCommand(); first != "" {
		back := l.refuseQuestion(r, first)
		if first == "!legislate" {
			back.Text = []string{"That would be a rule, and questions only read. To see what it would do, and to put it in force: gridbid policy say " + format.ShellQuoted(format.CleanText(question))}
		}
		return Query{}, back
	}
	if len(r.unknown) > 0 {
		for _, why := range []string{"unrecorded", "beyond"} {
			if r.concepts.hasConcept(why) {
				return Query{}, l.refuseQuestion(r, "!"+why)
			}
		}
		return Query{}, l.unknownWords(r.unknown)
	}
	r.concepts = append(r.concepts, r.implied...)
	if r.operators {
		r.takeSplits()
	}
	at, from, to, ok := r.times.timeWindow(l)
	if !ok || r.times.isTwoTimes(question) || r.hasAnd && at != 0 && r.concepts.hasConcept("now") {
		return Query{}, unclearText("The times in the question do not make one time or one window. Say \"at 13:45\", \"on 2026-03-11\", or \"from 12:00 to 14:00\".")
	}
	if at != 0 && at < l.Last && r.query.Job == "" && r.query.Decision == 0 && r.concepts.hasConcept("if") && (r.concepts.hasConcept("without") || r.concepts.hasConcept("drained")) {
		at, from, to = 0, at, l.Last // "goes down at noon": from then on
	}
	r.query.At, r.query.From, r.query.To = at, from, to
	if at != 0 {
		r.concepts = append(r.concepts, []string{"AT"})
	} else if to != 0 {
		r.concepts = append(r.concepts, []string{"WIN"})
	}
	q, back := l.chooseOrCompose(r)
	if back == nil {
		back = l.checkPointer(question, q)
	}
	return q, back
}

// chooseOrCompose returns the one query that the rules read, or else, with operators, what the words compose.
func (l *Parser) chooseOrCompose(r *reading) (Query, *Clarification) {
	switch has := len(r.implied) > 0 || slices.ContainsFunc(queryFields, func(x queryField) bool { return x.operator && x.isSet(&r.query) }); {
	case r.concepts.hasConcept("MEASURE"):
		if !r.operators {
			return Query{}, unclearText("The words of operators are not read.")
		}
		q := r.query
		q.Ask = "measure"
		return q.WithDefaults(), nil
	case r.operators && !has:
		if q, ok := l.composeQuery(r, Query{}); ok && len(r.phraseLimits) == 0 {
			return q, nil
		}
		return Query{}, unclearText("The question has no operators.") // and is read without
	}
	q, back := l.chooseQuery(r)
	if back != nil && back.Kind != "refused" && r.operators && len(r.phraseLimits) == 0 {
		if m, ok := l.composeQuery(r, Query{}); ok {
			return m, nil
		}
	}
	return q, back
}

// chooseQuery returns the one query that the grammar reads.
func (l *Parser) chooseQuery(r *reading) (Query, *Clarification) {
	found := bestRules(r.concepts, r.takesOperators)
	if i := slices.IndexFunc(found, func(f rule) bool { return strings.HasPrefix(f.ask, "!") && len(f.may) == 0 }); len(found) > 1 && (i >= 0 || found[0].allowsAll()) {
		found = found[max(i, 0):][:1]
	}
	if r.query.Job != "" && r.query.Decision != 0 {
		return Query{}, unclearText("One question is about a job or about a decision: name one of the two.")
	}
	switch {
	case len(found) == 1 && found[0].ask == "!legislate" && slices.Contains([]string{"which", "who", "when", "where", "how", "did", "was", "were"}, r.tokens[0].low):
		return Query{}, unclearText("What a rule or a cap did to jobs is not told; `gridbid ask 'rules in force'` lists the rules.")
	case len(found) == 1 && strings.HasPrefix(found[0].ask, "!"):
		if q, back := l.reconsiderRefusal(r, found[0]); back != nil || q.Ask != "" {
			return q, back
		}
		return Query{}, l.refuseQuestion(r, found[0].ask)
	case len(found) == 1 && english.isOfKind(Query{Ask: found[0].ask}, "supposition") && (slices.Contains(listed("fact-verbs"), r.verb) || r.saysOnlySiteDown()) && !r.concepts.hasConcept("if"):
		return r.readSitePresence()
	case len(found) == 1 && found[0].ask == "day-without" && !r.operators && r.leavesOut():
		return Query{}, unclearText("A site is left out of a sum.") // which is read with operators
	case len(found) == 1:
		q := r.buildQuery(found[0])
		if lost := r.unansweredParts(found[0], q); len(lost) > 0 {
			return Query{}, clarifyUnanswered(lost, q)
		}
		return q, nil
	case len(found) > 1:
		back := newClarification("ambiguous", severalReadings)
		for _, f := range found {
			if !strings.HasPrefix(f.ask, "!") {
				back.offerQueries("", r.buildQuery(f))
			}
		}
		return Query{}, back
	}
	back := l.explainMissing(r)
	back.splittable = back.missingSlot == ""
	return Query{}, back
}

// readTokens goes through the tokens: names first, then times and numbers, then the
// longest phrase that is known.
func (r *reading) readTokens(l *Parser, tokens []token) *Clarification {
	low := lowWords(tokens)
	for _, t := range tokens {
		r.isQuestion = r.isQuestion || slices.Contains(questionWords, t.low)
		r.hasAnd = r.hasAnd || slices.Contains([]string{"and", "plus", "&", "both"}, t.low)
	}
	r.isQuestion = r.isQuestion || len(low) > 1 && slices.Contains(invertedVerbs, low[0]) && low[1] != "not" || len(low) > 1 && slices.Contains(invertedVerbs[:modalCount], low[0])
	negated := false
	for i := 0; i < len(tokens); {
		t := tokens[i]
		if len(t.names) > 0 {
			if t.names[0].kind == ofSite && r.query.Site == "" {
				r.verb, r.next = neighbourWords(tokens, i)
			}
			if back := r.addName(t, negated); back != nil {
				return back
			}
			negated = false
			i++
			continue
		}
		if r.isFilterOnly(tokens, i) {
			i++
			continue
		}
		n, concepts := r.readWord(l, low[i:], t, i)
		if n == 0 {
			if back := l.unknownName(tokens, i); back != nil {
				return back
			}
			r.unknown = append(r.unknown, t.text)
			i++
			continue
		}
		if len(concepts) > 0 {
			r.concepts = append(r.concepts, concepts)
		}
		if slices.Contains(concepts, "not") || slices.Contains(concepts, "without") || slices.Contains(concepts, "instead") && !slices.Contains(concepts, "_") {
			negated = true
		}
		i += n
	}
	return nil
}

// neighbourWords returns the words before and after a name; a noun that says what it is, is
// a part of it.
func neighbourWords(tokens []token, i int) (before, after string) {
	if i+1 < len(tokens) {
		after = tokens[i+1].low
	}
	for i--; i >= 0; i-- {
		if low := tokens[i].low; nouns[low] == "" && low != "the" {
			return low, after
		}
	}
	return "", after
}

// saysOnlySiteDown reports whether a question holds nothing but a site that is down: "oslo down?"
func (r *reading) saysOnlySiteDown() bool {
	return r.verb == "" && r.query.To == 0 && !slices.ContainsFunc(r.concepts, func(word []string) bool {
		return !slices.ContainsFunc(word, func(c string) bool { return c == "SITE" || c == "sites" || c == "without" })
	})
}

// leavesOut reports whether a question is for a sum without a site, and not for what would be without it.
func (r *reading) leavesOut() bool {
	return r.concepts.countConcepts(quantityConcepts) > 0 && r.concepts.countConcepts(strings.Fields("if save more less change happened how future")) == 0 &&
		slices.ContainsFunc(r.tokens, func(t token) bool { return english.operators[t.low] == "except" })
}

// readSitePresence returns the query for "is SITE up": when the site was last heard from.
func (r *reading) readSitePresence() (Query, *Clarification) {
	q := Query{Ask: "report", Site: r.query.Site}
	if r.verb == "did" || r.verb == "does" || r.verb == "" { // "what did oslo lose", "oslo down?"
		return Query{}, newClarification("ambiguous", "That is not answered as it stands.").offerQueries("Perhaps one of these is meant:", q, Query{Ask: "day-without", Site: q.Site})
	}
	if lost := r.unansweredParts(rule{}, q); len(lost) > 0 {
		return Query{}, clarifyUnanswered(lost, q)
	}
	return q, nil
}

// readWord reads what is no name, and returns how many words it took.
func (r *reading) readWord(l *Parser, low []string, t token, at int) (int, []string) {
	if t.quoted {
		return 0, nil
	}
	if low[0] == "next" && len(low) > 1 && timeUnit(low[1]) > 0 {
		r.query.Within = timeUnit(low[1])
		return 2, []string{"next"}
	}
	most := english.longest
	if r.phraseLimits[at] > 0 {
		most = r.phraseLimits[at] - 1
	}
	n, concepts := longestPhrase(low, most)
	if n > 1 {
		if r.phraseLengths == nil {
			r.phraseLengths = make(map[int]int)
		}
		r.phraseLengths[at] = n
		return n, concepts
	}
	spans := len(r.times.spans)
	if used := r.times.readTime(l, low); used > 0 {
		if len(r.times.spans) > spans {
			r.addSpan()
			if slices.ContainsFunc(low[:used], func(w string) bool { return slices.Contains(extraWords, w) }) {
				r.concepts = append(r.concepts, []string{"extra"})
			}
			if r.query.Long == 0 {
				return used, []string{"next"}
			}
			return used, []string{"DUR"}
		}
		return used, nil
	}
	if seq, ok := record.ParseDecisionID(low[0], l.Decided); ok {
		if r.query.Decision != 0 {
			return 0, nil
		}
		r.query.Decision = seq
		return 1, []string{"DEC"}
	}
	if id, ok := strings.CutPrefix(low[0], "r-"); ok && isNumber(id) {
		return 1, []string{"ruleid"}
	}
	if v, ok := parseNumber(low[0]); ok && n == 0 {
		r.numbers = append(r.numbers, v)
		return 1, []string{"NUM"}
	}
	digits, unit, cut := strings.Cut(low[0], "-")
	if !cut {
		digits = strings.TrimRightFunc(low[0], unicode.IsLetter)
		unit = low[0][len(digits):]
	}
	if v, ok := parseNumber(digits); ok && n == 0 && (unit == "gpu" || unit == "gpus" || unit == "x") {
		r.numbers = append(r.numbers, v)
		r.concepts = append(r.concepts, []string{"NUM"})
		return 1, []string{"gpus"}
	}
	return n, concepts
}

// addSpan takes a length of time: of a run, or within which.
func (r *reading) addSpan() {
	d := r.times.spans[len(r.times.spans)-1]
	n := len(r.concepts)
	if n > 0 && (slices.Contains(r.concepts[n-1], "next") || slices.Contains(r.concepts[n-1], "canwait")) || r.query.Long != 0 {
		r.query.Within = d
		return
	}
	r.query.Long = d
}

// addName takes a name that is known.
func (r *reading) addName(t token, negated bool) *Clarification {
	if len(t.names) > 1 {
		back := newClarification("ambiguous", "%q is more than one thing here. Say which is meant:", format.CleanText(t.text))
		for _, n := range t.names {
			back.Text = append(back.Text, strings.ToLower(n.kind)+" "+format.CleanText(QuoteName(n.name)))
		}
		return back
	}
	n := t.names[0]
	switch {
	case n.kind == ofAJob && r.query.Job == "":
		r.query.Job = protocol.JobID(n.name)
	case n.kind == ofTenant && r.query.Tenant == "":
		r.query.Tenant = n.name
	case n.kind == ofPolicy:
		if !slices.Contains(r.query.Policies, n.name) { // two of its names
			r.query.Policies = append(r.query.Policies, n.name)
		}
	case n.kind == ofSite && r.query.Site == "":
		r.query.Site = n.name
	case n.kind == ofSite && r.query.Other == "" && r.query.Site != n.name:
		r.query.Other = n.name
		r.concepts = append(r.concepts, []string{"SITE2"})
		if negated {
			r.rejected = n.name
		}
		return nil
	default:
		return unclearText(fmt.Sprintf("One question can be about one %s, or about two sites.", strings.ToLower(n.kind)))
	}
	r.concepts = append(r.concepts, []string{n.kind})
	if negated && n.kind == ofSite {
		r.rejected = n.name
	}
	return nil
}

// refusedCommand returns the refusal of a sentence that orders an action or sets a rule; ""
// for a question.
func (r *reading) refusedCommand() string {
	if r.isQuestion {
		return ""
	}
	if r.concepts.hasConcept("modal") {
		return "!legislate"
	}
	if len(r.tokens) > 0 && slices.Contains([]string{"submit", "launch"}, r.tokens[0].low) {
		return "!act"
	}
	for i, word := range r.concepts {
		switch {
		case slices.Contains(word, "command") && i+1 < len(r.concepts) && slices.ContainsFunc(r.concepts[i+1], func(c string) bool { return c == "JOB" || c == "DEC" || c == "TENANT" }):
			return "!act" // "put JOB on hold"
		case slices.Contains(word, "legislate") || slices.Contains(word, "never"):
			return "!legislate"
		case slices.Contains(word, "act"):
			return "!act"
		case !slices.Contains(word, "_"):
			return ""
		}
	}
	return ""
}
