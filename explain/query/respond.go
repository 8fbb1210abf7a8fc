package query

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// An evaluator computes what a query comes to.
type evaluator func(*Log, ask.Query) Result

// evaluators are those of all families, by what is asked. Each family has its table in
// its own file, so that a new question is one entry there and one in the lexicon.
var evaluators = merged(aboutSites, aboutJobs, aboutHoursAhead, aboutUse, aboutMarket, aboutReplays, aboutRounds, aboutOffers,
	aboutOneJob, aboutReasons, aboutPlaces, aboutDays, aboutRules, aboutBreaks, aboutFragments)

func merged(families ...map[string]evaluator) map[string]evaluator {
	all := make(map[string]evaluator)
	for _, f := range families {
		maps.Copy(all, f)
	}
	return all
}

// Answer computes what a query asks. A query that holds a name which is not in
// the run is answered with "not-found".
func (l *Log) Answer(q ask.Query) Answer {
	if q.Ask == "help" {
		return *help()
	}
	q = q.WithDefaults()
	if err := q.Check(); err != nil {
		return *unclear("This query has no answer: " + err.Error() + ".")
	}
	a := Answer{Kind: "answer", Query: &q, Read: format.CleanText(q.String()), Command: command(q.String())}
	if text, ok := absences[q.Ask]; ok && !l.has(q.Ask) {
		a.Kind, a.Command, a.Text = "absent", "", []string{text}
		return a
	}
	evaluate := evaluators[q.Ask]
	if evaluate == nil {
		return *unclear("No question of that sort is known: `gridbid ask help`.")
	}
	if back := l.check(q); back != nil {
		return *back
	}
	r := evaluate(l, q)
	r.fill(&a)
	if q.Job != "" || q.Decision != 0 {
		if m := l.matter(q); m.met {
			a.give(m.round())
		}
	}
	if a.Kind != "answer" {
		a.Figures, a.Chart = nil, nil
	}
	if a.Chart != nil {
		a.Draw = commandOf("chart answer", q.String())
	}
	return a
}

func unclear(text string) *Answer { return &Answer{Kind: "unclear", Text: []string{text}} }

// has reports whether this run has what others lack.
func (l *Log) has(ask string) bool {
	switch ask {
	case "no-arbitration":
		return l.book.JudgeQuestions() > 0
	case "no-policy-log", "no-rule":
		return len(l.book.PolicyVersions()) > 0
	}
	return false
}

// check returns what to say of a query about what is not there.
func (l *Log) check(q ask.Query) *Answer {
	missing := func(format string, args ...any) *Answer {
		return &Answer{Kind: "not-found", Text: []string{fmt.Sprintf(format, args...)}}
	}
	if q.Decision != 0 {
		if _, ok := l.book.DecisionByNumber(q.Decision); !ok {
			all := l.book.AllDecisions()
			if len(all) == 0 {
				return missing("No decision %s is in this run; it has none at all.", cite(q.Decision))
			}
			return missing("No decision %s is in this run. They go from %s to %s; a number in between may be another message of the coordinator.",
				cite(q.Decision), cite(all[0].Number), cite(all[len(all)-1].Number))
		}
	}
	if _, ok := l.book.LatestJob(q.Job); q.Job != "" && !ok {
		return missing("No job %q is in this run.", format.CleanText(string(q.Job)))
	}
	for _, s := range []string{q.Site, q.Other} {
		if s != "" && l.book.ReportingSite(s) == nil {
			return missing("No site %q is in this run.", format.CleanText(s))
		}
	}
	if q.Tenant != "" && !slices.Contains(l.book.TenantNames(), q.Tenant) {
		return missing("No tenant %q is in this run.", format.CleanText(q.Tenant))
	}
	if q.Long > mostAhead || q.Within > mostAhead || slices.Contains(aheadOfNow, q.Ask) && q.To.Sub(q.From) > mostAhead {
		return unclear("A length of time goes up to 30 days here.")
	}
	if q.To-q.From > century {
		return unclear("A window of time goes up to 100 years here.")
	}
	last := l.last()
	if slices.Contains(aheadOfNow, q.Ask) {
		last = last.Add(mostAhead)
	}
	if q.At != 0 && (q.At < l.first() || q.At > last) || q.To != 0 && (q.To <= l.first() || q.From > last || q.From >= q.To) {
		return missing("That time is not in the record, which goes from %s to %s.", l.first(), l.last())
	}
	return nil
}

// mostAhead is the longest length of time that hours ahead are looked at.
const mostAhead = 30 * 24 * time.Hour

// aheadOfNow are asks whose time may be past the end of the record.
var aheadOfNow = []string{"best-hour", "best-price", "forecast"}

