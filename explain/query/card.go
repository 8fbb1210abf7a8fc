package query

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// ExplainJob returns all that `gridbid why` says of a job, in the sentences of the answers about it: what it
// asked for, what was decided and why, how often it was called, and what was measured. Its table has what
// the offers cost, by cause, and that of its further answer what they are.
func ExplainJob(h *history.History, job history.JobRecord) Answer {
	l := &Dataset{history: h}
	m := l.caseOfDecision(job, l.currentDecision(job))
	var r, offers Result
	r.citeDecision(m.decision)
	r.describeRequest(m)
	if job.Job.IsDivided() {
		r.describeParts(m)
	} else {
		r.describeCourse(l, m)
	}
	a := Answer{Kind: "answer"}
	if m.hasRound {
		r.listCauses(m)
		offers.listTermsOfOffers(m)
	}
	if len(offers.Rows) > 0 {
		a.More = []Answer{{Kind: "answer"}}
		offers.fillAnswer(&a.More[0])
	}
	cites := r.Cites
	r.Cites = nil
	r.citeNamed(cites...)
	r.fillAnswer(&a)
	for _, cells := range offers.Rows {
		a.addFigures(cells...)
	}
	return a
}

// WriteJob writes what ExplainJob returns for people.
func WriteJob(w io.Writer, h *history.History, job history.JobRecord) error {
	return ExplainJob(h, job).WriteText(w)
}

// describeCourse says what was decided on a job, and what became of it.
func (r *Result) describeCourse(l *Dataset, m jobCase) {
	job := m.job
	r.describeDecision(l, m)
	if m.site != "" {
		r.describeAward(l, m)
	}
	r.describeGangRoom(m)
	if len(job.Rounds) > 0 && job.Older {
		r.addSentence("It had been called in rounds before, which are not in this record.")
	}
	if n := len(job.Rounds); n > 1 {
		r.addSentence("It was called in %s, from %s to %s.", countedPart(jobValue(m, "rounds", n), "round", "rounds"), jobValue(m, "first-round", job.Rounds[0].At), jobValue(m, "last-round", job.Rounds[n-1].At))
		r.describeHolds(l, m)
	}
	r.describeLapses(m)
	if job.Refusal == nil {
		r.describePaused(m)
		r.describeTimes(m)
		r.describeBillOf(l, job)
	}
}

// describeRequest says what a job asked for, for how long, and what limits when and where it may run.
func (r *Result) describeRequest(m jobCase) {
	j := m.job.Asked()
	needs, lasts, whose := []Part{m.askedPart()}, newSentence("a time that it does not say"), plainText("")
	if j.GPUs > 0 {
		needs = append(needs, newSentence("%s cores", jobValue(m, "cores", j.CPU)))
	}
	if j.Run > 0 {
		lasts = newSentence("%s at the reference clock", jobValue(m, "run-asked", j.Run))
	}
	if j.IsElastic() {
		lasts = newSentence("%s on %s", lasts, countedPart(jobValue(m, "pods", j.PodCount()), "pod", "pods"))
	}
	who := []Part{m.jobName(), whose, partList(needs), m.togetherPart(), lasts}
	if j.Tenant != "" {
		who[1] = newSentence(" of tenant %s", namePart(j.Tenant))
	}
	r.addSentence("Job %s%s wants %s%s for %s.", who...)
	for _, a := range m.round.Answers {
		for _, e := range a.Expect {
			if of := Part(plainText("by rule, as it has run no such job")); j.Run == 0 {
				if e.Runs > 0 {
					of = newSentence("by %s like it", countedPart(siteValue(m, a.Site, "runs", e.Runs), "run", "runs"))
				}
				r.addSentence("%s estimates %s, %s: half of such jobs took %s, nine in ten %s.", namePart(a.Site), siteValue(m, a.Site, "run-mean", e.Mean), of, siteValue(m, a.Site, "run-median", e.P50), siteValue(m, a.Site, "run-p90", e.P90))
			}
		}
	}
	if j.PartOf != "" {
		r.addSentence("It is a part of job %s, all of whose parts start, or none.", namePart(j.PartOf))
	}
	r.addSentence("It arrived %s, to be done by %s. %s", m.arrivalFigure(), m.deadlineFigure(), urgencyTexts[j.Urgency])
	if len(j.Models) > 0 {
		r.addSentence("GPU models that will do: %s.", namesOf(j.Models...))
	}
	if len(j.Regions) > 0 {
		r.addSentence("Its data may be at %s only.", namesOf(j.Regions...))
	}
}

