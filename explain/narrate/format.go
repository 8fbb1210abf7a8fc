package narrate

import (
	"strconv"
	"time"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/protocol"
)

// watts returns a cap, or "none".
func watts(p protocol.Milliwatts) string {
	if p == 0 {
		return "none"
	}
	return strconv.FormatInt(int64(p+500)/1000, 10) + " W"
}

// stamp returns an instant for a table: "13 Apr 12:05:07".
func stamp(t protocol.Time) string { return t.Go().Format("02 Jan 15:04:05") }

// clock returns an instant for a sentence, which has no room for seconds.
func clock(t protocol.Time) string { return format.Clock(t.Floor(time.Minute)) }
