package query

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

func (l *Log) why(q ask.Query, a *Answer) {
	m := l.matter(q)
	if was, ok := l.before(q, m); ok {
		m = was
	}
	a.cite(m.id)
	a.Command = "gridbid why " + shell(string(m.rec.Job.ID))
	if q.Site != "" && m.site != q.Site && ran(m.rec) != q.Site {
		l.correct(q, m, a)
		return
	}
	l.decided(m, a)
	if m.site == "" {
		return
	}
	a.figure("site/"+m.site, "total-cost", int64(m.h.Decision.Option.Terms.Total()), "microdollars", m.cited()...)
	next, p, ok := m.nextBest()
	if !ok {
		a.say("No other site made an offer that counts.")
	} else {
		l.compare(m, next, p, a)
	}
	m.table(a)
}

// before returns a job as it was awarded to the site that is asked of, where it is, or
// ended, at another now: there it was paused, or the site gave it up.
func (l *Log) before(q ask.Query, m matter) (matter, bool) {
	if q.Site == "" || q.Decision != 0 || m.site == q.Site || ran(m.rec) == q.Site {
		return m, false
	}
	for _, d := range slices.Backward(m.rec.Awards) {
		if d.Site == q.Site && (d.Answer == "accept" || d.Answer == "decline" && slices.Contains(lost, d.Declined.Code)) {
			return l.about(m.rec, number(d)), true
		}
	}
	return m, false
}

// correct answers a question whose premise is false.
func (l *Log) correct(q ask.Query, m matter, a *Answer) {
	where := ran(m.rec)
	switch {
	case where != "" && m.rec.Run.Planned:
		a.say("It did not: job %s is at %s, which accepted it to start at %s, and not at %s.", name(m.rec.Job.ID), name(where), format.FormatInstant(m.rec.Run.Started), name(q.Site))
	case where != "":
		a.say("It did not: job %s ran at %s, not at %s.", name(m.rec.Job.ID), name(where), name(q.Site))
	case m.site != "":
		a.say("It did not: job %s was awarded to %s, not to %s.", name(m.rec.Job.ID), name(m.site), name(q.Site))
	default:
		a.say("It did not: job %s has not run at %s.", name(m.rec.Job.ID), name(q.Site))
	}
	l.decided(m, a)
}

// decided says what the decision was, and why.
func (l *Log) decided(m matter, a *Answer) {
	r, d := m.rec, m.h.Decision
	if said := l.decisionOf(m.id); said.Kind == "refuse" && said.Why.Code == protocol.Duplicate {
		a.say("Another submission under the id of job %s was refused at %s: %s. The job itself goes on.", name(r.Job.ID), format.FormatInstant(said.At), narrate.ReasonWithNote(said.Why))
		return
	}
	switch {
	case r.Refusal != nil && (m.id == 0 || l.decisionOf(m.id).Kind == "refuse"):
		a.say("Job %s was refused at %s: %s.", name(r.Job.ID), format.FormatInstant(r.Refusal.Message.At), narrate.ReasonWithNote(r.Refusal.Why))
	case m.id == 0:
		a.say("Nothing was decided on job %s; it arrived at %s.", name(r.Job.ID), format.FormatInstant(r.Job.Arrival))
	case !m.met: // by a coordinator from which this one took over
		x := l.decisionOf(m.id)
		what := map[string]string{"award": "awarded to " + name(x.Site), "hold": "held", "refuse": "refused"}[x.Kind]
		a.say("Job %s was %s at %s, because %s. The round is not in this record.", name(r.Job.ID), what, format.FormatInstant(x.At), narrate.ReasonWithNote(x.Why))
	case d.Kind == "award":
		a.say("Job %s (%s, due %s) was awarded to %s in round %d at %s, to start %s, because %s.",
			name(r.Job.ID), shape(r.Job), format.FormatInstant(r.Job.Deadline), name(d.Site), m.h.Round, format.FormatInstant(d.Message.At), format.FormatInstant(d.Option.Start), narrate.ReasonWithNote(d.Why))
		if h := l.book.JudgeQuestionOf(m.h.Round, r.Job.ID); h != nil {
			if fault := record.FallbackReason(h.Ask, h.Answer, d); fault != "" {
				a.say("A judge was asked, and the rule decided: %s.", record.FaultText(fault))
			}
		}
		if d.Answer == "decline" {
			a.say("%s declined: %s.", name(d.Site), narrate.ReasonWithNote(d.Declined))
		} else if d.Expired {
			a.say("%s did not answer in time, so the job was on sale again.", name(d.Site))
		}
	case d.Kind == "hold":
		a.say("Job %s was held in round %d at %s, because %s.", name(r.Job.ID), m.h.Round, format.FormatInstant(d.Message.At), narrate.ReasonWithNote(d.Why))
		if d.Why.Code == protocol.NoBids {
			l.barred(m, a)
		}
		if d.Start != 0 {
			a.say("The plan then was %s from %s.", name(d.Site), format.FormatInstant(d.Start))
		}
	}
}

