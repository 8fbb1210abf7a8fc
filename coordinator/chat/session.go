package chat

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Session is a talk about a run: a question may lean on those before it. What
// it leans on is said again in full by the answer's reading.
type Session struct {
	log      *Log
	last     Query    // that was answered
	target   Query    // the job or decision that was last spoken of
	readings []string // that were offered by the last answer
}

// Talk begins a session.
func (l *Log) Talk() *Session { return &Session{log: l} }

// On has the session go on with a newer record of the same run.
func (s *Session) On(l *Log) { s.log = l }

// markers begin a question that changes one thing of the one before.
var markers = []string{"and what about", "and how about", "what about", "how about", "same for", "the same for", "and for", "and at", "and on", "and", "or", "also", "then"}

// pronouns stand for the job or the decision that was spoken of.
var pronouns = []string{"it", "its", "that job", "this job", "the job", "that decision", "this decision", "that one", "this one"}

// Ask answers a question. A number chooses one of the readings that were
// offered.
func (s *Session) Ask(question string) Answer {
	question = strings.TrimSpace(question)
	if n, err := strconv.Atoi(question); err == nil && n >= 1 && n <= len(s.readings) {
		question = s.readings[n-1]
	}
	if a, ok := s.several(question); ok {
		return a
	}
	return s.alone(question)
}

// alone answers one question, and remembers it.
func (s *Session) alone(question string) Answer {
	a := inDollars(question, s.ask(question))
	s.readings = nil
	if a.Kind == "ambiguous" {
		s.readings = a.Readings
	}
	if a.Query != nil && (a.Kind == "answer" || a.Kind == "absent" || a.Kind == "refused") {
		s.last = *a.Query
		if a.Query.Job != "" || a.Query.Decision != 0 {
			s.target = Query{Job: a.Query.Job, Decision: a.Query.Decision}
		}
	}
	return a
}

func (s *Session) ask(question string) Answer {
	p, _ := points(question)
	several := slices.Contains(many, p.word)
	if q, ok := s.changed(question); ok && !several {
		return s.log.Answer(q)
	}
	if q, ok := s.meant(question); ok {
		return s.log.Answer(q)
	}
	known := s.target.Job != "" || s.target.Decision != 0
	if text, found := pronounced(question, s.target); found && known {
		if q, back := s.log.Parse(text); back == nil {
			return s.log.Answer(q)
		}
	}
	q, back := s.log.Parse(question)
	if back == nil {
		return s.log.Answer(q)
	}
	if q, ok := s.swapped(question); ok && !several { // "at 13:00?", "of vision?"
		return s.log.Answer(q)
	}
	if back.lacks == "JOB" && known {
		if q, again := s.log.Parse(question + " for " + s.target.target()); again == nil {
			return s.log.Answer(q)
		}
	}
	if back.lacks == "SITE" && s.last.Site != "" {
		if q, again := s.log.Parse(question + " at site " + quote(s.last.Site)); again == nil {
			return s.log.Answer(q)
		}
	}
	return *back
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
func (s *Session) changed(question string) (Query, bool) {
	low := strings.ToLower(question)
	i := slices.IndexFunc(markers, func(m string) bool { return strings.HasPrefix(low, m+" ") })
	if s.last.Ask == "" || i < 0 {
		return Query{}, false
	}
	return s.swapped(question[len(markers[i])+1:])
}

// swapped puts what a few words say into the last query; false if one of them
// says nothing that it has a place for.
func (s *Session) swapped(words string) (Query, bool) {
	r := &reading{}
	if back := r.read(s.log, s.log.names().split(words)); s.last.Ask == "" || back != nil || len(r.unknown) > 0 {
		return Query{}, false
	}
	q := s.last
	for _, word := range r.said {
		if !s.swap(&q, word, r) {
			return Query{}, false
		}
	}
	if !s.time(&q, r) {
		return Query{}, false
	}
	again, back := s.log.Parse(q.String())
	return q, back == nil && again.String() == q.String() && q.String() != s.last.String()
}

// swap puts one word's meaning into a query; false if it changes nothing there.
func (s *Session) swap(q *Query, word []string, r *reading) bool {
	for _, c := range word {
		switch c {
		case "_", "which", "now":
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
			q.Long = or(r.slots.Long, q.Long)
			return true
		case "carbon", "energy", "cost":
			q.Metric = c
			return true
		case "bysite", "bytenant", "byhour":
			q.By = c[2:]
			return true
		case "daybefore":
			return s.back(q)
		}
	}
	return len(word) == 0
}

// back moves a query to the day before.
func (s *Session) back(q *Query) bool {
	day := 24 * time.Hour
	switch {
	case q.To != 0:
		q.From, q.To = q.From.Add(-day), q.To.Add(-day)
	case q.At != 0:
		q.At = q.At.Add(-day)
	default:
		q.From, q.To = s.log.today().Add(-day), s.log.today()
	}
	return true
}

// time puts the time that a question names into a query.
func (s *Session) time(q *Query, r *reading) bool {
	at, from, to, ok := r.when.window(s.log)
	if !ok || at == 0 && to == 0 {
		return ok
	}
	q.At, q.From, q.To = at, from, to
	return true
}
