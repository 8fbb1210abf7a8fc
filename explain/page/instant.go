package page

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/protocol"
)

// parseInstant reads an instant of an address: RFC 3339, less precise or its date alone, or
// milliseconds since 1970.
func parseInstant(text string) (protocol.Time, bool) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return protocol.Time(ms), true
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(form, text); err == nil {
			return protocol.FromStdTime(t), true
		}
	}
	return 0, false
}

// A shownInstant is the instant that the page shows.
type shownInstant struct {
	At     protocol.Time
	Pinned bool   // whether it stays; otherwise the page follows the end of a live run
	Notice string // why it is not the requested one
}

// instantToShow returns the requested instant, limited to the span of the run: RFC 3339, milliseconds
// or "end". Without one a live page follows the end, and that of a recording shows its busiest hour:
// at the end of a recording nothing runs.
func instantToShow(d *timeline.Timeline, asked string, live bool) (s shownInstant) {
	first, last := d.TimeSpan()
	s = shownInstant{At: last}
	if !live {
		s = shownInstant{At: d.BusiestHour(), Pinned: last != 0}
	}
	otherwise := "the end"
	if s.Pinned {
		otherwise = "the busiest hour"
	}
	t, ok := parseInstant(asked)
	switch {
	case asked == "":
	case asked == "end":
		s.At, s.Pinned = last, !live
	case !ok:
		s.Notice = fmt.Sprintf("%q is no instant, so this is %s. Write one as %s, or as milliseconds since 1970.", format.CleanText(asked), otherwise, last.String())
	default:
		s.At, s.Pinned = min(max(t, first), last), true
		if t < first || t > last {
			s.Notice = fmt.Sprintf("The run goes from %s to %s, and %s is not in it: this is the nearest instant.", first, last, t)
		}
	}
	return s
}
