package query

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// A Session is a conversation about a run: a question may refer to the ones before it. The
// answer's reading spells out in full what the question refers to.
type Session struct {
	dataset      *Dataset
	conversation ask.Conversation
}

// NewSession begins a session.
func (l *Dataset) NewSession() *Session { return &Session{dataset: l} }

// UseDataset continues the session with a newer record of the same run.
func (s *Session) UseDataset(l *Dataset) { s.dataset = l }

// ContinueFrom makes q the query that the next question may refer to, for callers that keep no
// session between questions.
func (s *Session) ContinueFrom(q ask.Query) { s.conversation.ContinueFrom(q) }

// AnswerQuestion answers a question in plain words, or several that one text asks.
func (l *Dataset) AnswerQuestion(text string) Answer { return l.NewSession().AnswerQuestion(text) }

// AnswerQuestion answers a question, or several. A number chooses one of the readings that
// were offered.
func (s *Session) AnswerQuestion(text string) Answer {
	text = s.conversation.ResolveChoice(strings.TrimSpace(text))
	if a, ok := s.answerSeveral(text); ok {
		return a
	}
	return s.answerOne(text)
}

// answerOne answers one question, and keeps its query for the next.
func (s *Session) answerOne(text string) Answer {
	q, typos, back := s.conversation.ParseQuestion(s.dataset.questionParser(), text)
	if s.conversation.SetReadings(nil); back != nil {
		if back.Kind == "ambiguous" {
			s.conversation.SetReadings(back.Readings)
		}
		return *answerInstead(back)
	}
	a := s.dataset.AnswerQuery(s.dataset.resolveSite(q))
	if a.Kind == "ambiguous" {
		s.conversation.SetReadings(a.Readings)
	}
	if a.Query != nil && (a.Kind == "answer" || a.Kind == "absent" || a.Kind == "refused") {
		s.conversation.ContinueFrom(*a.Query)
		s.conversation.SetPlace(s.dataset.placeOf(a))
		s.conversation.SetRows(a.listedJobs())
	}
	for _, typo := range typos {
		if a.Read != "" {
			a.addAssumption(fmt.Sprintf("%q was taken for %q", format.CleanText(typo.Word), typo.Known))
		}
	}
	return inDollars(text, a)
}

// listedJobs returns the jobs that an answer lists, in order.
func (a Answer) listedJobs() (all []protocol.JobID) {
	if a.result == nil || len(a.result.Head) == 0 || a.result.Head[0] != "job" {
		return nil
	}
	for _, cells := range a.result.Rows {
		name, _ := cells[0].(namePart)
		all = append(all, protocol.JobID(name))
	}
	return all
}

// placeOf returns the one site that an answer is about: that of its query, or the only one that its
// sentences name; "" if there is none.
func (l *Dataset) placeOf(a Answer) (place string) {
	if a.Query.Site != "" || a.result == nil {
		return a.Query.Site
	}
	sites := l.history.ReportingSiteNames()
	for _, s := range a.result.Sentences {
		for p := range eachPart(s) {
			name, _ := p.(namePart)
			switch {
			case !slices.Contains(sites, string(name)) || place == string(name):
			case place != "":
				return "" // one of several
			default:
				place = string(name)
			}
		}
	}
	return place
}

// answerSeveral answers a text that asks several things. Each is answered as if it were
// asked alone, and may refer to those before it. If one of them has no answer, the session is
// reset and the text is answered as a whole.
func (s *Session) answerSeveral(text string) (Answer, bool) {
	if a, ok := s.answerJoined(text); ok {
		return a, true
	}
	parts := s.dataset.questionParser().SplitQuestions(text)
	if len(parts) < 2 {
		return Answer{}, false
	}
	before := *s
	var all []Answer
	for i, p := range parts {
		a := Answer{}
		if i > 0 { // it may go on from the one before: "and how many waiting"
			a = s.answerOne("and " + p)
		}
		if a.Kind != "answer" && a.Kind != "absent" {
			a = s.answerOne(p)
		}
		if a.Kind != "answer" && a.Kind != "absent" || a.Query == nil {
			*s = before
			return Answer{}, false
		}
		all = append(all, a)
	}
	all[0].More = all[1:]
	return all[0], true
}

// answerJoined answers a question that asks for several things of one kind. If one of them has no answer, it has none.
func (s *Session) answerJoined(text string) (Answer, bool) {
	var all []Answer
	queries := s.conversation.ParseJoined(s.dataset.questionParser(), text)
	for _, q := range queries {
		a := s.dataset.AnswerQuery(s.dataset.resolveSite(q))
		if a.Kind != "answer" && a.Kind != "absent" || a.Query == nil {
			return Answer{}, false
		}
		all = append(all, inDollars(text, a))
	}
	if len(all) > 0 {
		s.conversation.ContinueFromJoined(queries)
		all[0].More = all[1:]
		return all[0], true
	}
	return Answer{}, false
}