// nextBest returns the cheapest offer of a site that was not awarded.
func (m matter) nextBest() (site string, best history.PricedOption, ok bool) {
	for _, s := range m.h.Answers {
		p, offered := m.option(s.Site)
		if s.Site != m.site && offered && (!ok || p.Terms.Total() < best.Terms.Total()) {
			site, best, ok = s.Site, p, true
		}
	}
	return site, best, ok
}

// compare says how one other site's offer differs from the award.
func (l *Log) compare(m matter, site string, p history.PricedOption, a *Answer) {
	won := m.h.Decision.Option
	more := p.Terms.Total() - won.Terms.Total()
	a.figure("site/"+site, "total-cost", int64(p.Terms.Total()), "microdollars", m.cited()...)
	a.figure("site/"+site, "cost-difference", int64(more), "microdollars", m.cited()...)
	a.figure("site/"+site, "carbon-difference", int64(p.Carbon-won.Carbon), "milligrams", m.cited()...)
	if m.h.Decision.Why.Code == protocol.ByRule {
		a.say("The rule of this policy chose the site; costs were not compared.")
	}
	switch {
	case more > 0:
		term, by := largest(won.Terms, p.Terms)
		a.figure("site/"+site, "largest-difference", int64(by), "microdollars", m.cited()...)
		a.say("%s offered %s, which is %s more than %s at %s; %s is the largest part (%s).",
			name(site), format.FormatDollars(p.Terms.Total()), format.FormatDollars(more), format.FormatDollars(won.Terms.Total()), name(m.site), term, format.FormatDollars(by))
	case more == 0:
		a.say("%s offered the same cost as %s, %s; between equals a fixed order decides.", name(site), name(m.site), format.FormatDollars(won.Terms.Total()))
	default:
		term, by := largest(p.Terms, won.Terms)
		a.figure("site/"+site, "largest-difference", int64(by), "microdollars", m.cited()...)
		a.say("%s offered %s, which is %s less than %s at %s; %s is the largest part (%s).",
			name(site), format.FormatDollars(p.Terms.Total()), format.FormatDollars(-more), format.FormatDollars(won.Terms.Total()), name(m.site), term, format.FormatDollars(by))
	}
	forbidden := l.ruled(m, site, p, a)
	l.ruled(m, m.site, won, a)
	if more < 0 && !forbidden && m.h.Decision.Why.Code != protocol.ByRule {
		a.say("A round places all of its %d jobs together: by its prices the room at %s was worth %s to others, and that at %s %s.",
			max(m.h.Decision.Proof.Jobs, 1), name(site), format.FormatDollars(p.Room), name(m.site), format.FormatDollars(won.Room))
	}
}

// table lists what every site answered, the cheapest first and those without an
// offer last, and draws it.
func (m matter) table(a *Answer) {
	a.Chart = m.bids()
	a.Table = &Table{Head: []string{"site", "total $", "more $", "start", "kWh", "kg CO2e", "why"}}
	type line struct {
		site string
		p    history.PricedOption
		ok   bool
	}
	var lines []line
	for _, s := range m.h.Answers {
		p, ok := m.option(s.Site)
		lines = append(lines, line{s.Site, p, ok})
	}
	slices.SortStableFunc(lines, func(x, y line) int {
		if x.ok != y.ok {
			if x.ok {
				return -1
			}
			return 1
		}
		return cmp.Compare(x.p.Terms.Total(), y.p.Terms.Total())
	})
	base, known := m.option(m.site)
	for _, s := range lines {
		if !s.ok {
			a.row(name(s.site), "–", "", "", "", "", m.none(s.site))
			continue
		}
		more, mark := "", ""
		if known && s.site != m.site {
			more = format.FormatDollars(s.p.Terms.Total() - base.Terms.Total())
			a.figure("site/"+s.site, "more", int64(s.p.Terms.Total()-base.Terms.Total()), "microdollars", m.cited()...)
		}
		if s.site == m.site {
			mark = "awarded"
		}
		a.row(name(s.site), format.FormatDollars(s.p.Terms.Total()), more, format.FormatInstant(s.p.Start), kWh(s.p.Energy), kg(s.p.Carbon), mark)
	}
}

