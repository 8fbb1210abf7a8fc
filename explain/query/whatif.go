package query

import (
	"fmt"
	"math"
	"slices"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// shell returns a name as one word of a command line.
func shell(s string) string {
	if ask.Quote(s) == s {
		return s
	}
	if format.CleanText(s) != s {
		return "(a name that cannot be typed; use --json)"
	}
	return format.ShellQuoted(s)
}

// differ says which term makes the difference between two sites' offers.
func (l *Log) differ(q ask.Query, a *Answer) {
	m, ok := l.asked(q, a)
	if !ok {
		return
	}
	x, okX := m.option(q.Site)
	y, okY := m.option(q.Other)
	for _, s := range []string{q.Site, q.Other} {
		if _, ok := m.option(s); !ok {
			a.say("%s made no offer that counts: %s.", name(s), m.none(s))
		}
	}
	if !okX || !okY {
		return
	}
	cheap, dear := q.Site, q.Other
	if x.Terms.Total() > y.Terms.Total() {
		cheap, dear, x, y = dear, cheap, y, x
	}
	term, by := largest(x.Terms, y.Terms)
	if term == "" {
		a.say("%s and %s offered the same.", name(cheap), name(dear))
		return
	}
	a.figure("site/"+dear, "total-difference", int64(y.Terms.Total()-x.Terms.Total()), "microdollars", m.cited()...)
	a.say("The largest difference is %s: %s more at %s than at %s. In all, %s offered %s and %s %s.",
		term, format.FormatDollars(by), name(dear), name(cheap), name(dear), format.FormatDollars(y.Terms.Total()), name(cheap), format.FormatDollars(x.Terms.Total()))
	a.Chart = m.bids()
	a.Table = &Table{Head: []string{"term", name(cheap), name(dear), "difference"}}
	for _, c := range narrate.CostCauses() {
		if c.Of(x.Terms) != 0 || c.Of(y.Terms) != 0 {
			a.figure("site/"+dear, c.Label+"-difference", int64(c.Of(y.Terms)-c.Of(x.Terms)), "microdollars", m.cited()...)
			a.row(c.Label, format.FormatDollars(c.Of(x.Terms)), format.FormatDollars(c.Of(y.Terms)), format.FormatDollars(c.Of(y.Terms)-c.Of(x.Terms)))
		}
	}
}

// elsewhere lists what the job would have cost at every other site.
func (l *Log) elsewhere(q ask.Query, a *Answer) {
	m := l.matter(q)
	a.cite(m.id)
	a.assume("by the offers of the deciding round; nobody was asked again")
	l.decided(m, a)
	if site, p, ok := m.nextBest(); ok && m.site != "" {
		l.compare(m, site, p, a)
	}
	if m.met {
		m.table(a)
		for _, s := range m.h.Answers {
			if p, ok := m.option(s.Site); ok {
				a.figure("site/"+s.Site, "total-cost", int64(p.Terms.Total()), "microdollars", m.cited()...)
			}
		}
	}
}

// elsewhereAt says what the job would have cost at one site.
func (l *Log) elsewhereAt(q ask.Query, a *Answer) {
	m := l.matter(q)
	a.cite(m.id)
	if r := m.rec; ran(r) == q.Site && r.State == history.Ended {
		a.say("Job %s ran at %s.", name(r.Job.ID), name(q.Site))
		l.billOf(r, a)
		return
	}
	a.assume("by the offers of the deciding round; nobody was asked again")
	p, ok := m.option(q.Site)
	switch {
	case !m.met && m.id != 0:
		a.say("That is not known: %s.", unmet)
	case !ok:
		a.say("That is not known: %s made no offer that counts, because %s.", name(q.Site), m.none(q.Site))
	case m.site == "" || m.site == q.Site:
		a.say("%s offered job %s a start at %s for %s: %s, %s.", name(q.Site), name(m.rec.Job.ID), format.FormatInstant(p.Start), format.FormatDollars(p.Terms.Total()), kWh(p.Energy), kg(p.Carbon))
		a.figure("site/"+q.Site, "total-cost", int64(p.Terms.Total()), "microdollars", m.cited()...)
	default:
		l.compare(m, q.Site, p, a)
		l.forced(m, q.Site, a)
		won := m.h.Decision.Option
		late := "would have been kept"
		if p.Finish > m.rec.Job.Deadline {
			late = "would have been missed by " + format.FormatDuration(p.Finish.Sub(m.rec.Job.Deadline))
		}
		a.say("At %s: %s of carbon against %s at %s, done by %s; its deadline %s.", name(q.Site), kg(p.Carbon), kg(won.Carbon), name(m.site), format.FormatInstant(p.Finish), late)
		m.terms(a, q.Site, p)
	}
}

// soonest returns the offer of the earliest start in a job's first round that
// had one, the cheapest of those.
func soonest(r history.JobRecord) (best history.PricedOption, site string, h history.JobRound, ok bool) {
	for _, h := range r.FullRounds {
		for _, s := range h.Answers {
			for _, p := range s.Options {
				if !s.Late && (!ok || p.Start < best.Start || p.Start == best.Start && p.Terms.Total() < best.Terms.Total()) {
					best, site, ok = p, s.Site, true
				}
			}
		}
		if ok {
			return best, site, h, true
		}
	}
	return best, "", history.JobRound{}, false
}

// onRecord says of a first round that there were others before, which are not on record.
func onRecord(r history.JobRecord) string {
	if r.Older {
		return "of this record "
	}
	return ""
}

// immediate says what the earliest start would have cost.
func (l *Log) immediate(q ask.Query, a *Answer) {
	r := l.matter(q).rec
	m := l.about(r, l.deciding(r))
	p, site, h, ok := soonest(m.rec)
	a.cite(h.Decision.Message.Seq)
	a.cite(m.id)
	if !ok {
		a.say("That is not known: no site ever offered job %s a start.", name(m.rec.Job.ID))
		return
	}
	a.assume("the earliest start offered in the first round " + onRecord(r) + "that had offers; tenants do not bid here")
	a.say("The earliest start for job %s was %s at %s, for %s (energy %s, %s).",
		name(m.rec.Job.ID), format.FormatInstant(p.Start), name(site), format.FormatDollars(p.Terms.Total()), format.FormatDollars(p.Money), kg(p.Carbon))
	a.figure(ofJob(m.rec.Job.ID), "earliest-start", int64(p.Start), "instant", cite(h.Decision.Message.Seq))
	a.figure(ofJob(m.rec.Job.ID), "earliest-cost", int64(p.Terms.Total()), "microdollars", cite(h.Decision.Message.Seq))
	if m.site == "" {
		return
	}
	won := m.h.Decision.Option
	a.say("It was awarded %s from %s for %s.", name(m.site), format.FormatInstant(won.Start), format.FormatDollars(won.Terms.Total()))
}

// saving returns what the awarded option was cheaper than the earliest start; nothing
// if it starts as early. The last award of a job that was paused is of its rest alone;
// what an award of another coordinator cost, or was offered first to it, is not known.
func (l *Log) saving(r history.JobRecord) (cost protocol.Microdollars, carbon protocol.Milligrams, first, award uint64, ok bool) {
	d := r.CurrentAward()
	p, _, h, found := soonest(r)
	switch {
	case d == nil || !found || len(r.Parts) > 0 || r.Older || !l.about(r, number(*d)).met:
		return 0, 0, 0, 0, false
	case waitless(r):
		return 0, 0, h.Decision.Message.Seq, d.Message.Seq, true
	}
	return p.Terms.Total() - d.Option.Terms.Total(), p.Carbon - d.Option.Carbon, h.Decision.Message.Seq, d.Message.Seq, true
}

// waitless reports whether a job was awarded a start as early as any that was offered
// first.
func waitless(r history.JobRecord) bool {
	p, _, _, ok := soonest(r)
	return ok && r.CurrentAward() != nil && r.CurrentAward().Option.Start <= p.Start
}

// fewer says how much carbon was saved, be it less than nothing.
func fewer(c protocol.Milligrams) string {
	if c < 0 {
		return kg(-c) + " of carbon more"
	}
	return kg(c) + " of carbon less"
}

// saved says what waiting saved, of one job or of all.
func (l *Log) saved(q ask.Query, a *Answer) {
	a.assume("what was awarded against the earliest start that was offered in its first round, both as offered")
	if q.Job != "" || q.Decision != 0 {
		r := l.matter(q).rec
		cost, carbon, first, award, ok := l.saving(r)
		a.cite(first, award)
		switch {
		case len(r.Parts) > 0:
			a.say("That is not known: job %s was paused, and its parts were sold one by one.", name(r.Job.ID))
		case r.CurrentAward() != nil && !l.about(r, number(*r.CurrentAward())).met:
			a.say("That is not known: the round of its award is not in this record.")
		case r.Older:
			a.say("That is not known: the first rounds of job %s are not in this record.", name(r.Job.ID))
		case !ok:
			a.say("That is not known: job %s has no award, or no offer in its first round.", name(r.Job.ID))
		case waitless(r):
			a.say("Job %s did not wait for a later start than the earliest that was offered, so waiting saved it nothing.", name(r.Job.ID))
		case cost >= 0 && carbon >= 0:
			a.say("Waiting saved job %s %s and %s of carbon.", name(r.Job.ID), format.FormatDollars(cost), kg(carbon))
		case cost >= 0:
			a.say("Waiting saved job %s %s, and took %s of carbon more.", name(r.Job.ID), format.FormatDollars(cost), kg(-carbon))
		default:
			a.say("Waiting saved job %s nothing: what it got in the end cost %s more, and %s.", name(r.Job.ID), format.FormatDollars(-cost), fewer(carbon))
		}
		if ok {
			a.figure(ofJob(r.Job.ID), "saved-cost", int64(cost), "microdollars", cite(first), cite(award))
			a.figure(ofJob(r.Job.ID), "saved-carbon", int64(carbon), "milligrams", cite(first), cite(award))
		}
		if wait, ok := r.WaitTime(); ok {
			a.say("It waited %s.", format.FormatDuration(wait))
			a.figure(ofJob(r.Job.ID), "wait", wait.Milliseconds(), "ms", cite(award))
		}
		return
	}
	var cost protocol.Microdollars
	var carbon protocol.Milligrams
	n := 0
	for _, r := range l.records() {
		if q.Tenant != "" && r.Job.Tenant != q.Tenant {
			continue
		}
		if c, g, _, award, ok := l.saving(r); ok {
			cost, carbon, n = cost+c, carbon+g, n+1
			a.cite(award)
		}
	}
	switch {
	case cost >= 0 && carbon >= 0:
		a.say("Over %s, waiting saved %s and %s of carbon.", format.CountWithNoun(n, "job", "jobs"), format.FormatDollars(cost), kg(carbon))
	case cost >= 0:
		a.say("Over %s, waiting saved %s, and took %s of carbon more.", format.CountWithNoun(n, "job", "jobs"), format.FormatDollars(cost), kg(-carbon))
	case carbon < 0:
		a.say("Over %s, waiting saved nothing: it took %s of carbon more, and cost %s more, delay and lateness included.", format.CountWithNoun(n, "job", "jobs"), kg(-carbon), format.FormatDollars(-cost))
	default:
		a.say("Over %s, waiting saved %s of carbon, and cost %s more, delay and lateness included.", format.CountWithNoun(n, "job", "jobs"), kg(carbon), format.FormatDollars(-cost))
	}
	a.figure("run", "saved-cost", int64(cost), "microdollars", a.Cites...)
	a.figure("run", "saved-carbon", int64(carbon), "milligrams", a.Cites...)
	a.figure("run", "jobs", int64(n), "count")
}

// policies compares what was replayed over the same jobs.
func (l *Log) policies(q ask.Query, a *Answer) {
	if q.To != 0 && !l.wholly(q, a) {
		return
	}
	a.Table = &Table{Head: []string{"policy", "objective $", "cost $", "carbon kg", "energy kWh", "late", "mean wait"}}
	totals, ok := l.totalsOf(q.Policies, a)
	if !ok {
		a.Table = nil
		return
	}
	for _, t := range totals {
		a.row(name(t.Policy), fmt.Sprintf("%.2f", t.ObjectiveUSD), fmt.Sprintf("%.2f", t.CostUSD), fmt.Sprintf("%.1f", t.CarbonKg),
			fmt.Sprintf("%.1f", t.EnergyKWh), fmt.Sprint(t.Late), format.FormatDuration(meanWait(t)))
		a.figure("policy/"+t.Policy, "objective", millionths(t.ObjectiveUSD), "microdollars")
		a.figure("policy/"+t.Policy, "cost", millionths(t.CostUSD), "microdollars")
		a.figure("policy/"+t.Policy, "carbon", millionths(t.CarbonKg), "milligrams")
		a.figure("policy/"+t.Policy, "late", int64(t.Late), "count")
		a.figure("policy/"+t.Policy, "energy", int64(math.Round(t.EnergyKWh*3.6e9)), "millijoules")
		a.figure("policy/"+t.Policy, "mean-wait", meanWait(t).Milliseconds(), "ms")
	}
	a.Chart = a.bars("compare", "carbon of each policy", "carbon", "policy/")
	switch n := len(a.Table.Rows); {
	case n == 0:
		a.Kind = "absent"
		a.say("The totals of a replay are not at hand. `gridbid replay --policy auction,home-fifo` writes them beside the ledgers.")
	case n == 1:
		a.say("One policy; idle draw of the sites is included. To compare, replay several: `gridbid replay --policy auction,home-fifo`.")
	default:
		a.say("The same jobs under each policy; idle draw of the sites is included.")
		if slices.ContainsFunc(totals, func(t history.Totals) bool { return !t.HasDefaultKnowledge() }) {
			a.say("After a slash stands what sites knew ahead of time, where it was not the usual.")
		}
	}
}

func millionths(v float64) int64 { return int64(math.Round(v * 1e6)) }
