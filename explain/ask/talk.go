package ask

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Talk reads questions that may lean on those before them. The query of one says
// in full what it leans on. The zero Talk has nothing before it.
type Talk struct {
	last     Query    // that was answered
	target   Query    // the job or decision that was last spoken of
	readings []string // that were offered instead of an answer to the last
}

// After has the talk lean on a query that was answered.
func (t *Talk) After(q Query) {
	t.last, t.readings = q, nil
	if q.Job != "" || q.Decision != 0 {
		t.target = Query{Job: q.Job, Decision: q.Decision}
	}
}

// Offered has the talk know between which readings the next number chooses.
func (t *Talk) Offered(readings []string) { t.readings = readings }

// Chosen returns the reading that a text chooses by its number, or the text.
func (t *Talk) Chosen(text string) string {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(t.readings) {
		return t.readings[n-1]
	}
	return text
}

// markers begin a question that changes one thing of the one before.
var markers = []string{"and what about", "and how about", "what about", "how about", "same for", "the same for", "and for", "and at", "and on", "and", "or", "also", "then"}

// pronouns stand for the job or the decision that was spoken of.
var pronouns = []string{"it", "its", "that job", "this job", "the job", "that decision", "this decision", "that one", "this one"}

// Read reads a question with what it leans on; else as [Listener.Read] does.
func (t *Talk) Read(l *Listener, question string) (Query, []Slip, *Back) {
	if back := tooLong(question); back != nil {
		return Query{}, nil, back
	}
	p, _ := points(question)
	several := slices.Contains(many, p.word)
	if q, ok := t.changed(l, question); ok && !several {
		return q, nil, nil
	}
	if q, slips, ok := t.meant(l, question); ok {
		return q, slips, nil
	}
	known := t.target.Job != "" || t.target.Decision != 0
	if text, found := pronounced(question, t.target); found && known {
		if q, slips, back := l.Read(text); back == nil {
			return q, slips, nil
		}
	}
	q, slips, back := l.Read(question)
	if back == nil {
		return q, slips, nil
	}
	if q, ok := t.swapped(l, question); ok && !several { // "at 13:00?", "of vision?"
		return q, nil, nil
	}
	if back.lacks == "JOB" && known && !says(question, severalJobs) {
		if q, slips, again := l.Read(question + " for " + t.target.target()); again == nil && !(q.Ask == "saved" && says(question, everybody)) {
			return q, slips, nil
		}
	}
	if back.lacks == "SITE" && t.last.Site != "" {
		if q, slips, again := l.Read(question + " at site " + Quote(t.last.Site)); again == nil {
			return q, slips, nil
		}
	}
	return Query{}, nil, back
}

// severalJobs and everybody are words of a question that is not about one job.
var (
	severalJobs = strings.Fields("jobs")
	everybody   = strings.Fields("we us our all total")
)

// says reports whether a question has one of some words.
func says(question string, words []string) bool {
	return slices.ContainsFunc(strings.Fields(strings.ToLower(question)), func(w string) bool { return slices.Contains(words, strings.Trim(w, "?.,!;:")) })
}

// subjects are what a pointer may stand for, the likeliest first, as words of a
// question: of several things only a set that was just counted.
func (t *Talk) subjects(p pointer) (all []string) {
	q := t.last
	if slices.Contains(many, p.word) {
		if q.Ask == "jobs" {
			all = append(all, "jobs"+q.part("site")+q.part("tenant"))
		}
		return all
	}
	switch {
	case q.Job != "" || q.Decision != 0:
		all = append(all, q.target())
	case q.Site != "" && q.Tenant == "" && q.Other == "":
		all = append(all, "site "+Quote(q.Site))
	case q.Tenant != "" && q.Site == "":
		all = append(all, "tenant "+Quote(q.Tenant))
	}
	if t.target.Job != "" || t.target.Decision != 0 {
		all = append(all, t.target.target())
	}
	return all
}