// ParseQuestion reads a question as a query. If it cannot, it returns what to say
// instead: that a word or a name is not known, or which readings there are.
func (l *Dataset) ParseQuestion(text string) (ask.Query, *Answer) {
	q, _, back := l.questionParser().ParseQuestion(text)
	if back != nil {
		return ask.Query{}, answerInstead(back)
	}
	return l.resolveSite(q), nil
}

// questionParser returns a parser that knows the names read so far.
func (l *Dataset) questionParser() *ask.Parser {
	if l.parser != nil {
		return l.parser
	}
	run := ask.RunContext{
		Sites: l.history.ReportingSiteNames(), Tenants: l.history.TenantNames(), Jobs: l.jobNames(), Models: l.modelNames(), Policies: l.setup.Policies,
		First: l.firstTime(), Last: l.lastTime(), Today: l.todayMidnight(), Notable: l.exampleJobs,
		Decided: func(seq uint64) bool { _, ok := l.history.DecisionByNumber(seq); return ok },
	}
	for _, t := range l.totals {
		run.Replayed = append(run.Replayed, t.Policy)
	}
	l.parser = ask.NewParser(run)
	return l.parser
}

// resolveSite sets the site of a break-even query that names two sites: the one that did not
// win, which only the record knows.
func (l *Dataset) resolveSite(q ask.Query) ask.Query {
	if q.Ask == "breakeven" && q.Other != "" {
		if l.checkNames(q) == nil && l.caseOf(q).site == q.Site {
			q.Site = q.Other
		}
		q.Other = ""
	}
	return q
}

// answerInstead returns a clarification as an answer.
func answerInstead(back *ask.Clarification) *Answer {
	return &Answer{Kind: back.Kind, Text: back.Text, Readings: back.Readings}
}

// inEuros matches words for a currency that no figure is in.
var inEuros = regexp.MustCompile(`(?i)€|\b(?:euros?|eur)\b`)

// inDollars adds to the answer of a question in euros that its figures are in dollars, because
// the record has no exchange rate.
func inDollars(text string, a Answer) Answer {
	money := slices.ContainsFunc(a.Figures, func(f Figure) bool { return f.Unit == "microdollars" || f.Unit == "dollars-per-tonne" })
	if money && inEuros.MatchString(text) {
		a.addAssumption("euros were asked for; figures are in dollars, and no exchange rate is known")
	}
	return a
}

// KnownNames returns the names that a question about the run may hold.
func (l *Dataset) KnownNames() ask.RunContext { return l.questionParser().RunContext }

// KnownNames returns the names that a question about the run may hold.
func (s *Session) KnownNames() ask.RunContext { return s.dataset.KnownNames() }

// AnswerModelQuery answers a query that a model made of a question, and remembers it as if
// the question had been read by the grammar. by names the model.
func (s *Session) AnswerModelQuery(q ask.Query, by string) Answer {
	a := s.dataset.AnswerQuery(s.dataset.resolveSite(q))
	if a.Query != nil && (a.Kind == "answer" || a.Kind == "absent") {
		a.ReadBy = "model " + cleanName(by)
		s.conversation.ContinueFrom(*a.Query)
	}
	return a
}

// exampleQuestions has a question of every kind, for the help answer.
var exampleQuestions = []string{
	"why job NAME", "why not SITE for job NAME", "which sites refused job NAME", "what would job NAME have cost elsewhere",
	"what did waiting save for job NAME", "what should i change for job NAME", "what is ahead of job NAME",
	"carbon by site", "cost by tenant", "top 5 jobs by carbon", "late jobs", "average wait", "which jobs wait at 13:45",
	"greenest site at 12:00", "free gpus at 12:00", "would 8 gpus fit at 12:00", "forecast SITE at 12:00",
	"when should i submit 8 hours in the next 1 day", "what happened at 13:45", "silent agents", "bid error",
	"compare policies", "fair share by tenant", "rules in force", "summary",
}

// helpAnswer lists example questions.
func helpAnswer() *Answer {
	return &Answer{Kind: "answer", Read: "what can be asked", Readings: exampleQuestions, Text: []string{"Ask in plain words. Names are those of the run; times are UTC: \"at 13:45\", \"on 2026-03-11\", \"from 12:00 to 14:00\", \"in the last 3 hours\". D-14 is a decision. For example:"}}
}
