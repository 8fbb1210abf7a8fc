package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
)

// A Session is a talk about a run: a question may lean on those before it. What
// it leans on is said again in full by the answer's reading.
type Session struct {
	log  *Log
	talk ask.Talk
}

// Talk begins a session.
func (l *Log) Talk() *Session { return &Session{log: l} }

// On has the session go on with a newer record of the same run.
func (s *Session) On(l *Log) { s.log = l }

// After has the session lean on a query as if it had just been answered, for
// those who keep no session between questions.
func (s *Session) After(q ask.Query) { s.talk.After(q) }

// Ask answers a question in plain words, or several that one text asks.
func (l *Log) Ask(text string) Answer { return l.Talk().Ask(text) }

// Ask answers a question, or several. A number chooses one of the readings that
// were offered.
func (s *Session) Ask(text string) Answer {
	text = s.talk.Chosen(strings.TrimSpace(text))
	if a, ok := s.several(text); ok {
		return a
	}
	return s.alone(text)
}

// alone answers one question, and remembers it.
func (s *Session) alone(text string) Answer {
	q, slips, back := s.talk.Read(s.log.listen(), text)
	if s.talk.Offered(nil); back != nil {
		if back.Kind == "ambiguous" {
			s.talk.Offered(back.Readings)
		}
		return *given(back)
	}
	a := s.log.Answer(s.log.settled(q))
	if a.Kind == "ambiguous" {
		s.talk.Offered(a.Readings)
	}
	if a.Query != nil && (a.Kind == "answer" || a.Kind == "absent" || a.Kind == "refused") {
		s.talk.After(*a.Query)
	}
	for _, slip := range slips {
		if a.Read != "" {
			a.assume(fmt.Sprintf("%q was taken for %q", format.CleanText(slip.Word), slip.Known))
		}
	}
	return inDollars(text, a)
}

// several answers a text that asks several things. Each is answered as if it were
// asked alone, and may lean on those before it; all of them have to be.
func (s *Session) several(text string) (Answer, bool) {
	parts := s.log.listen().Parts(text)
	if len(parts) < 2 {
		return Answer{}, false
	}
	before := *s
	var all []Answer
	for _, p := range parts {
		a := s.alone(p)
		if a.Kind != "answer" && a.Kind != "absent" || a.Query == nil {
			*s = before
			return Answer{}, false
		}
		all = append(all, a)
	}
	all[0].More = all[1:]
	return all[0], true
}

// Parse reads a question as a query. If it cannot, it returns what to say
// instead: that a word or a name is not known, or which readings there are.
func (l *Log) Parse(text string) (ask.Query, *Answer) {
	q, _, back := l.listen().Read(text)
	if back != nil {
		return ask.Query{}, given(back)
	}
	return l.settled(q), nil
}

// listen returns who reads questions by the names that are known now.
func (l *Log) listen() *ask.Listener {
	if l.listener != nil {
		return l.listener
	}
	run := ask.Run{
		Sites: l.book.ReportingSiteNames(), Tenants: l.book.TenantNames(), Jobs: l.book.JobIDs(), Policies: l.stage.Policies,
		First: l.first(), Last: l.last(), Today: l.today(), Notable: l.notable,
		Decided: func(seq uint64) bool { _, ok := l.book.DecisionByNumber(seq); return ok },
	}
	for _, t := range l.totals {
		run.Replayed = append(run.Replayed, t.Policy)
	}
	l.listener = ask.Listen(run)
	return l.listener
}

// settled settles what takes the record to settle: of two sites between which a
// price decides, the one that did not win is asked about.
func (l *Log) settled(q ask.Query) ask.Query {
	if q.Ask == "breakeven" && q.Other != "" {
		if l.check(q) == nil && l.matter(q).site == q.Site {
			q.Site = q.Other
		}
		q.Other = ""
	}
	return q
}

// given is what is said instead of an answer, as one.
func given(back *ask.Back) *Answer {
	return &Answer{Kind: back.Kind, Text: back.Text, Readings: back.Readings}
}

// euros are words for a currency that no figure is in.
var euros = strings.Fields("euro euros eur")

// inDollars has an answer to a question in euros say that its figures are in
// dollars: no exchange rate is on the record.
func inDollars(text string, a Answer) Answer {
	said := strings.Contains(text, "€") || slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz", c) }),
		func(w string) bool { return slices.Contains(euros, w) })
	money := slices.ContainsFunc(a.Figures, func(f Figure) bool { return f.Unit == "microdollars" || f.Unit == "dollars-per-tonne" })
	if said && money {
		a.assume("euros were asked for; figures are in dollars, and no exchange rate is known")
	}
	return a
}