// century is the longest window of time that is gone through: 36,525 days.
const century = protocol.Time(36_525 * 86_400_000)

// absences are what this federation has not, by what is asked.
var absences = map[string]string{
	"no-quota":       "This federation has no quotas, so none was used, lent or borrowed. Jobs compete by cost and deadline alone; `gridbid ask 'fair share by tenant'` says what each tenant got.",
	"no-replicas":    "Jobs have no replicas here: each runs whole, on one node, or not at all.",
	"no-arbitration": "No decision was arbitrated: no model and no judge takes part here. Rules decided all of them, and arbitration cost nothing.",
	"no-policy-log":  "Nobody changed the policy: a run has one policy from its start to its end.",
	"no-rule":        "No rules with ids are in this run. `gridbid ask 'rules in force'` says what decided.",
}

// A case is a job as one decision met it.
type matter struct {
	rec  history.JobRecord
	h    history.JobRound // zero if it was never heard
	id   uint64           // the decision; 0 if there is none yet
	met  bool             // h is there
	site string           // that was awarded it in that decision; ""
}

// matter finds the job and the round that a query is about: the decision's, or
// the one that the job stands by.
func (l *Log) matter(q ask.Query) matter {
	if q.Decision != 0 {
		return l.about(l.decidedOn(l.decisionOf(q.Decision)), q.Decision)
	}
	r := l.known(q.Job)
	return l.about(r, l.deciding(r))
}

// about finds the round of a decision on a job: its last if no round came to it.
func (l *Log) about(r history.JobRecord, decision uint64) matter {
	m := matter{rec: r, id: decision}
	round := l.decisionOf(decision).Round
	for _, h := range r.FullRounds {
		if h.Round == round || round == 0 {
			m.h, m.met = h, true
		}
	}
	if m.met && m.h.Decision.Kind == "award" && number(m.h.Decision) == m.id {
		m.site = m.h.Decision.Site
	}
	return m
}

// ran returns the site where a job ran, or runs; "" if it did not.
func ran(r history.JobRecord) string {
	if r.Run == nil {
		return ""
	}
	return r.Run.Site
}

// cited returns the decision of a matter as an answer's figures cite it.
func (m matter) cited() []string {
	if m.id == 0 {
		return nil
	}
	return []string{cite(m.id)}
}

// round returns the number of the round that a matter is about.
func (m matter) round() Figure { return valueOf("decision", "round", m.h.Round, m.cited()...) }

// option returns the cheapest option that a site offered in time, or what was
// awarded to it.
func (m matter) option(site string) (history.PricedOption, bool) {
	if m.site == site && site != "" {
		return m.h.Decision.Option, true
	}
	a, ok := m.answer(site)
	if !ok || a.Late || len(a.Options) == 0 {
		return history.PricedOption{}, false
	}
	return a.Options[0], true
}

func (m matter) answer(site string) (history.Answer, bool) {
	i := slices.IndexFunc(m.h.Answers, func(a history.Answer) bool { return a.Site == site })
	if i < 0 {
		return history.Answer{}, false
	}
	return m.h.Answers[i], true
}

// unmet says why there are no answers of sites to what another coordinator decided.
const unmet = "its round is not in this record"

// noOffer says why a site has no offer that counts.
func (m matter) noOffer(site string) Part {
	a, ok := m.answer(site)
	switch {
	case !ok:
		return phrase("it was not known, or was said to be gone, when the round was called")
	case a.Message == history.MessageRef{}:
		return sentence("it did not answer by %s", valueOf("decision", "closed", m.h.Closes, m.cited()...))
	case a.Late:
		return sentence("it answered too late, at %s", siteValue(m, site, "answered", a.Message.At))
	}
	return because(a.Why)
}

// largest returns the term in which b exceeds a most, and by how much.
func largest(a, b protocol.CostBreakdown) (string, protocol.Microdollars) {
	best, by := "", protocol.Microdollars(0)
	for _, c := range narrate.CostCauses() {
		if d := c.Of(b) - c.Of(a); d > by {
			best, by = c.Label, d
		}
	}
	return best, by
}

// size is what is shown of a job's size: "8 GPUs".
func (m matter) size() Part {
	j := m.rec.Job
	if j.GPUs == 0 {
		return sentence("%s cores", jobValue(m, "cores", j.CPU))
	}
	if j.TotalGPUMilli() == 1000 {
		return sentence("%s GPU", jobValue(m, "gpus", j.TotalGPUMilli()))
	}
	return sentence("%s GPUs", jobValue(m, "gpus", j.TotalGPUMilli()))
}

// assume adds what was taken for granted to how the question was read.
func (a *Answer) assume(what string) { a.Read = strings.TrimSpace(a.Read) + " — " + what }