// urgencyTexts say what a job's urgency means for when it starts.
var urgencyTexts = map[protocol.Urgency]plainText{
	protocol.UrgencyNow:      "It is wanted now, so it may not be deferred.",
	protocol.UrgencyStandard: "It is standard, so it may be deferred while that saves more than its waiting costs.",
	protocol.UrgencyFlexible: "It is flexible, so it may be deferred until its deadline.",
}

// askedPart says what a job asks for: of a gang by its pods.
func (m jobCase) askedPart() Part {
	if j := m.job.Asked(); j.IsGang() {
		return recordedText(narrate.SizeText(j))
	}
	return m.sizePart()
}

// togetherPart says where the pods of a gang start.
func (m jobCase) togetherPart() Part {
	j := m.job.Job
	switch least := j.LeastPods(); {
	case j.IsDivided():
		return newSentence(" in all, to start together at up to %s,", countedPart(jobValue(m, "sites-at-most", j.MaxSites), "site", "sites"))
	case !j.IsGang():
		return plainText("")
	case least < j.PodCount():
		return newSentence(" in all, to start together at one site, or at least %s of these pods,", jobValue(m, "pods-at-least", least))
	}
	return plainText(" in all, to start together at one site,")
}

// describeParts says of a job in parts where each of them is.
func (r *Result) describeParts(m jobCase) {
	r.addSentence("It has %s; all of them start, or none does. Each has a decision of its own.", countedPart(jobValue(m, "parts", len(m.job.Job.Parts)), "part", "parts"))
	for _, p := range m.job.PartStates {
		r.addSentence("%s: %s.", namePart(p.Part), recordedText(narrate.JobStateText(p.JobState, 0)))
	}
}

// describeAward says why an award is at its site and at its hour.
func (r *Result) describeAward(l *Dataset, m jobCase) {
	d := m.round.Decision
	if d.Queue {
		r.addSentence("If there is no room by then it waits at the site.")
	}
	switch p, next, ok := narrate.CheapestOtherSite(m.round, m.site); {
	case ok:
		r.describeComparison(l, m, next, p)
		if n := countReneges(m.job, next); n >= maxReneges && p.Terms.Total() < d.Option.Terms.Total() {
			r.addSentence("%s had been awarded the job %s before and had not kept it: such a site is passed over for some rounds.", namePart(next), countedPart(siteValue(m, next, "awards-not-kept", n), "time", "times"))
		}
	case d.Why.Code == protocol.ByRule:
		r.addSentence("No other site's offer was heard, and none was needed: the rule does not compare costs.")
	default:
		r.addSentence("No other site made an offer that counts.")
	}
	if _, _, _, _, ok := l.savingOf(m.job); ok && !startedAtEarliest(m.job) && m.decision == l.currentDecision(m.job) {
		r.describeEarliest(m)
		r.describeSavings(l, m.job)
	}
	r.describeSizes(m)
	if p := d.Proof; p.Jobs > 0 {
		of := func(what string, v protocol.Microdollars) Figure {
			return valueOf("award", what, v, m.citedDecisions()...)
		}
		r.addSentence("The round cleared %s at a cost of %s; no assignment of them can cost less than %s.", countedPart(valueOf("award", "round-jobs", p.Jobs, m.citedDecisions()...), "job", "jobs"), of("primal", p.Primal), of("bound", p.Bound))
	}
}

