package ask

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Conversation parses questions that may refer to the ones before them. The query of such
// a question holds in full what it refers to. The zero Conversation has no earlier question.
type Conversation struct {
	last     Query            // the last query that was answered
	target   Query            // the job or decision that was named last
	place    string           // the one site that the last answer was about
	rows     []protocol.JobID // that the last answer listed
	readings []string         // the readings that the last clarification offered
	joined   []Query          // of a question that asked for several things
}

// SetRows sets the jobs that the last answer listed, in order. One that stands alone or is ranked first is the one
// that a question without a job is about.
func (t *Conversation) SetRows(rows []protocol.JobID) {
	if len(rows) == 0 && t.last.Job != "" && slices.Contains(t.rows, t.last.Job) {
		return // the answer was about one of them
	}
	if t.rows = rows; len(rows) == 1 || len(rows) > 0 && t.last.Number != 0 {
		t.target = Query{Job: rows[0]}
	}
}

// replaceRow replaces "the first one" by the job that stands there in the last answer.
func (t *Conversation) replaceRow(question string) string {
	at := form("row").FindStringSubmatchIndex(question)
	if at == nil || len(t.rows) == 0 {
		return question
	}
	n := slices.Index([]string{"first", "second", "third"}, strings.ToLower(question[at[2]:at[3]]))
	if n >= len(t.rows) {
		return question
	} else if n < 0 {
		n = len(t.rows) - 1
	}
	return question[:at[0]] + Query{Job: t.rows[n]}.targetWords() + question[at[1]:]
}

// rowOf returns the job of the last answer that words name.
func (t *Conversation) rowOf(words string) protocol.JobID {
	i := slices.IndexFunc(t.rows, func(id protocol.JobID) bool { return Query{Job: id}.targetWords() == words })
	if i < 0 {
		return ""
	}
	return t.rows[i]
}

// SetPlace sets the site that "there" means: the one that the last answer was about; "" is none.
func (t *Conversation) SetPlace(site string) { t.place = site }

// ContinueFrom makes q the query that the next question may refer to.
func (t *Conversation) ContinueFrom(q Query) {
	t.last, t.readings, t.joined = q, nil, nil
	if q.Job != "" || q.Decision != 0 {
		t.target = Query{Job: q.Job, Decision: q.Decision}
	}
}

// SetReadings sets the readings between which the next number chooses.
func (t *Conversation) SetReadings(readings []string) { t.readings = readings }

// ResolveChoice returns the reading that a text chooses by its number, or the text.
func (t *Conversation) ResolveChoice(text string) string {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(t.readings) {
		return t.readings[n-1]
	}
	return text
}

// changeMarkers begin a question that changes one thing of the one before.
var changeMarkers = []string{"and how much of that", "and how much of it", "how much of that", "how much of it", "and what about", "and how about", "what about", "how about", "same for", "the same for", "and for", "and at", "and on", "and", "or", "also", "then", "now", "split that", "split it", "sort by", "sort it by", "sort them by", "rank by", "order by", "only the", "only", "in"}

