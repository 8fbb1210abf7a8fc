package ask

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Conversation parses questions that may refer to the ones before them. The query of such
// a question holds in full what it refers to. The zero Conversation has no earlier question.
type Conversation struct {
	last     Query    // the last query that was answered
	target   Query    // the job or decision that was named last
	readings []string // the readings that the last clarification offered
}

// ContinueFrom makes q the query that the next question may refer to.
func (t *Conversation) ContinueFrom(q Query) {
	t.last, t.readings = q, nil
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
var changeMarkers = []string{"and what about", "and how about", "what about", "how about", "same for", "the same for", "and for", "and at", "and on", "and", "or", "also", "then"}

// pronouns stand for the job or the decision that was named last.
var pronouns = []string{"it", "its", "that job", "this job", "the job", "that decision", "this decision", "that one", "this one"}

// ParseQuestion parses a question together with what it refers to; where that gives no
// query, it returns what [Parser.ParseQuestion] returns.
func (t *Conversation) ParseQuestion(l *Parser, question string) (Query, []Typo, *Clarification) {
	if back := tooLong(question); back != nil {
		return Query{}, nil, back
	}
	p, _ := findPointer(question)
	several := slices.Contains(pluralPointers, p.word)
	if q, ok := t.parseChange(l, question); ok && !several {
		return q, nil, nil
	}
	if q, typos, ok := t.parseWithPointer(l, question); ok {
		return q, typos, nil
	}
	known := t.target.Job != "" || t.target.Decision != 0
	if text, found := replacePronoun(question, t.target); found && known {
		if q, typos, back := l.ParseQuestion(text); back == nil {
			return q, typos, nil
		}
	}
	q, typos, back := l.ParseQuestion(question)
	if back == nil {
		return q, typos, nil
	}
	if q, ok := t.applyChange(l, question); ok && !several { // "at 13:00?", "of vision?"
		return q, nil, nil
	}
	if back.missingSlot == "JOB" && known && !containsAnyWord(question, severalJobsWords) {
		if q, typos, again := l.ParseQuestion(question + " for " + t.target.targetWords()); again == nil && !(q.Ask == "saved" && containsAnyWord(question, collectiveWords)) {
			return q, typos, nil
		}
	}
	if back.missingSlot == "SITE" && t.last.Site != "" {
		if q, typos, again := l.ParseQuestion(question + " at site " + QuoteName(t.last.Site)); again == nil {
			return q, typos, nil
		}
	}
	return Query{}, nil, back
}

// severalJobsWords and collectiveWords are words of a question that is not about one job.
var (
	severalJobsWords = strings.Fields("jobs")
	collectiveWords  = strings.Fields("we us our all total")
)

// containsAnyWord reports whether a question has one of some words.
func containsAnyWord(question string, words []string) bool {
	return slices.ContainsFunc(strings.Fields(strings.ToLower(question)), func(w string) bool { return slices.Contains(words, strings.Trim(w, "?.,!;:")) })
}

// pointerTargets are what a pointer may stand for, the likeliest first, as words of a
// question: of several things only a set that was just counted.
func (t *Conversation) pointerTargets(p pointer) (all []string) {
	q := t.last
	if slices.Contains(pluralPointers, p.word) {
		if q.Ask == "jobs" {
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

// replacePronoun replaces the first pronoun by the job or decision that was named last, and
// reports whether there is one.
func replacePronoun(question string, target Query) (string, bool) {
	all := strings.Fields(question)
	for i := range all {
		for _, w := range pronouns {
			n := len(strings.Fields(w))
			if i+n <= len(all) && strings.EqualFold(strings.Trim(strings.Join(all[i:i+n], " "), "?.,!"), w) {
				return strings.Join(slices.Replace(all, i, i+n, target.targetWords()), " "), true
			}
		}
	}
	return question, false
}

// parseChange parses a question that names only what differs from the last one:
// another time, site, tenant, job, metric or split. The whole has to be a
// question that is read as itself.
func (t *Conversation) parseChange(l *Parser, question string) (Query, bool) {
	low := strings.ToLower(question)
	i := slices.IndexFunc(changeMarkers, func(m string) bool { return strings.HasPrefix(low, m+" ") })
	if t.last.Ask == "" || i < 0 {
		return Query{}, false
	}
	return t.applyChange(l, question[len(changeMarkers[i])+1:])
}

// applyChange sets the fields that a few words name in the last query. It returns false if
// one of the words has no field in that query.
func (t *Conversation) applyChange(l *Parser, words string) (Query, bool) {
	r := &reading{}
	if back := r.readTokens(l, l.index.splitTokens(words)); t.last.Ask == "" || back != nil || len(r.unknown) > 0 || len(r.numbers) > 1 || r.countQuantities() > 1 || r.countSplits() > 1 {
		return Query{}, false // of two, one would be dropped
	}
	q := t.last
	for _, word := range r.concepts {
		if !applyWord(&q, l, word, r) {
			return Query{}, false
		}
	}
	if !r.setQueryTime(&q, l) || r.times.isTwoTimes(words) {
		return Query{}, false
	}
	again, _, back := l.ParseQuestion(q.String())
	return q, back == nil && reflect.DeepEqual(again, q) && q.String() != t.last.String()
}

// applyWord sets the field that one word names in a query; false if it names none.
func applyWord(q *Query, l *Parser, word []string, r *reading) bool {
	if slices.Contains(word, "now") {
		q.At = 0
		return q.To == 0
	}
	for _, c := range word {
		switch c {
		case "_", "which":
			return true
		case "SITE":
			q.Site = r.query.Site
			return true
		case "TENANT":
			q.Tenant = r.query.Tenant
			return true
		case "JOB", "DEC":
			q.Job, q.Decision = r.query.Job, r.query.Decision
			return true
		case "POLICY":
			q.Policies = r.query.Policies
			return true
		case "NUM":
			q.Number = r.numbers[len(r.numbers)-1]
			return true
		case "DUR":
			q.Long = cmp.Or(r.query.Long, q.Long)
			return true
		case "carbon", "energy", "cost":
			q.Metric = c
			return true
		case "bysite", "bytenant", "byhour":
			q.By = c[2:]
			return true
		case "daybefore":
			return moveToDayBefore(q, l)
		}
	}
	return len(word) == 0
}

// moveToDayBefore moves a query to the day before.
func moveToDayBefore(q *Query, l *Parser) bool {
	day := 24 * time.Hour
	switch {
	case q.To != 0:
		q.From, q.To = q.From.Add(-day), q.To.Add(-day)
	case q.At != 0:
		q.At = q.At.Add(-day)
	default:
		q.From, q.To = l.Today.Add(-day), l.Today
	}
	return true
}

// setQueryTime sets the time of a query to the one that the question names; false if its
// times make no single instant or window.
func (r *reading) setQueryTime(q *Query, l *Parser) bool {
	at, from, to, ok := r.times.timeWindow(l)
	if !ok || at == 0 && to == 0 {
		return ok
	}
	q.At, q.From, q.To = at, from, to
	return true
}
