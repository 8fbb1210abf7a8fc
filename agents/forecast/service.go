package forecast

import "github.com/gridbid/gridbid/protocol"

// A Bulletin is a forecast that a service issued at one time for coming hours.
type Bulletin struct {
	Issued protocol.Time
	Points []protocol.Point // not empty; hours ascend
}

// A Service publishes bulletins when they are issued, each once. Its owner sends
// them as Signal messages that are marked as forecasts (Guess).
type Service struct {
	pending []Bulletin // Invariant: ascending by Issued; those not published yet
}

// NewService returns a service that has published nothing yet. Bulletins must ascend
// by Issued.
func NewService(bulletins []Bulletin) *Service { return &Service{bulletins} }

// Publish returns the points of the next bulletin that was issued by now, or
// nil. A later bulletin's forecast of an hour replaces an earlier one's.
func (s *Service) Publish(now protocol.Time) []protocol.Point {
	if len(s.pending) == 0 || s.pending[0].Issued > now {
		return nil
	}
	points := s.pending[0].Points
	s.pending = s.pending[1:]
	return points
}

// Due returns when Publish will return more points, or 0 for never.
func (s *Service) Due() protocol.Time {
	if len(s.pending) == 0 {
		return 0
	}
	return s.pending[0].Issued
}