// ParseQuestion parses a question together with what it refers to; where that gives no
// query, it returns what [Parser.ParseQuestion] returns.
func (t *Conversation) ParseQuestion(l *Parser, question string) (Query, []Typo, *Clarification) {
	if back := tooLong(question); back != nil {
		return Query{}, nil, back
	}
	question = l.plainWords(question)
	if q, typos, ok := t.parseOnDefinition(l, question); ok {
		return q, typos, nil
	}
	if m := form("next-round").FindStringSubmatch(question); m != nil && t.last.Ask == "round" {
		q := t.last
		q.Number += map[bool]int64{true: 1, false: -1}[strings.EqualFold(m[1], "next")]
		return q, nil, nil
	}
	if _, jobs := t.last.AsMeasure(); (jobs || t.last.Ask == "pending") && t.last.By == "" && form("which-ones").MatchString(question) {
		return t.last, nil, nil // its answer lists them
	}
	if t.last.Ask != "" {
		question = form("change-end").ReplaceAllString(question, "$1")
	}
	if m := form("bare-bound").FindStringSubmatch(question); m != nil && t.last.Bounded != "" {
		_, unit, _ := strings.Cut(t.last.Amount, " ")
		question = m[1] + " " + unit
	}
	if row := t.replaceRow(question); row != question {
		question = row
		if words := strings.TrimPrefix(strings.TrimPrefix(strings.TrimRight(row, "?.! "), "and "), "what about "); t.last.Job == "" && words == (Query{Job: t.rowOf(words)}).targetWords() {
			return Query{Ask: "facts", Job: t.rowOf(words)}, nil, nil
		}
	}
	if text, ok := t.replaceThere(question); ok {
		q, typos, back := t.ParseQuestion(l, text)
		if all := strings.Fields(question); back != nil && t.last.Job != "" && strings.EqualFold(strings.Trim(all[len(all)-1], "?.,!"), "there") { // where the job is
			q, typos, back = t.ParseQuestion(l, strings.Join(all[:len(all)-1], " "))
		}
		return t.withLastTime(q), typos, back
	}
	if q, ok := t.applyShare(l, question); ok {
		return q, nil, nil
	}
	p, _ := findPointer(question)
	several := slices.Contains(listed("plural-pointers"), p.word)
	if q, ok := t.parseChange(l, question); ok && (!several || form("whose").MatchString(question)) {
		return q, nil, nil
	}
	if q, ok := t.composeOn(l, question); ok {
		return q, nil, nil
	} else if q.Ask == "two-bounds" { // one of them would be dropped
		return Query{}, nil, unclearText("Of two bounds of each job, one has to be of its GPUs.")
	}
	if q, typos, ok := t.parseWithPointer(l, question); ok {
		return q, typos, nil
	}
	known := t.target.Job != "" || t.target.Decision != 0
	if at := form("that-job").FindStringIndex(question); at != nil && known {
		if q, typos, back := l.ParseQuestion(question[:at[0]] + t.target.targetWords() + question[at[1]:]); back == nil {
			return q, typos, nil
		}
	}
	q, typos, back := l.ParseQuestion(question)
	if back == nil {
		return t.inheritPlace(question, q), typos, nil
	}
	if q, ok := t.applyChange(l, question); ok && !several { // "at 13:00?", "of vision?"
		return q, nil, nil
	}
	if p, ok := findPointer(question); ok && back.Kind == "refused" { // "drain it"
		for _, subject := range t.pointerTargets(p) {
			if _, _, named := l.ParseQuestion(p.before + " " + subject + " " + p.after); named != nil && named.Kind == "refused" {
				return Query{}, nil, named
			}
		}
	}
	if back.missingSlot == "JOB" && known && !containsAnyWord(question, listed("several-jobs-words")) {
		if q, typos, again := l.ParseQuestion(question + " for " + t.target.targetWords()); again == nil && !(q.Ask == "saved" && containsAnyWord(question, listed("collective-words"))) {
			return q, typos, nil
		}
	}
	if back.missingSlot == "SITE" && t.last.Site != "" {
		if q, typos, again := l.ParseQuestion(question + " at site " + QuoteName(t.last.Site)); again == nil {
			return q, typos, nil
		}
	}
	for i, x := range back.offered { // all readings are about one job
		if x.Job == "" || x.Job != back.offered[0].Job {
			break
		} else if i == len(back.offered)-1 && strings.Contains(strings.ToLower(question), strings.ToLower(string(x.Job))) {
			t.target = Query{Job: x.Job}
		}
	}
	return Query{}, nil, back
}

// parseOnDefinition parses a question that goes on from the definition of a word.
func (t *Conversation) parseOnDefinition(l *Parser, question string) (Query, []Typo, bool) {
	if t.last.Ask != "define" {
		return Query{}, nil, false
	}
	if q, ok := parseDefinition("what is " + strings.TrimPrefix(strings.ToLower(question), "and ")); ok {
		return q, nil, true
	}
	named := form("them").ReplaceAllString(form("it").ReplaceAllString(question, t.last.Term), t.last.Term+"s")
	if q, ok := parseDefinition(named); ok {
		return q, nil, true
	}
	for _, text := range []string{named, question + " " + t.last.Term} { // "which site had the highest"
		if q, typos, back := l.ParseQuestion(text); back == nil {
			return q, typos, true
		}
	}
	return Query{}, nil, false
}

