package history

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Coverage is the time that a stream covers.
//
// In a replay all parties share one clock, so it is the time of all messages. In
// the log of a live coordinator (Live), parties have clocks of their own, and the
// clock of one site may be wrong. There only the coordinator's times, or a time
// that two sites confirm, extend it.
type Coverage struct {
	First, Last protocol.Time
	// Live says that a coordinator's recorder wrote the log: messages stand in the
	// order in which the coordinator took them in, whatever their times.
	Live bool
	// Since is when the newest incarnation of the coordinator began, if the one
	// before it wrote another log: only what came after is here in full. 0: all is here.
	Since protocol.Time
	// LastArrivalDay is the midnight (UTC) before the latest arrival of a submitted job.
	LastArrivalDay protocol.Time
}

// span folds the time that is covered.
type span struct {
	Coverage
	ofCoordinator struct{ first, last protocol.Time }
	lastOf        map[string]protocol.Time // by site, or by party without a site
	incarnation   uint64                   // of the coordinator whose recorder wrote last
}

// Coverage returns the time that the stream covers so far. First and Last stay 0 in a live view
// (Config.Live), which shows neither.
func (b *History) Coverage() Coverage { return b.span.Coverage }

// beginIncarnation notes that a coordinator's recorder writes of one of its
// incarnations. If the one before is missing, it was another's and is in another log.
func (s *span) beginIncarnation(at protocol.Time, number uint64) {
	if number > s.incarnation+1 {
		s.Since = at
	}
	s.incarnation = max(s.incarnation, number)
}

// extendSpan extends the covered time by a message.
func (s *span) extendSpan(m protocol.Message) {
	if m.At == 0 { // a compacted log has no time of its own
		return
	}
	// Parties of the coordinator's process have its clock. What an operator does may be all that
	// happens for hours, and an answer must show it.
	if m.From == protocol.Coordinator || m.From == protocol.InputRecorder || m.From == protocol.SiteMonitor || m.From == protocol.OperatorAPI {
		widenRange(&s.ofCoordinator.first, &s.ofCoordinator.last, m.At)
	} else {
		if s.lastOf == nil {
			s.lastOf = make(map[string]protocol.Time)
		}
		key := cmp.Or(m.From.SiteName(), string(m.From))
		s.lastOf[key] = max(s.lastOf[key], m.At)
	}
	if !s.Live {
		widenRange(&s.First, &s.Last, m.At)
		return
	}
	s.First, s.Last = s.ofCoordinator.first, s.ofCoordinator.last
	// The second newest time of all senders: at least two of them have reached it.
	if all := slices.Sorted(maps.Values(s.lastOf)); len(all) > 1 {
		s.Last = max(s.Last, all[len(all)-2])
	}
}

// extendArrivals notes when a submitted job arrived.
func (s *span) extendArrivals(arrival protocol.Time) {
	s.LastArrivalDay = max(s.LastArrivalDay, arrival.Floor(24*time.Hour))
}

// widenRange extends [first, last] to hold an instant; a first of 0 is unset.
func widenRange(first, last *protocol.Time, at protocol.Time) {
	if *first == 0 || at < *first {
		*first = at
	}
	*last = max(*last, at)
}