// maxReneges is how often a site must fail to keep a job before its bids are passed over: the same
// constant as in coordinator/market.
const maxReneges = 8

// countReneges counts the awards of a job to a site before its last award that the site did not keep.
func countReneges(r history.JobRecord, site string) (n int) {
	for _, a := range r.Awards[:len(r.Awards)-1] {
		if a.Site == site && a.Answer != "accept" && a.Declined.Code != protocol.SiteDecommissioned {
			n++
		}
	}
	return n
}

// describeSizes says of an elastic job that was awarded on how many pods its site offered it, and what the best
// option of each would have cost beside the one that it got.
func (r *Result) describeSizes(m jobCase) {
	job, got := m.job.Job, m.round.Decision.Option
	best := make(map[int]history.PricedOption)
	if a, ok := m.answerOf(m.site); ok && !a.Late {
		for _, p := range a.Options {
			n := cmp.Or(p.Pods, job.PodCount())
			if x, has := best[n]; !has || p.Terms.Total() < x.Terms.Total() {
				best[n] = p
			}
		}
	}
	pods := cmp.Or(got.Pods, job.PodCount())
	if _, offered := best[pods]; !job.IsElastic() || len(best) < 2 || !offered {
		return
	}
	var sizes, others partList
	cheaper := plainText("")
	for _, n := range sortedKeys(best) {
		size := func(what string) string { return fmt.Sprintf("pods-%d-%s", n, what) }
		count := siteValue(m, m.site, size("count"), n)
		if sizes = append(sizes, count); n == pods {
			continue
		}
		word, more := plainText("more"), best[n].Terms.Total()-got.Terms.Total()
		if more < 0 {
			word, cheaper = "less", " Which room was left, and what it is worth to other jobs, decided as well."
		}
		others = append(others, newSentence("%s would have cost %s %s and ended %s", count, withoutSign(siteValue(m, m.site, size("cost-difference"), more)), word, siteValue(m, m.site, size("finish"), best[n].Finish)))
	}
	r.addSentence("%s offered it on %s pods. It got %s, which end %s; %s.%s", namePart(m.site), sizes, siteValue(m, m.site, "pods", pods), siteValue(m, m.site, "finish", got.Finish), others, cheaper)
}

// describeGangRoom says of a gang with how many of its pods it goes, and what it waited for.
func (r *Result) describeGangRoom(m jobCase) {
	j, asked, w := m.job.Job, m.job.Asked(), m.job.GangWait(&m.round)
	if asked.PodCount() > j.PodCount() {
		r.addSentence("It goes with %s of its %s pods, and takes longer for it: %s at the reference clock.", jobValue(m, "pods-gone", j.PodCount()), jobValue(m, "pods-asked", asked.PodCount()), jobValue(m, "run", j.Run))
	}
	if j.IsGang() && w.Site != "" {
		where := newSentence("at once")
		if j.RequiredTopology != "" {
			where = newSentence("at once in one domain of %s", namePart(j.RequiredTopology))
		}
		r.addSentence("It needs room for its %s pods (%s) %s, and the largest site, %s, had room for %s.", jobValue(m, "pods", j.PodCount()), recordedText(narrate.SizeText(j)), where, namePart(w.Site), jobValue(m, "pods-with-room", w.Room))
	}
	if j.IsGang() && w.Held != nil {
		r.addSentence("%s keeps nodes for it from %s on, as they become free: %s GPU-hours until it starts, which count %s under awake. Jobs that end by then run there meanwhile; none that comes later can put it off, only what runs there now and takes longer than planned.",
			namePart(m.round.Decision.Site), jobValue(m, "kept-from", w.Held.From), jobValue(m, "kept-gpu-hours", w.Held.GPUHours), jobValue(m, "kept-cost", w.Held.Cost))
	}
}

