package query

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// An evaluator computes the result of a query.
type evaluator func(*Dataset, ask.Query) Result

// evaluators holds the evaluator of every question, by Query.Ask: a new question is one entry here
// and one in the lexicon.
var evaluators = map[string]evaluator{
	// What was used, and paid for it.
	"bill": (*Dataset).answerBill, "top": (*Dataset).answerMeasure, "mix": (*Dataset).answerEnergyMix, "summary": (*Dataset).answerSummary,
	"brief": (*Dataset).answerBrief, "run-facts": (*Dataset).answerRunFacts, "no-day-before": (*Dataset).answerDayBefore,
	// Sites at a time, and the hours ahead.
	"price-hours": (*Dataset).answerGridHours, "intensity-hours": (*Dataset).answerGridHours, "intensity": (*Dataset).answerGrid, "price": (*Dataset).answerGrid, "greenest": (*Dataset).answerGrid, "cheapest": (*Dataset).answerGrid, "dirtiest": (*Dataset).answerGrid,
	"free": (*Dataset).answerFreeGPUs, "block": (*Dataset).answerLargestBlock, "fit": (*Dataset).answerFit, "power": (*Dataset).answerPower, "report": (*Dataset).answerLastReport,
	"utilization": (*Dataset).answerUtilization, "no-fragments": (*Dataset).answerFragments, "outages": (*Dataset).answerOutages,
	"best-hour": (*Dataset).answerBestHour, "best-price": (*Dataset).answerBestHour, "best-start": (*Dataset).answerBestStart,
	"forecast": (*Dataset).answerForecast, "forecast-error": (*Dataset).answerForecastError,
	// Many jobs.
	"measure": (*Dataset).answerMeasure, "late": (*Dataset).answerMeasure, "waits": (*Dataset).answerMeasure, "pending": (*Dataset).answerPendingJobs, "jobs": (*Dataset).answerMeasure, "stuck": (*Dataset).answerStuckJobs,
	"shares": (*Dataset).answerShares, "pauses": (*Dataset).answerPauses, "no-preemption": (*Dataset).answerPreemptions, "no-priority": (*Dataset).answerPriority, "overflow": (*Dataset).answerOverflow,
	// The market, its rounds and its rules.
	"round": (*Dataset).answerRound, "rounds": (*Dataset).answerRounds, "weights": (*Dataset).answerWeights, "bid-error": (*Dataset).answerBidError, "silent": (*Dataset).answerSilentSites, "activity": (*Dataset).answerActivity, "reneges": (*Dataset).answerReneges,
	"no-arbitration": (*Dataset).answerArbitration, "no-policy-log": (*Dataset).answerPolicyLog, "no-rule": (*Dataset).answerRuleByID, "no-quota": (*Dataset).answerQuotas, "refusals": (*Dataset).answerRefusals, "site-refusals": (*Dataset).answerRefusals, "start-now": (*Dataset).answerStartNow,
	// One job.
	"held": (*Dataset).answerHeld, "where": (*Dataset).answerWhere, "decision": (*Dataset).answerDecision, "times": (*Dataset).answerTimes, "facts": (*Dataset).answerFacts, "waited": (*Dataset).answerWaited,
	"offers": (*Dataset).answerOffers, "offer-count": (*Dataset).answerOffers, "unable": (*Dataset).answerUnableSites, "history": (*Dataset).answerHistory, "advice": (*Dataset).answerAdvice, "ahead": (*Dataset).answerAhead,
	"why": (*Dataset).answerWhy, "why-not": (*Dataset).answerWhyNot, "why-not-home": (*Dataset).answerWhyNotHome,
	"why-not-greenest": whyNotBest("least carbon", func(p history.PricedOption) int64 { return int64(p.Carbon) }),
	"why-not-cheapest": whyNotBest("least cost", func(p history.PricedOption) int64 { return int64(p.Terms.Total()) }),
	"compare-jobs":     (*Dataset).answerCompareJobs,
	// What another offer would have cost, a round with one change, and the run with one.
	"elsewhere": (*Dataset).answerElsewhere, "elsewhere-at": (*Dataset).answerElsewhereAt, "differ": (*Dataset).answerDifference, "immediate": (*Dataset).answerImmediateStart, "saved": (*Dataset).answerSavings,
	"reprice": (*Dataset).answerReprice, "doubled": (*Dataset).answerDoubled, "breakeven": (*Dataset).answerBreakeven, "without": (*Dataset).answerWithoutSite, "slack": (*Dataset).answerSlack,
	"day-without": (*Dataset).answerDayWithout, "day-drained": (*Dataset).answerDayWithout, "day-carbon": (*Dataset).answerDayCarbon, "unbound": (*Dataset).answerUnbound,
	"policies": (*Dataset).answerPolicies, "policy-why": (*Dataset).answerPolicyWhy,
	// Words of the glossary.
	"define": answerDefinition,
}

