package query

import "github.com/gridbid/gridbid/explain/ask"

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