// describeHolds says how often a job was held, by reason in the order in which the reasons first occurred, and
// reports whether it was.
func (r *Result) describeHolds(l *Dataset, m jobCase) bool {
	counts := make(map[protocol.Code]int)
	var order []protocol.Code
	for _, d := range l.holdsOf(m.job) {
		if counts[d.Why.Code]++; counts[d.Why.Code] == 1 {
			order = append(order, d.Why.Code)
		}
		r.citeDecision(d.Number)
	}
	for _, code := range order {
		r.addSentence("It was held %s because %s.", countedPart(valueOf(jobSubject(m.job.Job.ID), "held-"+string(code), counts[code], r.Cites...), "time", "times"), reasonText{Code: code})
	}
	return len(order) > 0
}

// describeLapses says which awards of a job were not kept, and reports whether a site gave one back.
func (r *Result) describeLapses(m jobCase) (givenBack bool) {
	for _, d := range m.job.Awards {
		at := jobValue(m, "given-back", d.Answered.At)
		switch {
		case d.Preempted != nil:
			r.Sentences = append(r.Sentences, preemptionSentence(m.job.Job.ID, d))
		case d.Answer == "decline" && d.Declined.Code == protocol.SiteDecommissioned:
			r.addSentence("At %s it was taken from %s: %s.", at, namePart(d.Site), reasonText(d.Declined))
		case d.Answer == "decline":
			r.addSentence("At %s %s declined it: %s.", at, namePart(d.Site), reasonText(d.Declined))
		default:
			if d.Expired && d.Answer == "" {
				r.addSentence("In round %s it was awarded to %s, which did not answer in time.", jobValue(m, "lapsed-round", d.Round), namePart(d.Site))
			}
			continue
		}
		givenBack = true
	}
	return givenBack
}

// An offerColumn is a quantity of the offers in a table.
type offerColumn struct {
	head string
	of   func(m jobCase, site string, p history.PricedOption) Part
}

// offerColumns are the quantities that offers are listed by, beside the causes of their cost.
var offerColumns = []offerColumn{
	{"total $", func(m jobCase, s string, p history.PricedOption) Part {
		return siteValue(m, s, "total-cost", p.Terms.Total())
	}},
	{"more $", func(m jobCase, s string, p history.PricedOption) Part {
		if base, known := m.cheapestOption(m.site); known && s != m.site {
			return siteValue(m, s, "more", p.Terms.Total()-base.Terms.Total())
		}
		return plainText("")
	}},
	{"start", func(m jobCase, s string, p history.PricedOption) Part { return siteValue(m, s, "start", p.Start) }},
	{"finish", func(m jobCase, s string, p history.PricedOption) Part { return siteValue(m, s, "finish", p.Finish) }},
	{"GPU", func(_ jobCase, _ string, p history.PricedOption) Part { return namePart(cmp.Or(p.Model, "no GPU")) }},
	{"cap", func(m jobCase, s string, p history.PricedOption) Part {
		if p.Cap == 0 {
			return plainText("none")
		}
		return formattedFigure{Figure{"site/" + s, "cap", int64(p.Cap), "milliwatts", m.citedDecisions()}, func(v int64) string { return strconv.FormatInt((v+500)/1000, 10) + " W" }}
	}},
	{"kWh", func(m jobCase, s string, p history.PricedOption) Part { return siteValue(m, s, "energy", p.Energy) }},
	{"kg CO2e", func(m jobCase, s string, p history.PricedOption) Part { return siteValue(m, s, "carbon", p.Carbon) }},
	{"options", func(m jobCase, s string, _ history.PricedOption) Part {
		a, _ := m.answerOf(s)
		return siteValue(m, s, "options", len(a.Options))
	}},
}

// columnsNamed returns some of offerColumns.
func columnsNamed(heads ...string) (all []offerColumn) {
	for _, c := range offerColumns {
		if slices.Contains(heads, c.head) {
			all = append(all, c)
		}
	}
	return all
}