// replaceThere replaces a "there" that points to the site of the last answer, and not one of "is there".
func (t *Conversation) replaceThere(question string) (string, bool) {
	all := strings.Fields(question)
	for i, w := range all {
		before := ""
		if i > 0 {
			before = strings.ToLower(all[i-1])
		}
		if i > 0 && t.place != "" && strings.EqualFold(strings.Trim(w, "?.,!"), "there") && !slices.Contains(strings.Fields("is are was were if been"), before) {
			return strings.Join(slices.Replace(all, i, i+1, "at site "+QuoteName(t.place)), " "), true
		}
	}
	return question, false
}

// withLastTime returns a query without a time with the time of the last one, if it may have one.
func (t *Conversation) withLastTime(q Query) Query {
	if q.At == 0 && q.To == 0 && q.Ask != "" && takesTime(q) {
		q.At, q.From, q.To = t.last.At, t.last.From, t.last.To
	}
	return q
}

// inheritPlace returns the query of a question that goes on with "and": it is about the site, the
// tenant and the time of the last one where it names none and may have them.
func (t *Conversation) inheritPlace(question string, q Query) Query {
	low := strings.ToLower(question)
	if t.last.Ask == "" || !slices.ContainsFunc([]string{"and ", "what about ", "how about "}, func(m string) bool { return strings.HasPrefix(low, m) }) {
		return q
	}
	more := t.withLastTime(q)
	parts := strings.Fields(english.questions[q.Ask].parts)
	if slices.Contains(parts, "site") && more.Site == "" && more.By == "" {
		more.Site = t.last.Site
	}
	if slices.Contains(parts, "tenant") && more.Tenant == "" && more.By == "" {
		more.Tenant = t.last.Tenant
	}
	if more.Check() != nil {
		return q
	}
	return more
}

// applyShare reads "what share is that": the last sum as a part of the whole.
func (t *Conversation) applyShare(l *Parser, question string) (Query, bool) {
	if t.last.Ask == "" {
		return Query{}, false
	}
	r := &reading{}
	if rest := r.takeOperators(l, l.index.splitTokens(question)); r.query.Pick != "share" || len(rest) > 0 && !strings.Contains(question, "that") {
		return Query{}, false
	}
	if ranked := t.last.Pick == "most" || t.last.Pick == "least"; ranked && t.last.By == "site" && t.place != "" {
		before := t.last
		defer func() { t.last = before }()
		t.last.By, t.last.Pick, t.last.Site = "", "", t.place
	}
	return t.applyChange(l, question)
}

// laterOrEarlier reads "two hours later".
func (r *reading) laterOrEarlier(tokens []token) (time.Duration, bool) {
	low := lowWords(tokens)
	if len(low) > 0 && (low[0] == "the" || low[0] == "an" || low[0] == "a") {
		low = low[1:]
	}
	if len(low) == 2 { // "the hour after", "the next hour"
		if way := map[string]int{"next": 1, "following": 1, "previous": -1}[low[0]]; way != 0 && timeUnit(low[1]) > 0 {
			return time.Duration(way) * timeUnit(low[1]), true
		}
	}
	d, n := readLength(low)
	if n == 0 && len(low) == 2 && timeUnit(low[0]) > 0 {
		d, n = timeUnit(low[0]), 1
	}
	if n == 0 || n >= len(low) || len(low) > n+1 {
		return 0, false
	}
	switch low[n] {
	case "later", "after", "on":
		return d, true
	case "earlier", "before":
		return -d, true
	}
	return 0, false
}

// containsAnyWord reports whether a question has one of some words.
func containsAnyWord(question string, words []string) bool {
	return slices.ContainsFunc(strings.Fields(strings.ToLower(question)), func(w string) bool { return slices.Contains(words, strings.Trim(w, "?.,!;:")) })
}

