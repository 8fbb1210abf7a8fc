package narrate

import (
	"fmt"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// jobSentence describes the job's request.
func jobSentence(r history.JobRecord) string {
	j := r.Asked()
	// What it asks for: GPUs or a share of one, and cores.
	needs := SizeText(j)
	if j.GPUs > 0 {
		needs += " and " + format.FormatThousandths(j.CPU) + " cores"
	}
	needs += togetherText(r)
	// The run time, stated by the submitter or estimated by the sites.
	lasts := format.FormatDuration(j.Run) + " at the reference clock"
	if j.Run == 0 {
		lasts = "a time that it does not say"
	}
	if j.IsElastic() {
		lasts += " on " + format.CountWithNoun(j.PodCount(), "pod", "pods")
	}
	whose := ""
	if j.Tenant != "" {
		whose = " of tenant " + format.CleanText(j.Tenant)
	}
	s := fmt.Sprintf("Job %s%s wants %s for %s.", format.CleanText(string(j.ID)), whose, needs, lasts)
	if h, heard := decidingRound(r); heard && j.Run == 0 {
		s += runTimeSentence(h)
	}
	if j.PartOf != "" {
		s += " It is a part of job " + format.CleanText(string(j.PartOf)) + ", all of whose parts start, or none."
	}
	// What limits when and where it may run.
	s += fmt.Sprintf(" It arrived %s, to be done by %s. %s", sentenceTime(j.Arrival), sentenceTime(j.Deadline), urgencySentence(j.Urgency))
	if len(j.Models) > 0 {
		s += " GPU models that will do: " + format.JoinNames("%s", j.Models) + "."
	}
	if len(j.Regions) > 0 {
		s += " Its data may be at " + format.JoinNames("%s", j.Regions) + " only."
	}
	return s
}

// SizeText says what a job asks for: "8 GPUs", "0.5 of a GPU" or, where it wants none, "4 cores"; of a gang
// by its pods.
func SizeText(j protocol.Job) string {
	switch {
	case j.IsGang():
		return podsText(j)
	case j.GPUs == 0:
		return format.FormatThousandths(j.CPU) + " cores"
	case j.Share > 0 && j.Share < 1000:
		return format.FormatThousandths(j.Share) + " of a GPU"
	}
	return format.CountWithNoun(j.GPUs, "GPU", "GPUs")
}

// podsText says of what pods a gang consists: "1 pod of 4 cores and 4 pods of 8 GPUs".
func podsText(j protocol.Job) string {
	var all []string
	for i, c := range j.Pods {
		pods := format.CountWithNoun(c.Pods, "pod", "pods")
		if fewest, most := j.PodRange(); j.IsElastic() {
			pods = fmt.Sprintf("%d to %d pods", fewest, most)
		}
		all = append(all, fmt.Sprintf("%s of %s", pods, SizeText(j.PodsOf(i, 1))))
	}
	return format.JoinWithAnd(all)
}

// urgencySentence says what a job's urgency means for when it starts.
func urgencySentence(u protocol.Urgency) string {
	switch u {
	case protocol.UrgencyNow:
		return "It is wanted now, so it may not be deferred."
	case protocol.UrgencyFlexible:
		return "It is flexible, so it may be deferred until its deadline."
	}
	return "It is standard, so it may be deferred while that saves more than its waiting costs."
}

// runTimeSentence returns the sites' run time estimates for a job that does not state its
// run time.
func runTimeSentence(h history.JobRound) (s string) {
	for _, a := range h.Answers {
		for _, e := range a.Expect {
			of := "by rule, as it has run no such job"
			if e.Runs > 0 {
				of = "by " + format.CountWithNoun(e.Runs, "run", "runs") + " like it"
			}
			s += fmt.Sprintf(" %s estimates %s, %s: half of such jobs took %s, nine in ten %s.", format.CleanText(a.Site), format.FormatDuration(e.Mean), of, format.FormatDuration(e.P50), format.FormatDuration(e.P90))
		}
	}
	return s
}

// decisionSentences states the decision and its reason, or why there is none yet. heard says that
// the record has the round h. Cases are in order of precedence: a refusal is final, then an
// award in force, then what became of the newest round.
func decisionSentences(r history.JobRecord, h history.JobRound, heard bool) []string {
	a := r.CurrentAward()
	switch {
	case r.Refusal != nil:
		return []string{fmt.Sprintf("It was %s at %s%s.", RefusalWord(r.Refusal.Why.Code), sentenceTime(r.Refusal.Message.At), RefusalCause(r.Refusal.Why))}
	case a != nil && !(heard && decidedInRound(h, a)):
		return []string{earlierAwardSentence(a)}
	case !heard && len(r.Awards) > 0:
		return []string{earlierAwardSentence(&r.Awards[len(r.Awards)-1])}
	case r.Job.IsDivided():
		return nil // its parts have decisions
	case !heard:
		return []string{"It has not been called in a round yet."}
	case a != nil:
		all := append([]string{awardSentence(h)}, whySiteSentences(r, h)...)
		all = append(append(all, whyStartSentences(r, h)...), gangRoomSentences(r, h)...)
		if s := sizeSentence(r, h); s != "" {
			all = append(all, s)
		}
		return append(all, certificateSentence(h)...)
	case h.Decision.Kind == "award" && h.Decision.Declined.Code == protocol.SiteDecommissioned:
		return []string{fmt.Sprintf("It was awarded to %s, and taken from it: %s. It waits for its next round.",
			format.CleanText(h.Decision.Site), ReasonWithNote(h.Decision.Declined))}
	case h.Decision.Kind == "award" && h.Decision.Answer == "":
		return []string{fmt.Sprintf("It was awarded to %s, which did not answer in time. It waits for its next round.", format.CleanText(h.Decision.Site))}
	case h.Decision.Kind == "award":
		return []string{fmt.Sprintf("It was awarded to %s, which declined: %s. It waits for its next round.",
			format.CleanText(h.Decision.Site), ReasonWithNote(h.Decision.Declined))}
	case h.Decision.Kind == "hold":
		return append([]string{deferSentence(h)}, gangRoomSentences(r, h)...)
	}
	return []string{fmt.Sprintf("Round %d, called %s, has not decided yet.", h.Round, sentenceTime(h.Called.At))}
}

// earlierAwardSentence describes an award of a round before this record began.
func earlierAwardSentence(a *history.Decision) string {
	return fmt.Sprintf("It was awarded to %s in round %d, at %s, because %s. That round is not in this record.",
		format.CleanText(a.Site), a.Round, sentenceTime(a.Message.At), ReasonWithNote(a.Why))
}

// awardSentence states the award of a round: site, times and cost as they were bid.
func awardSentence(h history.JobRound) string {
	d := h.Decision
	s := fmt.Sprintf("It was awarded to %s in round %d, at %s, to start %s and finish %s at a cost of %s",
		format.CleanText(d.Site), h.Round, sentenceTime(d.Message.At), sentenceTime(d.Option.Start), sentenceTime(d.Option.Finish), format.FormatDollars(d.Option.Terms.Total()))
	if d.Queue {
		s += "; if there is no room by then it waits at the site"
	}
	return s + ", because " + ReasonWithNote(d.Why) + "."
}

// deferSentence states the hold of a round, what it is planned for, and when it ends.
func deferSentence(h history.JobRound) string {
	d := h.Decision
	s := fmt.Sprintf("It is held since round %d, at %s, because %s.", h.Round, sentenceTime(d.Message.At), ReasonWithNote(d.Why))
	// The record does not show which rule forbade what, so the sentence says "may".
	if d.Policy != 0 && d.Why.Code == protocol.NoBids {
		s += fmt.Sprintf(" Rules of the operators were in force, version %d: they may forbid what sites offer.", d.Policy)
	}
	if d.Start != 0 {
		s += fmt.Sprintf(" The plan runs it at %s from %s.", format.CleanText(d.Site), sentenceTime(d.Start))
	}
	if d.Until != 0 {
		s += fmt.Sprintf(" It is called again by %s.", sentenceTime(d.Until))
	}
	return s
}

// whySiteSentences compares the award with the best option of another site. An award need not be
// the cheapest option of its job: then the sentence names why a cheaper site may have lost, as
// far as the record shows it.
func whySiteSentences(r history.JobRecord, h history.JobRound) []string {
	d := h.Decision
	// With no other offer there is nothing to compare.
	next, site, ok := CheapestOtherSite(h, d.Site)
	if !ok && d.Why.Code == protocol.ByRule {
		return []string{"No other site's offer was heard, and none was needed: the rule does not compare costs."}
	}
	if !ok {
		return []string{fmt.Sprintf("No other site made an offer, so %s was the only choice.", format.CleanText(d.Site))}
	}
	// The usual case: the award is the cheapest, and the next best shows by how much.
	here := d.Option
	more := next.Terms.Total() - here.Terms.Total()
	switch {
	case more > 0:
		return []string{fmt.Sprintf("The next best site, %s, costs %s more than %s%s.",
			format.CleanText(site), format.FormatDollars(more), format.CleanText(d.Site), dominantTerm(here.Terms, next.Terms, "more"))}
	case more == 0:
		return []string{fmt.Sprintf("%s costs the same as %s.", format.CleanText(site), format.CleanText(d.Site))}
	}
	s := fmt.Sprintf("%s alone would have cost %s less than %s%s.",
		format.CleanText(site), format.FormatDollars(-more), format.CleanText(d.Site), dominantTerm(next.Terms, here.Terms, "less"))
	// The cheaper site lost for one of these reasons, the most certain first.
	n := countReneges(r, site)
	switch {
	case n >= maxReneges:
		s += fmt.Sprintf(" But %s had been awarded the job %d times before and had not kept it: such a site is passed over for some rounds.", format.CleanText(site), n)
	case d.Policy != 0:
		s += fmt.Sprintf(" Rules of the operators were in force, version %d: they may forbid the job there, or have a site count as dearer or cheaper than it is.", d.Policy)
		if d.Why.Code == protocol.Cheapest && next.Room > here.Room { // the record does not show which of both applied
			s += fmt.Sprintf(" By the prices of its round the room at %s is worth %s to other jobs, and that at %s %s.",
				format.CleanText(site), format.FormatDollars(next.Room), format.CleanText(d.Site), format.FormatDollars(here.Room))
		}
	case d.Why.Code == protocol.ByRule || d.Why.Code == protocol.ChosenByJudge: // which is the reason
	// The clearing chooses by cost and the worth of the room together.
	case next.Room+next.Terms.Total() >= here.Room+here.Terms.Total():
		s += fmt.Sprintf(" But its room is worth more to other jobs: %s, against %s at %s.",
			format.FormatDollars(next.Room), format.FormatDollars(here.Room), format.CleanText(d.Site))
	default:
		s += " The jobs of a round share its room: that of one job's cheapest offer may go to another that gains more by it, or be kept for jobs that are held or cannot be deferred."
	}
	return []string{s}
}

// maxReneges is how often a site must fail to keep a job before its bids are passed over:
// the same constant as in coordinator/market.
const maxReneges = 8

// countReneges counts the awards of a job to a site before its last award that the site
// did not keep.
func countReneges(r history.JobRecord, site string) (n int) {
	for _, a := range r.Awards[:len(r.Awards)-1] {
		if a.Site == site && a.Answer != "accept" && a.Declined.Code != protocol.SiteDecommissioned {
			n++
		}
	}
	return n
}

// LargestDifference returns the cause in which dear exceeds cheap most, and by how much; nothing if
// it exceeds it in none.
func LargestDifference(cheap, dear protocol.CostBreakdown) (cause CostCause, by protocol.Microdollars) {
	for _, c := range CostCauses() {
		if d := c.Of(dear) - c.Of(cheap); d > by {
			cause, by = c, d
		}
	}
	return cause, by
}

// dominantTerm names the cause with the largest difference between dear and cheap, as the end of
// a sentence; "" if none is larger. word is "more" or "less".
func dominantTerm(cheap, dear protocol.CostBreakdown, word string) string {
	c, by := LargestDifference(cheap, dear)
	if by == 0 {
		return ""
	}
	return fmt.Sprintf(", mostly for %s (%s %s)", c.InWords, format.FormatDollars(by), word)
}

// CheapestOtherSite returns the cheapest option that arrived in time from another site than here.
func CheapestOtherSite(h history.JobRound, here string) (best history.PricedOption, site string, ok bool) {
	for _, a := range h.Answers {
		if a.Site == here || a.Late || len(a.Options) == 0 {
			continue
		}
		if p := a.Options[0]; !ok || p.Terms.Total() < best.Terms.Total() {
			best, site, ok = p, a.Site, true
		}
	}
	return best, site, ok
}

// whyStartSentences compares the award's start with the earliest start in the first round: what
// waiting cost or saved. It returns nothing if no earlier start was offered.
func whyStartSentences(r history.JobRecord, h history.JobRound) []string {
	d := h.Decision
	wait := d.Option.Start.Sub(r.Job.Arrival)
	p, site, ok := EarliestOption(r.FullRounds[0])
	if wait < 0 || !ok || p.Start >= d.Option.Start || len(r.Parts) > 0 || r.Older { // the award is of the rest of a paused job, or the first round is not in the record
		return nil
	}
	s := fmt.Sprintf("It starts %s after it arrived. The earliest start offered in its first round was %s at %s for %s",
		format.FormatDuration(wait), sentenceTime(p.Start), format.CleanText(site), format.FormatDollars(p.Terms.Total()))
	// Compare with running at the earliest start: waiting may also cost more, if room was short.
	switch saved := p.Terms.Total() - d.Option.Terms.Total(); {
	case saved > 0:
		s += fmt.Sprintf("; %s from %s costs %s less.", format.CleanText(d.Site), sentenceTime(d.Option.Start), format.FormatDollars(saved))
	case saved == 0:
		s += fmt.Sprintf(", the same as %s from %s.", format.CleanText(d.Site), sentenceTime(d.Option.Start))
	default:
		s += fmt.Sprintf(", %s less than %s from %s.", format.FormatDollars(-saved), format.CleanText(d.Site), sentenceTime(d.Option.Start))
	}
	if first := r.FullRounds[0].Decision; first.Kind == "hold" {
		s += fmt.Sprintf(" It was held then because %s.", ReasonWithNote(first.Why))
	}
	return []string{s}
}

// EarliestOption returns the option with the earliest start of those that came in time, the cheapest
// of equals, and its site.
func EarliestOption(h history.JobRound) (best history.PricedOption, site string, ok bool) {
	for _, a := range h.Answers {
		if a.Late {
			continue
		}
		for _, p := range a.Options {
			if !ok || p.Start < best.Start || p.Start == best.Start && p.Terms.Total() < best.Terms.Total() {
				best, site, ok = p, a.Site, true
			}
		}
	}
	return best, site, ok
}

// certificateSentence states cost and lower bound of the round's clearing.
func certificateSentence(h history.JobRound) []string {
	p := h.Decision.Proof
	if p.Jobs == 0 {
		return nil
	}
	return []string{fmt.Sprintf("The round cleared %s at a cost of %s; no assignment of them can cost less than %s.",
		format.CountWithNoun(p.Jobs, "job", "jobs"), format.FormatDollars(p.Primal), format.FormatDollars(p.Bound))}
}