// listOffersBy lists the offers of all sites by some quantities, the cheapest first, and draws them. With all it
// lists sites without an offer after them, and why they have none.
func (r *Result) listOffersBy(m jobCase, all bool, columns ...offerColumn) {
	r.Chart, r.Head = m.bidsChart(), []string{"site"}
	for _, c := range columns {
		r.Head = append(r.Head, c.head)
	}
	r.Head = append(r.Head, "why")
	for _, s := range m.answersByCost() {
		p, ok := m.cheapestOption(s.Site)
		if !ok && !all {
			continue
		}
		cells, why := []Part{namePart(s.Site)}, Part(plainText(map[bool]string{true: "awarded"}[s.Site == m.site]))
		if !ok {
			why = m.noOffer(s.Site)
		}
		for i, c := range columns {
			switch {
			case ok:
				cells = append(cells, c.of(m, s.Site, p))
			case i == 0:
				cells = append(cells, plainText("–"))
			default:
				cells = append(cells, plainText(""))
			}
		}
		r.addRow(append(cells, why)...)
	}
}

// answersByCost returns what sites answered, the cheapest offer first and those without one last.
func (m jobCase) answersByCost() []history.Answer {
	cost := func(site string) protocol.Microdollars {
		if p, ok := m.cheapestOption(site); ok {
			return p.Terms.Total()
		}
		return math.MaxInt64
	}
	answers := slices.Clone(m.round.Answers)
	slices.SortStableFunc(answers, func(x, y history.Answer) int { return cmp.Compare(cost(x.Site), cost(y.Site)) })
	return answers
}

// listOffers lists what every site answered.
func (r *Result) listOffers(m jobCase) {
	r.listOffersBy(m, true, columnsNamed("total $", "more $", "start", "kWh", "kg CO2e")...)
}

// listTermsOfOffers lists when the offers run, on what, and what they take.
func (r *Result) listTermsOfOffers(m jobCase) {
	r.addSentence("What those offers are; times are UTC.")
	r.listOffersBy(m, false, columnsNamed("start", "finish", "GPU", "cap", "kWh", "kg CO2e", "options")...)
}

// listCauses lists what the offers cost by cause. Causes that are zero everywhere are left out.
func (r *Result) listCauses(m jobCase) {
	columns := columnsNamed("total $", "more $")
	add := func(head, name string, of func(history.PricedOption) protocol.Microdollars) (some bool) {
		for _, s := range m.round.Answers {
			p, _ := m.cheapestOption(s.Site)
			some = some || of(p) != 0
		}
		if some {
			columns = append(columns, offerColumn{head, func(m jobCase, s string, p history.PricedOption) Part { return siteValue(m, s, name, of(p)) }})
		}
		return some
	}
	w, offered := m.round.Weights, false
	for _, s := range m.round.Answers {
		if _, ok := m.cheapestOption(s.Site); ok {
			offered = true
		} else {
			r.describeNoOffer(m, s.Site)
		}
	}
	if !offered {
		return
	}
	r.addSentence("Below is what each site's best offer costs, by cause; carbon counts %s per tonne.", valueOf("run", "carbon-price", microdollarsPerKg(w.Carbon), m.citedDecisions()...))
	for _, c := range narrate.CostCauses() {
		if add(c.Label, c.Key+"-cost", func(p history.PricedOption) protocol.Microdollars { return c.Of(p.Terms) }) && c.Key == "late" {
			r.addSentence("Lateness counts %s per GPU-hour here, and a quarter of an hour at least, whatever its owner is charged, so that deadlines are kept first.", valueOf("run", "ranking-late-price", microdollarsPerGPUHour(w.ForRanking().Late), m.citedDecisions()...))
		}
	}
	if add("(room)", "room-worth", func(p history.PricedOption) protocol.Microdollars { return p.Room }) {
		r.addSentence("Room is not in the total: it is what the GPU-hours are worth to other jobs, by the prices that the round was called with.")
	}
	r.listOffersBy(m, false, columns...)
}
