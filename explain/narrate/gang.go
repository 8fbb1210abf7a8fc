package narrate

import (
	"fmt"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
)

// gangRoomSentences says of a gang with how many of its pods it goes, and, if it did not start at once, what
// it waited for.
func gangRoomSentences(r history.JobRecord, h history.JobRound) (all []string) {
	if asked := r.Asked(); asked.PodCount() > r.Job.PodCount() {
		all = append(all, fmt.Sprintf("It goes with %d of its %d pods, and takes longer for it: %s at the reference clock.", r.Job.PodCount(), asked.PodCount(), format.FormatDuration(r.Job.Run)))
	}
	w := r.GangWait(&h)
	if w.Site != "" {
		where := "at once"
		if level := r.Job.RequiredTopology; level != "" {
			where = "at once in one domain of " + format.CleanText(level)
		}
		all = append(all, fmt.Sprintf("It needs room for %s %s, and the largest site, %s, had room for %d.", podsText(r.Job), where, format.CleanText(w.Site), w.Room))
	}
	if w.Held != nil {
		all = append(all, fmt.Sprintf("%s keeps nodes for it from %s on, as they become free: %s GPU-hours until it starts, which count %s under awake. Jobs that end by then run there meanwhile; none that comes later can put it off, only what runs there now and takes longer than planned.",
			format.CleanText(h.Decision.Site), sentenceTime(w.Held.From), format.FormatThousandths(w.Held.GPUHours), format.FormatDollars(w.Held.Cost)))
	}
	return all
}