// AnswerQuery answers a query. The answer is "not-found" if the query names something that is
// not in the run, and "absent" if this federation has no such thing.
func (l *Dataset) AnswerQuery(q ask.Query) Answer {
	if q.Ask == "help" {
		return *helpAnswer()
	}
	q = q.WithDefaults()
	if err := q.Check(); err != nil {
		return *unclearAnswer("This query has no answer: " + err.Error() + ".")
	}
	a := Answer{Kind: "answer", Query: &q, Read: format.CleanText(q.String()), Command: askCommand(q.String())}
	if text, ok := absences[q.Ask]; ok && !l.runHas(q.Ask) {
		a.Kind, a.Command, a.Text = "absent", "", []string{text}
		return a
	}
	evaluate := evaluators[q.Ask]
	if evaluate == nil {
		return *unclearAnswer("No question of that sort is known: `gridbid ask help`.")
	}
	if s := l.history.Service(protocol.ServiceID(q.Job)); s != nil && len(l.jobInstances(q.Job)) == 0 { // all that is known of a service answers whatever is asked of it
		var text strings.Builder
		_ = narrate.WriteService(&text, s, l.lastTime()) // a builder takes all
		for paragraph := range strings.SplitSeq(strings.TrimSpace(text.String()), "\n\n") {
			a.Text = append(a.Text, strings.ReplaceAll(paragraph, "\n", " "))
		}
		return a
	}
	if back := l.checkNames(q); back != nil {
		return *back
	}
	r := l.evaluateOverParts(evaluate, q)
	r.fillAnswer(&a)
	if q.Job != "" || q.Decision != 0 {
		if m := l.caseOf(q); m.hasRound {
			a.addFigures(m.roundFigure())
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

// unclearAnswer returns the answer to a question that was not understood.
func unclearAnswer(text string) *Answer { return &Answer{Kind: "unclear", Text: []string{text}} }

// runHas reports whether this run has what the question of an absence asks for.
func (l *Dataset) runHas(ask string) bool {
	switch ask {
	case "no-arbitration":
		return l.history.JudgeQuestions() > 0
	case "no-quota":
		return len(l.policyAt(1<<62).Quotas) > 0
	case "no-policy-log", "no-rule":
		return len(l.history.PolicyVersions()) > 0
	}
	return false
}

// checkNames returns an answer if the query names what is not in the run, or a time outside
// the record; nil if all of it is there.
func (l *Dataset) checkNames(q ask.Query) *Answer {
	missing := func(format string, args ...any) *Answer {
		return &Answer{Kind: "not-found", Text: []string{fmt.Sprintf(format, args...)}}
	}
	if q.Decision != 0 {
		if _, ok := l.history.DecisionByNumber(q.Decision); !ok {
			all := l.history.AllDecisions()
			if len(all) == 0 {
				return missing("No decision %s is in this run; it has none at all.", decisionLabel(q.Decision))
			}
			return missing("No decision %s is in this run. They go from %s to %s; a number in between may be another message of the coordinator.",
				decisionLabel(q.Decision), decisionLabel(all[0].Number), decisionLabel(all[len(all)-1].Number))
		}
	}
	jobs := []protocol.JobID{q.Job}
	if q.Job != "" {
		jobs = append(jobs, protocol.JobID(q.Against))
	}
	for _, id := range jobs {
		if _, ok := l.history.LatestJob(id); id != "" && !ok {
			return missing("No job %q is in this run.", format.CleanText(string(id)))
		}
	}
	sites, tenants := append([]string{q.Site, q.Other, q.Home}, q.ExceptSites...), append([]string{q.Tenant}, q.ExceptTenants...)
	switch {
	case q.Site != "":
		sites = append(sites, q.Against)
	case q.Tenant != "":
		tenants = append(tenants, q.Against)
	}
	for _, x := range []struct {
		what         string
		named, known []string
	}{{"site", sites, l.history.ReportingSiteNames()}, {"tenant", tenants, l.history.TenantNames()}, {"GPU model", []string{q.Model}, l.modelNames()}} {
		for _, name := range x.named {
			if name != "" && !slices.Contains(x.known, name) {
				return missing("No %s %q is in this run.", x.what, format.CleanText(name))
			}
		}
	}
	if q.Long > maxAhead || q.Within > maxAhead || slices.Contains(aheadOfNow, q.Ask) && q.To.Sub(q.From) > maxAhead {
		return unclearAnswer("A length of time goes up to 30 days here.")
	}
	if q.To-q.From > maxWindow {
		return unclearAnswer("A window of time goes up to 100 years here.")
	}
	last := l.lastTime()
	if slices.Contains(aheadOfNow, q.Ask) {
		last = last.Add(maxAhead)
	}
	if q.At != 0 && (q.At < l.firstTime() || q.At > last) || q.To != 0 && (q.To <= l.firstTime() || q.From > last || q.From >= q.To) {
		return missing("That time is not in the record, which goes from %s to %s.", l.firstTime(), l.lastTime())
	}
	return nil
}

// maxAhead is the longest length of time that hours ahead are looked at.
const maxAhead = 30 * 24 * time.Hour

// aheadOfNow are the questions whose time may be past the end of the record.
var aheadOfNow = []string{"best-hour", "best-price", "forecast"}

// maxWindow is the longest window of time that is gone through: 36,525 days.
const maxWindow = protocol.Time(36_525 * 86_400_000)

// absences are what this federation has not, by what is asked.
var absences = map[string]string{
	"no-quota":       "This federation has no quotas, so none was used, lent or borrowed. Jobs compete by cost and deadline alone; `gridbid ask 'fair share by tenant'` says what each tenant got.",
	"no-replicas":    "Jobs have no replicas here: each runs whole, on one node, or not at all.",
	"no-arbitration": "No decision was arbitrated: no model and no judge takes part here. Rules decided all of them, and arbitration cost nothing.",
	"no-policy-log":  "Nobody changed the policy: a run has one policy from its start to its end.",
	"no-rule":        "No rules with ids are in this run. `gridbid ask 'rules in force'` says what decided.",
}

// A jobCase is a job, one decision on it and the round of that decision.
type jobCase struct {
	job      history.JobRecord
	round    history.JobRound // zero unless hasRound
	decision uint64           // the decision; 0 if there is none yet
	hasRound bool             // the round is on record
	site     string           // awarded by that decision; "" if it is no award
	state    history.State    // at the end of the record
}

// caseOf finds the job and the round that a query is about: those of its decision, or of the
// decision in force for its job.
func (l *Dataset) caseOf(q ask.Query) jobCase {
	if q.Decision != 0 {
		return l.caseOfDecision(l.jobOfDecision(l.decisionOf(q.Decision)), q.Decision)
	}
	var r history.JobRecord
	if all := l.jobInstances(q.Job); len(all) > 0 {
		r = all[len(all)-1]
	}
	return l.caseOfDecision(r, l.currentDecision(r))
}

// caseOfDecision finds the round of a decision on a job: its last if no round came to it.
func (l *Dataset) caseOfDecision(r history.JobRecord, decision uint64) jobCase {
	m := jobCase{job: r, decision: decision, state: l.stateOf(r)}
	round := l.decisionOf(decision).Round
	for _, h := range r.FullRounds {
		if h.Round == round || round == 0 {
			m.round, m.hasRound = h, true
		}
	}
	if m.hasRound && m.round.Decision.Kind == "award" && decisionNumber(m.round.Decision) == m.decision {
		m.site = m.round.Decision.Site
	}
	return m
}

// siteOfRun returns the site where a job ran, or runs; "" if it did not.
func siteOfRun(r history.JobRecord) string {
	if r.Run == nil {
		return ""
	}
	return r.Run.Site
}

// citedDecisions returns the decision of a case in the form that figures cite; nil without one.
func (m jobCase) citedDecisions() []string {
	if m.decision == 0 {
		return nil
	}
	return []string{decisionLabel(m.decision)}
}

// roundFigure returns the number of the case's round.
func (m jobCase) roundFigure() Figure {
	return valueOf("decision", "round", m.round.Round, m.citedDecisions()...)
}

// cheapestOption returns the cheapest option that a site offered in time, or what was
// awarded to it.
func (m jobCase) cheapestOption(site string) (history.PricedOption, bool) {
	if m.site == site && site != "" {
		return m.round.Decision.Option, true
	}
	a, ok := m.answerOf(site)
	if !ok || a.Late || len(a.Options) == 0 {
		return history.PricedOption{}, false
	}
	return a.Options[0], true
}

// answerOf returns a site's answer in the case's round; false if it was not called to it.
func (m jobCase) answerOf(site string) (history.Answer, bool) {
	i := slices.IndexFunc(m.round.Answers, func(a history.Answer) bool { return a.Site == site })
	if i < 0 {
		return history.Answer{}, false
	}
	return m.round.Answers[i], true
}

// roundNotRecorded says why no answers of sites are known: another coordinator ran the round.
const roundNotRecorded = "its round is not in this record"

// noOffer says why a site has no offer that counts.
func (m jobCase) noOffer(site string) Part {
	a, ok := m.answerOf(site)
	switch {
	case !ok:
		return plainText("it was not known, or was said to be gone, when the round was called")
	case a.Message == history.MessageRef{}:
		return newSentence("it did not answer by %s", valueOf("decision", "closed", m.round.Closes, m.citedDecisions()...))
	case a.Late:
		return newSentence("it answered too late, at %s", siteValue(m, site, "answered", a.Message.At))
	}
	return reasonText(a.Why)
}

// sizePart is what is shown of a job's size: "8 GPUs".
func (m jobCase) sizePart() Part {
	j := m.job.Job
	if j.GPUs == 0 {
		return newSentence("%s cores", jobValue(m, "cores", j.CPU))
	}
	if j.TotalGPUMilli() == 1000 {
		return newSentence("%s GPU", jobValue(m, "gpus", j.TotalGPUMilli()))
	}
	return newSentence("%s GPUs", jobValue(m, "gpus", j.TotalGPUMilli()))
}

// addAssumption adds a default or assumption to the line that says how the question was read.
func (a *Answer) addAssumption(what string) { a.Read = strings.TrimSpace(a.Read) + " — " + what }
