package narrate

import (
	"strconv"
	"time"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/protocol"
)

// wattsText formats a power cap; without one it is "none".
func wattsText(p protocol.Milliwatts) string {
	if p == 0 {
		return "none"
	}
	return strconv.FormatInt(int64(p+500)/1000, 10) + " W"
}

// tableTime formats an instant for a table: "13 Apr 12:05:07".
func tableTime(t protocol.Time) string { return t.StdTime().Format("02 Jan 15:04:05") }

// sentenceTime formats an instant for a sentence, without seconds.
func sentenceTime(t protocol.Time) string { return format.FormatInstant(t.Floor(time.Minute)) }