// meant reads a question with what its pointer stands for in the pointer's place,
// in the time that was spoken of.
func (t *Talk) meant(l *Listener, question string) (Query, []Slip, bool) {
	p, ok := points(question)
	if !ok {
		return Query{}, nil, false
	}
	for _, subject := range t.subjects(p) {
		text := strings.TrimSpace(p.before + " " + subject + " " + p.after)
		q, slips, back := l.Read(text)
		if back != nil {
			continue
		}
		if q.To == 0 && q.At == 0 && t.last.To != 0 && p.word != "it" && p.word != "its" && timed(q) {
			q.From, q.To = t.last.From, t.last.To
		}
		return q, slips, true
	}
	return Query{}, nil, false
}

// pronounced puts what was spoken of in the place of the first pronoun, and
// reports whether there is one.
func pronounced(question string, target Query) (string, bool) {
	all := strings.Fields(question)
	for i := range all {
		for _, w := range pronouns {
			n := len(strings.Fields(w))
			if i+n <= len(all) && strings.EqualFold(strings.Trim(strings.Join(all[i:i+n], " "), "?.,!"), w) {
				return strings.Join(slices.Replace(all, i, i+n, target.target()), " "), true
			}
		}
	}
	return question, false
}

// changed reads a question that only says what is otherwise than in the last:
// another time, site, tenant, job, metric or split. The whole has to be a
// question that is read as itself.
func (t *Talk) changed(l *Listener, question string) (Query, bool) {
	low := strings.ToLower(question)
	i := slices.IndexFunc(markers, func(m string) bool { return strings.HasPrefix(low, m+" ") })
	if t.last.Ask == "" || i < 0 {
		return Query{}, false
	}
	return t.swapped(l, question[len(markers[i])+1:])
}

// swapped puts what a few words say into the last query; false if one of them
// says nothing that it has a place for.
func (t *Talk) swapped(l *Listener, words string) (Query, bool) {
	r := &reading{}
	if back := r.read(l, l.index.split(words)); t.last.Ask == "" || back != nil || len(r.unknown) > 0 || len(r.numbers) > 1 || r.quantities() > 1 || r.splits() > 1 {
		return Query{}, false // of two, one would be dropped
	}
	q := t.last
	for _, word := range r.said {
		if !swap(&q, l, word, r) {
			return Query{}, false
		}
	}
	if !r.time(&q, l) || r.when.loose(words) {
		return Query{}, false
	}
	again, _, back := l.Read(q.String())
	return q, back == nil && reflect.DeepEqual(again, q) && q.String() != t.last.String()
}

// swap puts one word's meaning into a query; false if it changes nothing there.
func swap(q *Query, l *Listener, word []string, r *reading) bool {
	if slices.Contains(word, "now") {
		q.At = 0
		return q.To == 0
	}
	for _, c := range word {
		switch c {
		case "_", "which":
			return true
		case "SITE":
			q.Site = r.slots.Site
			return true
		case "TENANT":
			q.Tenant = r.slots.Tenant
			return true
		case "JOB", "DEC":
			q.Job, q.Decision = r.slots.Job, r.slots.Decision
			return true
		case "POLICY":
			q.Policies = r.slots.Policies
			return true
		case "NUM":
			q.Number = r.numbers[len(r.numbers)-1]
			return true
		case "DUR":
			q.Long = cmp.Or(r.slots.Long, q.Long)
			return true
		case "carbon", "energy", "cost":
			q.Metric = c
			return true
		case "bysite", "bytenant", "byhour":
			q.By = c[2:]
			return true
		case "daybefore":
			return dayBack(q, l)
		}
	}
	return len(word) == 0
}

// dayBack moves a query to the day before.
func dayBack(q *Query, l *Listener) bool {
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

// time puts the time that a question names into a query.
func (r *reading) time(q *Query, l *Listener) bool {
	at, from, to, ok := r.when.window(l)
	if !ok || at == 0 && to == 0 {
		return ok
	}
	q.At, q.From, q.To = at, from, to
	return true
}
