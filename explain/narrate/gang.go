package narrate

import (
	"fmt"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A GangWait is what a gang waited for by a round in which no site could start it at once.
type GangWait struct {
	Room int            // for so many of its pods at once, where most was
	Site string         // there; "": some site could start it, or none said
	Held *protocol.Hole // what the site that has it keeps idle until it starts; nil: nothing
}

// GangWaitOf returns what a gang waited for.
func GangWaitOf(r history.JobRecord, h history.JobRound) (w GangWait) {
	most, at, now := -1, "", false
	for _, a := range h.Answers {
		for i := range a.Options {
			p := &a.Options[i]
			if a.Late || p.Hole == nil {
				now = now || !a.Late
				continue
			}
			if p.Hole.Fit > most {
				most, at = p.Hole.Fit, a.Site
			}
			if h.Decision.Kind == "award" && a.Site == h.Decision.Site && p.BidOption == h.Decision.Option.BidOption && p.Hole.GPUHours > 0 {
				w.Held = p.Hole
			}
		}
	}
	if most >= 0 && most < r.Job.PodCount() && !now {
		w.Room, w.Site = most, at
	}
	return w
}

// gangRoomSentences says of a gang with how many of its pods it goes, and, if it did not start at once, what
// it waited for.
func gangRoomSentences(r history.JobRecord, h history.JobRound) (all []string) {
	if asked := r.Asked(); asked.PodCount() > r.Job.PodCount() {
		all = append(all, fmt.Sprintf("It goes with %d of its %d pods, and takes longer for it: %s at the reference clock.", r.Job.PodCount(), asked.PodCount(), format.FormatDuration(r.Job.Run)))
	}
	w := GangWaitOf(r, h)
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