func (l *Log) whyNot(q ask.Query, a *Answer) {
	m := l.matter(q)
	a.cite(m.id)
	if ran(m.rec) == q.Site && (q.Decision == 0 || m.site == q.Site) || m.site == q.Site {
		a.say("It was: job %s was given to %s.", name(m.rec.Job.ID), name(q.Site))
		l.decided(m, a)
		return
	}
	l.decided(m, a)
	p, ok := m.option(q.Site)
	switch {
	case !m.met:
	case !ok:
		a.say("%s made no offer that counts: %s.", name(q.Site), m.none(q.Site))
	case m.site == "" && m.h.Decision.Kind == "award" && m.h.Decision.Site == q.Site:
		a.say("It was awarded to %s in round %d, before that.", name(q.Site), m.h.Round)
	case m.site == "":
		a.say("%s offered a start at %s for %s; it was not taken in this round.", name(q.Site), format.FormatInstant(p.Start), format.FormatDollars(p.Terms.Total()))
		l.ruled(m, q.Site, p, a)
		a.figure("site/"+q.Site, "total-cost", int64(p.Terms.Total()), "microdollars", m.cited()...)
	default:
		l.compare(m, q.Site, p, a)
		l.forced(m, q.Site, a)
		m.terms(a, q.Site, p)
	}
	m.others(a, q.Site)
}

// terms lists two offers term by term.
func (m matter) terms(a *Answer, site string, p history.PricedOption) {
	a.Chart = m.bids()
	won := m.h.Decision.Option
	a.Table = &Table{Head: []string{"term", name(m.site), name(site), "difference"}}
	add := func(term string, x, y protocol.Microdollars) {
		if x != 0 || y != 0 {
			a.row(term, format.FormatDollars(x), format.FormatDollars(y), format.FormatDollars(y-x))
			a.figure("site/"+site, term+"-difference", int64(y-x), "microdollars", m.cited()...)
		}
	}
	for _, c := range narrate.CostCauses() {
		add(c.Label, c.Of(won.Terms), c.Of(p.Terms))
	}
	a.figure("site/"+site, "start-difference", p.Start.Sub(won.Start).Milliseconds(), "ms", m.cited()...)
	a.figure("site/"+site, "finish-difference", p.Finish.Sub(won.Finish).Milliseconds(), "ms", m.cited()...)
	a.figure("site/"+site, "energy-difference", int64(p.Energy-won.Energy), "millijoules", m.cited()...)
	a.row("total", format.FormatDollars(won.Terms.Total()), format.FormatDollars(p.Terms.Total()), format.FormatDollars(p.Terms.Total()-won.Terms.Total()))
	a.row("start", format.FormatInstant(won.Start), format.FormatInstant(p.Start), format.FormatDuration(p.Start.Sub(won.Start)))
	a.row("finish", format.FormatInstant(won.Finish), format.FormatInstant(p.Finish), format.FormatDuration(p.Finish.Sub(won.Finish)))
	a.row("CO2e", kg(won.Carbon), kg(p.Carbon), kg(p.Carbon-won.Carbon))
	a.row("energy used", kWh(won.Energy), kWh(p.Energy), kWh(p.Energy-won.Energy))
}

// others says of what else a site offered in the round.
func (m matter) others(a *Answer, site string) {
	s, ok := m.answer(site)
	if !ok || s.Late || len(s.Options) < 2 {
		return
	}
	a.say("It offered %d options; the cheapest is compared.", len(s.Options))
	a.figure("site/"+site, "options", int64(len(s.Options)), "count", m.cited()...)
}

func (l *Log) whyNotHome(q ask.Query, a *Answer) {
	m := l.matter(q)
	home := m.rec.Job.Home
	if home == "" || l.book.ReportingSite(home) == nil {
		a.Kind = "absent"
		a.cite(m.id)
		a.say("Job %s names no home site that is in this run.", name(m.rec.Job.ID))
		return
	}
	a.assume("its home is " + name(home))
	q.Site = home
	l.whyNot(q, a)
}

// whyNotGreenest asks of the site whose offer has the least carbon.
func (l *Log) whyNotGreenest(q ask.Query, a *Answer) {
	l.whyNotBest(q, a, "least carbon", func(p history.PricedOption) int64 { return int64(p.Carbon) })
}

func (l *Log) whyNotCheapest(q ask.Query, a *Answer) {
	l.whyNotBest(q, a, "least cost", func(p history.PricedOption) int64 { return int64(p.Terms.Total()) })
}

// whyNotBest looks at every option of every site, not only its cheapest.
func (l *Log) whyNotBest(q ask.Query, a *Answer, what string, of func(history.PricedOption) int64) {
	m := l.matter(q)
	site, least, ok := "", int64(0), false
	for _, s := range m.h.Answers {
		for _, p := range s.Options {
			if v := of(p); !s.Late && (!ok || v < least) {
				site, least, ok = s.Site, v, true
			}
		}
	}
	if !ok {
		a.cite(m.id)
		a.say("No site made an offer for job %s that counts.", name(m.rec.Job.ID))
		return
	}
	a.assume("the offer of " + what + " was that of " + name(site))
	if q.Site = site; site != m.site {
		l.whyNot(q, a)
		return
	}
	a.cite(m.id)
	a.say("The offer of %s was that of %s, and it was awarded.", what, name(site))
	l.decided(m, a)
}
