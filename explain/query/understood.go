package query

import "github.com/gridbid/gridbid/explain/ask"

// Names returns the names that a question about the run may hold.
func (l *Log) Names() ask.Run { return l.listen().Run }

// Names returns the names that a question about the run may hold.
func (s *Session) Names() ask.Run { return s.log.Names() }

// Understood answers a query that a model made of a question, and remembers it as if
// the question had been read by the grammar. by names the model.
func (s *Session) Understood(q ask.Query, by string) Answer {
	a := s.log.Answer(s.log.settled(q))
	if a.Query != nil && (a.Kind == "answer" || a.Kind == "absent") {
		a.ReadBy = "model " + name(by)
		s.talk.After(*a.Query)
	}
	return a
}