// pointerTargets are what a pointer may stand for, the likeliest first, as words of a
// question: of several things only a set that was just counted.
func (t *Conversation) pointerTargets(p pointer) (all []string) {
	q := t.last
	if slices.Contains(listed("plural-pointers"), p.word) {
		if q.Ask == "jobs" && q.Bounded+q.State+q.Model == "" {
			all = append(all, "jobs"+q.optionalWords("site")+q.optionalWords("tenant"))
		}
		return all
	}
	switch {
	case q.Job != "" || q.Decision != 0:
		all = append(all, q.targetWords())
	case q.Site != "" && q.Tenant == "" && q.Other == "":
		all = append(all, "site "+QuoteName(q.Site))
	case q.Tenant != "" && q.Site == "":
		all = append(all, "tenant "+QuoteName(q.Tenant))
	}
	if t.target.Job != "" || t.target.Decision != 0 {
		all = append(all, t.target.targetWords())
	}
	return all
}

// parseWithPointer parses a question with its pointer replaced by what it stands for. A
// query without a time takes the window of the last one.
func (t *Conversation) parseWithPointer(l *Parser, question string) (Query, []Typo, bool) {
	p, ok := findPointer(question)
	if !ok {
		return Query{}, nil, false
	}
	for _, subject := range t.pointerTargets(p) {
		text := strings.TrimSpace(p.before + " " + subject + " " + p.after)
		q, typos, back := l.ParseQuestion(text)
		if back != nil {
			continue
		}
		if q.To == 0 && q.At == 0 && t.last.To != 0 && p.word != "it" && p.word != "its" && takesTime(q) {
			q.From, q.To = t.last.From, t.last.To
		}
		return q, typos, true
	}
	return Query{}, nil, false
}

// A pointer is a word of a question that refers to something in an earlier question.
type pointer struct {
	word   string
	before string // the question up to it
	after  string // and from there on
}

// findPointer returns the first word of a question that refers to an earlier question.
func findPointer(question string) (p pointer, ok bool) {
	all := strings.Fields(question)
	word := func(i int) string {
		if i < 0 || i >= len(all) {
			return ""
		}
		return strings.ToLower(strings.Trim(all[i], "?.,!;:"))
	}
	for i := range all {
		w, prev, next := word(i), word(i-1), word(i+1)
		p = pointer{w, strings.Join(all[:i], " "), strings.Join(all[i+1:], " ")}
		ends := next == "" || strings.ContainsAny(all[i][len(all[i])-1:], "?.,!;:")
		switch {
		case next == "all" || next == "in" && (word(i+2) == "total" || word(i+2) == "all"), w == "it" && (prev == "make" || prev == "made"):
			// "how much is that in total", "who did not make it"
		case slices.Contains(listed("personal-pointers"), w):
			return p, true
		case !slices.Contains(listed("demonstrative-pointers"), w):
		case slices.Contains(listed("pointer-leads"), prev) && (ends || slices.Contains(listed("pointer-followers"), next)),
			slices.Contains(listed("auxiliary-verbs"), prev) && slices.Contains(listed("action-verbs"), next),
			i == 0 && slices.Contains(listed("pointer-followers"), next):
			return p, true
		}
	}
	return p, false
}

// checkPointer returns a clarification if a word of the question refers to something that
// the question does not name. Dropping the word would answer another question.
func (l *Parser) checkPointer(question string, q Query) *Clarification {
	p, ok := findPointer(question)
	if !ok || q.Job != "" || q.Decision != 0 {
		return nil
	}
	if (p.word == "it" || p.word == "its") && !strings.HasSuffix(strings.ToLower(p.before), " of") && !english.isOfKind(q, "of-something") {
		return nil
	}
	r := &reading{}
	tokens := l.index.splitTokens(p.before)
	if r.readTokens(l, tokens) != nil || slices.ContainsFunc(tokens, func(t token) bool { return len(t.names) > 0 }) {
		return nil
	}
	if slices.Contains(listed("personal-pointers")[1:], p.word) {
		for _, noun := range []string{"jobs", "sites", "tenants", "bids", "policy", "who"} {
			if r.concepts.hasConcept(noun) || strings.Contains(p.before, "anything") || q.Tenant != "" {
				return nil // "jobs that missed their deadline"
			}
		}
	}
	return newClarification("ambiguous", "What does %q stand for? Name a job, a decision, a site or a tenant.", p.word)
}
