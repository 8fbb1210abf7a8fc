package narrate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
)

// sizeSentence says of an elastic job that was awarded on how many pods its site offered it, and what the
// best option of each would have cost beside the one that it got; "" of any other job, or where the site
// offered one number alone.
func sizeSentence(r history.JobRecord, h history.JobRound) string {
	d := h.Decision
	if !r.Job.IsElastic() || d.Kind != "award" {
		return ""
	}
	best := make(map[int]history.PricedOption)
	var sizes []int
	for _, a := range h.Answers {
		if a.Late || a.Site != d.Site {
			continue
		}
		for _, p := range a.Options {
			n := cmp.Or(p.Pods, r.Job.PodCount())
			if x, has := best[n]; !has {
				sizes = append(sizes, n)
				best[n] = p
			} else if p.Terms.Total() < x.Terms.Total() {
				best[n] = p
			}
		}
	}
	got := cmp.Or(d.Option.Pods, r.Job.PodCount())
	if len(sizes) < 2 || !slices.Contains(sizes, got) {
		return ""
	}
	slices.Sort(sizes)
	var others []string
	cheaper := false
	for _, n := range sizes {
		if n == got {
			continue
		}
		more := best[n].Terms.Total() - d.Option.Terms.Total()
		word := "more"
		if more < 0 {
			more, word, cheaper = -more, "less", true
		}
		others = append(others, fmt.Sprintf("%d would have cost %s %s and ended %s", n, format.FormatDollars(more), word, sentenceTime(best[n].Finish)))
	}
	why := ""
	if cheaper {
		why = " Which room was left, and what it is worth to other jobs, decided as well."
	}
	return fmt.Sprintf("%s offered it on %s pods. It got %d, which end %s; %s.%s",
		format.CleanText(d.Site), format.JoinWithAnd(countsText(sizes)), got, sentenceTime(d.Option.Finish), format.JoinWithAnd(others), why)
}

// countsText writes numbers as text.
func countsText(all []int) (out []string) {
	for _, n := range all {
		out = append(out, fmt.Sprint(n))
	}
	return out
}
