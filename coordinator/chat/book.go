package chat

import "github.com/gridbid/gridbid/coordinator/record"

// Book returns the record of the run, with every round of every job in full.
// It is the Log's own: read it, and add to the Log.
func (l *Log) Book() *record.Book { return l.book }

// After has the session lean on a query as if it had just been answered, for
// those who keep no session between questions.
func (s *Session) After(q Query) {
	s.last, s.readings = q, nil
	if q.Job != "" || q.Decision != 0 {
		s.target = Query{Job: q.Job, Decision: q.Decision}
	}
}
