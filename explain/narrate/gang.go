package narrate

import (
	"fmt"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
)

// gangRoomSentences says of a gang that did not start at once what it waited for: how many of its pods the
// largest site had room for, and what the site that has it keeps idle until it starts.
func gangRoomSentences(r history.JobRecord, h history.JobRound) (all []string) {
	pods, most, at, now := r.Job.PodCount(), -1, "", false
	if asked := r.Asked(); asked.PodCount() > pods {
		all = append(all, fmt.Sprintf("It goes with %d of its %d pods, and takes longer for it: %s at the reference clock.", pods, asked.PodCount(), format.FormatDuration(r.Job.Run)))
	}
	var held *history.PricedOption
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
			if h.Decision.Kind == "award" && a.Site == h.Decision.Site && p.BidOption == h.Decision.Option.BidOption {
				held = p
			}
		}
	}
	if most >= 0 && most < pods && !now {
		where := "at once"
		if level := r.Job.RequiredTopology; level != "" {
			where = "at once in one domain of " + format.CleanText(level)
		}
		all = append(all, fmt.Sprintf("It needs room for %s %s, and the largest site, %s, had room for %d.", podsText(r.Job), where, format.CleanText(at), most))
	}
	if held != nil && held.Hole.GPUHours > 0 {
		all = append(all, fmt.Sprintf("%s keeps nodes for it from %s on, as they become free: %s GPU-hours until it starts, which count %s under awake. Jobs that end by then run there meanwhile; none that comes later can put it off, only what runs there now and takes longer than planned.",
			format.CleanText(h.Decision.Site), sentenceTime(held.Hole.From), format.FormatThousandths(held.Hole.GPUHours), format.FormatDollars(held.Hole.Cost)))
	}
	return all
}
