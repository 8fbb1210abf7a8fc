package forecast

import "github.com/gridbid/gridbid/protocol"

// A Bulletin is what a service said, at one time, of hours to come.
type Bulletin struct {
	Issued protocol.Time
	Points []protocol.Point // not empty; hours ascend
}

// A Service says bulletins when they are issued, each once. Its owner puts what it
// says into Signal messages that are marked as guesses.
type Service struct {
	said []Bulletin // Invariant: ascending by Issued; those still to say
}

// NewService returns a service that has said nothing yet. Bulletins ascend by the
// time at which they are issued.
func NewService(said []Bulletin) *Service { return &Service{said} }

// Publish returns the next bulletin that was issued by now, or nothing. What a
// later one says of an hour replaces what an earlier one said.
func (s *Service) Publish(now protocol.Time) []protocol.Point {
	if len(s.said) == 0 || s.said[0].Issued > now {
		return nil
	}
	points := s.said[0].Points
	s.said = s.said[1:]
	return points
}

// Due returns when Publish will have more to say, or 0 for never.
func (s *Service) Due() protocol.Time {
	if len(s.said) == 0 {
		return 0
	}
	return s.said[0].Issued
}
