package query

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A span is the time that a record covers: that of all that was said. On the
// ledger of a coordinator that runs, which its clerk writes, speakers have clocks
// of their own, and one that is wrong does not say what time it is. There the
// record begins with what the coordinator said first, and ends with what it said
// last, or two others.
type span struct {
	first, last protocol.Time
	own         struct{ first, last protocol.Time }
	others      map[string]protocol.Time // the last of each, by site
	live        bool
	life        uint64        // of the coordinator whose clerk wrote last
	since       protocol.Time // before that another led, or nothing was written; 0: all is here
}

// begun notes that a coordinator's clerk writes of one of its lives. The one before, if
// that was another's, is in another ledger.
func (s *span) begun(at protocol.Time, life uint64) {
	if life > s.life+1 {
		s.since = at
	}
	s.life = max(s.life, life)
}

// begins returns from when on a record has all that a coordinator heard. Of before it
// may have the jobs that the books kept.
func (s *span) begins() protocol.Time { return max(s.first, s.since) }

func (s *span) add(m protocol.Message) {
	s.live = s.live || m.From == protocol.Clerk
	if m.At == 0 { // a summary of books was said at no time
		return
	}
	switch who := m.From; {
	case who == protocol.Coordinator || who == protocol.Clerk:
		widen(&s.own.first, &s.own.last, m.At)
	default:
		if s.others == nil {
			s.others = make(map[string]protocol.Time)
		}
		key := cmp.Or(who.Site(), string(who))
		s.others[key] = max(s.others[key], m.At)
	}
	if !s.live {
		widen(&s.first, &s.last, m.At)
		return
	}
	s.first, s.last = s.own.first, s.own.last
	if all := slices.Sorted(maps.Values(s.others)); len(all) > 1 {
		s.last = max(s.last, all[len(all)-2])
	}
}

func widen(first, last *protocol.Time, at protocol.Time) {
	if *first == 0 || at < *first {
		*first = at
	}
	*last = max(*last, at)
}

// Span returns from when to when the record goes; zero without any.
func (l *Log) Span() (first, last protocol.Time) { return l.first, l.last }

// today returns the midnight before the last submission, as far as the record goes, for
// the jobs of a replay may run on for days; before the record's end if nothing was
// submitted, and of a federation that runs.
func (l *Log) today() protocol.Time {
	last := l.last.Floor(24 * time.Hour)
	if l.day == 0 || l.live {
		return last
	}
	return min(l.day, last)
}
