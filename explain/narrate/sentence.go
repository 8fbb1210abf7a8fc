package narrate

import (
	"fmt"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// asked says what the job is.
func asked(r history.JobRecord) string {
	j := r.Job
	needs := format.Thousandths(j.CPU) + " cores"
	if j.GPUs > 0 {
		needs = format.Count(j.GPUs, "GPU", "GPUs") + " and " + needs
		if j.Share < 1000 {
			needs = format.Thousandths(j.Share) + " of a GPU and " + format.Thousandths(j.CPU) + " cores"
		}
	}
	lasts := format.Span(j.Run) + " at the reference clock"
	if j.Run == 0 {
		lasts = "a time that it does not say"
	}
	s := fmt.Sprintf("Job %s wants %s for %s.", format.Clean(string(j.ID)), needs, lasts)
	if j.Tenant != "" {
		s = fmt.Sprintf("Job %s of tenant %s wants %s for %s.", format.Clean(string(j.ID)), format.Clean(j.Tenant), needs, lasts)
	}
	if h, heard := hearing(r); heard && j.Run == 0 {
		s += expected(h)
	}
	wait := "It may not be deferred."
	if j.Deferrable {
		wait = "It may be deferred."
	}
	s += fmt.Sprintf(" It arrived %s, to be done by %s. %s", clock(j.Arrival), clock(j.Deadline), wait)
	if len(j.Models) > 0 {
		s += " GPU models that will do: " + names(j.Models) + "."
	}
	if len(j.Regions) > 0 {
		s += " Its data may be at " + names(j.Regions) + " only."
	}
	return s
}

// expected says what sites took a job for that does not say how long it runs.
func expected(h history.Hearing) (s string) {
	for _, a := range h.Answers {
		for _, e := range a.Expect {
			of := "by rule, as it has run no such job"
			if e.Runs > 0 {
				of = "by " + format.Count(e.Runs, "run", "runs") + " like it"
			}
			s += fmt.Sprintf(" %s estimates %s, %s: half of such jobs took %s, nine in ten %s.", format.Clean(a.Site), format.Span(e.Mean), of, format.Span(e.P50), format.Span(e.P90))
		}
	}
	return s
}

func names(all []string) string {
	var words []string
	for _, s := range all {
		words = append(words, format.Clean(s))
	}
	return format.List(words)
}

// decided says who runs it and why, or why nobody does yet.
func decided(r history.JobRecord, h history.Hearing, heard bool) []string {
	a := r.Award()
	switch {
	case r.Refusal != nil:
		return []string{fmt.Sprintf("It was refused at %s: %s.", clock(r.Refusal.Said.At), Because(r.Refusal.Why))}
	case a != nil && !(heard && of(h, a)):
		return []string{elsewhere(a)}
	case !heard && len(r.Awards) > 0:
		return []string{elsewhere(&r.Awards[len(r.Awards)-1])}
	case !heard:
		return []string{"It has not been called in a round yet."}
	case a != nil:
		all := append([]string{awarded(h)}, whyHere(r, h)...)
		return append(append(all, whyNow(r, h)...), proof(h)...)
	case h.Decision.Kind == "award" && h.Decision.Declined.Code == protocol.SiteGone:
		return []string{fmt.Sprintf("It was awarded to %s, and taken from it: %s. It waits for its next round.",
			format.Clean(h.Decision.Site), Because(h.Decision.Declined))}
	case h.Decision.Kind == "award" && h.Decision.Answer == "":
		return []string{fmt.Sprintf("It was awarded to %s, which did not answer in time. It waits for its next round.", format.Clean(h.Decision.Site))}
	case h.Decision.Kind == "award":
		return []string{fmt.Sprintf("It was awarded to %s, which declined: %s. It waits for its next round.",
			format.Clean(h.Decision.Site), Because(h.Decision.Declined))}
	case h.Decision.Kind == "hold":
		return []string{held(h)}
	}
	return []string{fmt.Sprintf("Round %d, called %s, has not decided yet.", h.Round, clock(h.Called.At))}
}

// elsewhere tells an award by a coordinator from which this one took over.
func elsewhere(a *history.Decision) string {
	return fmt.Sprintf("It was awarded to %s in round %d, at %s, because %s. That round is not in this record.",
		format.Clean(a.Site), a.Round, clock(a.Said.At), Because(a.Why))
}

func awarded(h history.Hearing) string {
	d := h.Decision
	s := fmt.Sprintf("It was awarded to %s in round %d, at %s, to start %s and finish %s at a cost of %s",
		format.Clean(d.Site), h.Round, clock(d.Said.At), clock(d.Option.Start), clock(d.Option.Finish), format.Dollars(d.Option.Terms.Total()))
	if d.Queue {
		s += "; if there is no room by then it waits at the site"
	}
	return s + ", because " + Because(d.Why) + "."
}

func held(h history.Hearing) string {
	d := h.Decision
	s := fmt.Sprintf("It is held since round %d, at %s, because %s.", h.Round, clock(d.Said.At), Because(d.Why))
	if d.Policy != 0 && d.Why.Code == protocol.NoOffer {
		s += fmt.Sprintf(" Rules of the operators were in force, version %d: they may forbid what sites offer.", d.Policy)
	}
	if d.Start != 0 {
		s += fmt.Sprintf(" The plan runs it at %s from %s.", format.Clean(d.Site), clock(d.Start))
	}
	if d.Until != 0 {
		s += fmt.Sprintf(" It is called again by %s.", clock(d.Until))
	}
	return s
}

// whyHere compares the award with the best offer of another site.
func whyHere(r history.JobRecord, h history.Hearing) []string {
	d := h.Decision
	next, site, ok := bestElsewhere(h)
	if !ok && d.Why.Code == protocol.ByRule {
		return []string{"No other site's offer was heard, and none was needed: the rule does not compare costs."}
	}
	if !ok {
		return []string{fmt.Sprintf("No other site made an offer, so %s was the only choice.", format.Clean(d.Site))}
	}
	here := d.Option
	more := next.Terms.Total() - here.Terms.Total()
	switch {
	case more > 0:
		return []string{fmt.Sprintf("The next best site, %s, costs %s more than %s%s.",
			format.Clean(site), format.Dollars(more), format.Clean(d.Site), mostly(here.Terms, next.Terms, "more"))}
	case more == 0:
		return []string{fmt.Sprintf("%s costs the same as %s.", format.Clean(site), format.Clean(d.Site))}
	}
	s := fmt.Sprintf("%s alone would have cost %s less than %s%s.",
		format.Clean(site), format.Dollars(-more), format.Clean(d.Site), mostly(next.Terms, here.Terms, "less"))
	n := spurned(r, site)
	switch {
	case n >= spurns:
		s += fmt.Sprintf(" But %s had been awarded the job %d times before and had not kept it: such a site is passed over for some rounds.", format.Clean(site), n)
	case d.Policy != 0:
		s += fmt.Sprintf(" Rules of the operators were in force, version %d: they may forbid the job there, or have a site count as dearer or cheaper than it is.", d.Policy)
		if d.Why.Code == protocol.Cheapest && next.Room > here.Room { // which of both it was is not known here
			s += fmt.Sprintf(" By the prices of its round the room at %s is worth %s to other jobs, and that at %s %s.",
				format.Clean(site), format.Dollars(next.Room), format.Clean(d.Site), format.Dollars(here.Room))
		}
	case d.Why.Code != protocol.Cheapest:
	case next.Room+next.Terms.Total() >= here.Room+here.Terms.Total():
		s += fmt.Sprintf(" But its room is worth more to other jobs: %s, against %s at %s.",
			format.Dollars(next.Room), format.Dollars(here.Room), format.Clean(d.Site))
	default:
		s += " The jobs of a round share its room, so one job's cheapest offer may go to another that gains more by it."
	}
	return []string{s}
}

// spurns is how often a site did not keep a job that is passed over for it: see
// coordinator/market.
const spurns = 8

// spurned returns how often a job was awarded to a site before its last award, and not
// kept there.
func spurned(r history.JobRecord, site string) (n int) {
	for _, a := range r.Awards[:len(r.Awards)-1] {
		if a.Site == site && a.Answer != "accept" && a.Declined.Code != protocol.SiteGone {
			n++
		}
	}
	return n
}

// mostly names the term in which dear exceeds cheap most, if there is one.
func mostly(cheap, dear protocol.Terms, word string) string {
	name, by := "", protocol.Microdollars(0)
	for _, c := range Causes() {
		if d := c.Of(dear) - c.Of(cheap); d > by {
			name, by = c.name, d
		}
	}
	if name == "" {
		return ""
	}
	return fmt.Sprintf(", mostly for %s (%s %s)", name, format.Dollars(by), word)
}

// bestElsewhere returns the cheapest offer, heard in time, of another site.
func bestElsewhere(h history.Hearing) (best history.Priced, site string, ok bool) {
	for _, a := range h.Answers {
		if a.Site == h.Decision.Site || a.Late || len(a.Options) == 0 {
			continue
		}
		if p := a.Options[0]; !ok || p.Terms.Total() < best.Terms.Total() {
			best, site, ok = p, a.Site, true
		}
	}
	return best, site, ok
}

// whyNow compares the award's start with the earliest that was ever offered.
func whyNow(r history.JobRecord, h history.Hearing) []string {
	d := h.Decision
	wait := d.Option.Start.Sub(r.Job.Arrival)
	p, site, ok := earliest(r.Hearings[0])
	if wait < 0 || !ok || p.Start >= d.Option.Start || len(r.Parts) > 0 || r.Older { // the award is of a rest alone, or the first round is not here
		return nil
	}
	s := fmt.Sprintf("It starts %s after it arrived. The earliest start offered in its first round was %s at %s for %s",
		format.Span(wait), clock(p.Start), format.Clean(site), format.Dollars(p.Terms.Total()))
	switch saved := p.Terms.Total() - d.Option.Terms.Total(); {
	case saved > 0:
		s += fmt.Sprintf("; %s from %s costs %s less.", format.Clean(d.Site), clock(d.Option.Start), format.Dollars(saved))
	case saved == 0:
		s += fmt.Sprintf(", the same as %s from %s.", format.Clean(d.Site), clock(d.Option.Start))
	default:
		s += fmt.Sprintf(", %s less than %s from %s.", format.Dollars(-saved), format.Clean(d.Site), clock(d.Option.Start))
	}
	if first := r.Hearings[0].Decision; first.Kind == "hold" {
		s += fmt.Sprintf(" It was held then because %s.", Because(first.Why))
	}
	return []string{s}
}

// earliest returns the offer of the earliest start, the cheapest of those.
func earliest(h history.Hearing) (best history.Priced, site string, ok bool) {
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

func proof(h history.Hearing) []string {
	p := h.Decision.Proof
	if p.Jobs == 0 {
		return nil
	}
	return []string{fmt.Sprintf("The round cleared %s at a cost of %s; no assignment of them can cost less than %s.",
		format.Count(p.Jobs, "job", "jobs"), format.Dollars(p.Primal), format.Dollars(p.Bound))}
}
