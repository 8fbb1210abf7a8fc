package query

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// policyAt returns the policy in force when the coordinator sent its seq-th
// message.
func (l *Dataset) policyAt(seq uint64) (p protocol.Policy) {
	for _, x := range l.history.PolicyVersions() {
		if x.Seq <= seq {
			p = x.Policy
		}
	}
	return p
}

// judgeExtraCost returns what a judge's choice cost more; false if it did not choose.
func (l *Dataset) judgeExtraCost(job protocol.JobID, round uint64, d history.Decision) (protocol.Microdollars, bool) {
	h := l.history.JudgeQuestionOf(round, job)
	if h == nil || d.Why.Code != protocol.ChosenByJudge {
		return 0, false
	}
	extra, _ := record.JudgeExtra(h.Ask, d)
	return extra, true
}

// answerArbitration says of one decision whether a judge decided it, or of all what
// that cost.
func (l *Dataset) answerArbitration(q ask.Query) Result {
	if q.Job == "" && q.Decision == 0 {
		return l.answerAllJudged(q)
	}
	r, m := l.resultAndCase(q)
	h := l.history.JudgeQuestionOf(m.round.Round, m.job.Job.ID)
	more, judged := l.judgeExtraCost(m.job.Job.ID, m.round.Round, m.round.Decision)
	extra := jobValue(m, "extra-of-judge", more)
	switch {
	case m.decision == 0:
		r.addSentence("Nothing was decided on job %s.", m.jobName())
	case judged:
		r.addSentence("A judge decided: it chose %s among %s that cost nearly the same; it cost %s more than the best of them.",
			namePart(m.site), countedPart(jobValue(m, "choices-of-judge", len(h.Ask.Choices)), "option", "options"), extra)
	case h == nil:
		r.addSentence("The rule decided %s, and no judge was asked about it.", decisionCitation(m.decision))
	case record.FallbackReason(h.Ask, h.Answer, m.round.Decision) != "":
		r.addSentence(ruleDecided, plainText(record.FaultText(record.FallbackReason(h.Ask, h.Answer, m.round.Decision))))
	default:
		r.addSentence("A judge was asked, and its answer changed nothing; the rule's choice stood.")
	}
	r.addFigures(extra)
	return r
}

func (l *Dataset) answerAllJudged(q ask.Query) (r Result) {
	r.assumeWindow(l, q, "awards said in that time; UTC")
	n := 0
	var sum protocol.Microdollars
	for _, rec := range l.allInstances() {
		for _, d := range rec.Awards {
			if more, ok := l.judgeExtraCost(rec.Job.ID, d.Round, d); ok && inWindow(q, d.Message.At) {
				n, sum = n+1, sum+more
				r.citeDecision(d.Message.Seq)
			}
		}
	}
	r.addSentence("A judge decided %s, which cost %s more than the best that the clearings left open. In the whole record it was asked %s.",
		countedPart(valueOf("run", "judged", n, r.Cites...), "award", "awards"), valueOf("run", "extra-of-judge", sum, r.Cites...), countedPart(valueOf("run", "judge-asked", l.history.JudgeQuestions()), "time", "times"))
	return r
}

// answerPolicyLog lists the changes of the policy and their authors, the last first.
func (l *Dataset) answerPolicyLog(ask.Query) (r Result) {
	all := l.history.PolicyVersions()
	last := all[len(all)-1]
	by := namesOf(last.By)
	if last.Second != "" {
		by = namesOf(last.By, last.Second)
	}
	r.addSentence("The last change, at %s, was by %s: version %s.", valueOf("run", "policy-changed", last.At), by, valueOf("run", "policy-version", last.Version))
	if last.Proved {
		r.addSentence("Whoever confirmed it showed a token of their own.")
	} else {
		r.addSentence("Names are as they were given; nobody checked them.")
	}
	if last.Sentence != "" {
		r.addSentence("Its words were: %s.", quotedText(last.Sentence))
	}
	r.addSentence("The policy changed %s in this record.", countedPart(valueOf("run", "policy-changes", len(all)), "time", "times"))
	return r
}

// A quotedText is text from outside, in quotes.
type quotedText string

func (x quotedText) renderText() string { return strconv.Quote(format.CleanText(string(x))) }

// describeRulesInForce lists the operators' rules that are in force at the end, and those that are over.
func (r *Result) describeRulesInForce(l *Dataset) {
	version, here, over := l.rulesAtEnd()
	if l.policyAt(1<<62).By == protocol.HiddenOperator {
		r.addSentence("Rules of operators are not in a tenant's part of the record.")
	} else if len(here) == 0 {
		r.addSentence("No rules of operators are in force.")
	} else {
		r.addSentence("Rules of operators, version %s:", valueOf("run", "policy-version", version))
		r.addFigures(valueOf("run", "rules", len(here)))
	}
	r.Sentences = slices.Concat(r.Sentences, here, over)
	if all := l.policyAt(1 << 62).Quotas; len(all) > 0 {
		r.addSentence("%s.", quotaText(all))
	}
}

// rulesAtEnd returns the operators' rules at the end of the record, those that are in force
// and those whose time is over.
func (l *Dataset) rulesAtEnd() (version uint64, here, over []Sentence) {
	p := l.policyAt(1 << 62)
	for _, r := range p.Rules {
		if r.To != 0 && r.To <= l.lastTime() {
			over = append(over, newSentence("%s is over: %s.", namePart(r.ID), ruleText(r)))
		} else {
			here = append(here, newSentence("%s: %s.", namePart(r.ID), ruleText(r)))
		}
	}
	return p.Version, here, over
}

// answerRuleByID lists the rules that have ids. What each changed is known of one decision.
func (l *Dataset) answerRuleByID(ask.Query) (r Result) {
	r.addSentence("Which decisions one rule changed is not told; of a job, `gridbid ask 'why not SITE for job NAME'` says which rule kept it from there.")
	r.describeRulesInForce(l)
	return r
}

// A quotaText is the quota tree as a sentence.
type quotaText []protocol.Quota

func (x quotaText) renderText() string { return policy.DescribeQuotas(x) }

// A ruleText is a rule of the operators as a sentence.
type ruleText protocol.Rule

func (x ruleText) renderText() string {
	rule := protocol.Rule(x)
	return policy.DescribeOp(protocol.Policy{}, policy.Op{Op: "add", Rule: &rule})
}

// describeRules says what the operators' rules meant for an option at a site when it was decided,
// and reports whether one forbade it. What the hours of a capped run were like is not on
// record as the market saw it.
func (r *Result) describeRules(l *Dataset, m jobCase, site string, p history.PricedOption) (forbidden bool) {
	for _, rule := range l.policyAt(m.decision).Rules {
		if !policy.AppliesTo(rule, m.job.Job, site, p.Start) {
			continue
		}
		does := plainText("may forbid that")
		switch {
		case rule.Kind == protocol.Prefer:
			does = "counts there"
		case site == m.site: // it was allowed
			continue
		case rule.Kind == protocol.Forbid:
			forbidden, does = true, "forbids that"
		}
		r.addSentence("Rule %s of the operators %s: %s.", namePart(rule.ID), does, ruleText(rule))
	}
	return forbidden
}

// describeBarred lists, for a job that was held, the operators' rules that forbid what sites
// offered.
func (r *Result) describeBarred(l *Dataset, m jobCase) {
	for _, s := range m.round.Answers {
		var rules Result
		if p, ok := m.cheapestOption(s.Site); ok && rules.describeRules(l, m, s.Site, p) {
			r.addSentence("%s offered a start at %s.", namePart(s.Site), siteValue(m, s.Site, "start", p.Start))
			r.Sentences = append(r.Sentences, rules.Sentences...)
		}
	}
}

// answerQuotas says what each tenant's quota guarantees and caps, how much of it the tenant's jobs hold, and
// who holds what it does not use.
func (l *Dataset) answerQuotas(q ask.Query) (r Result) {
	at, all := r.instantOf(l, q), l.policyAt(1<<62).Quotas
	held := make(map[string]protocol.Milli)
	for _, x := range l.jobsWhere(func(x history.JobRecord) bool { return l.history.JobStateAt(&x, at).State == history.Running }) {
		above := x.Job.Tenant
		for range all { // a tree is no deeper than it has quotas
			held[above] += x.Job.TotalGPUMilli()
			i := slices.IndexFunc(all, func(y protocol.Quota) bool { return y.Name == above })
			if i < 0 || all[i].Parent == "" {
				break
			}
			above = all[i].Parent
		}
	}
	var unused protocol.Milli
	r.Head = []string{"quota", "guaranteed", "cap", "held", "left of the guarantee", "beyond it"}
	for _, x := range all {
		if q.Tenant != "" && q.Tenant != x.Name {
			continue
		}
		subject, most, left := "tenant/"+x.Name, Part(plainText("none")), max(x.Min-held[x.Name], 0)
		if unused += left; x.Max > 0 {
			most = valueOf(subject, "quota-cap", x.Max)
		}
		r.addListed(namePart(x.Name), valueOf(subject, "guaranteed", x.Min), most, valueOf(subject, "gpus-held", held[x.Name]), valueOf(subject, "left-of-guarantee", left), valueOf(subject, "beyond-guarantee", max(held[x.Name]-x.Min, 0)))
	}
	r.addSentence("%s.", quotaText(all))
	r.addSentence("Of what is guaranteed %s GPUs are not used.", valueOf("run", "guaranteed-unused", unused))
	for _, x := range all {
		isLeaf := !slices.ContainsFunc(all, func(y protocol.Quota) bool { return y.Parent == x.Name })
		if more := held[x.Name] - x.Min; isLeaf && more > 0 && x.Name != q.Tenant {
			r.addSentence("%s holds %s beyond its guarantee; they come back when a job of those whose they are asks for them.", namePart(x.Name), valueOf("tenant/"+x.Name, "beyond-guarantee", more))
		}
	}
	if l.policyAt(1<<62).By == protocol.HiddenOperator {
		r.addSentence("This is a tenant's part of the record: what others hold is not in it. A job that needs what it is guaranteed gets it back from them.")
	}
	return r
}

// answerRefusals says for which jobs sites had no offer when they were last asked, and why.
func (l *Dataset) answerRefusals(q ask.Query) (r Result) {
	r.Head = []string{"job", "site", "decision", "why"}
	n, bySite := 0, make(map[string]int)
	for _, x := range l.jobsWhere(func(x history.JobRecord) bool {
		return includes(ask.Query{Tenant: q.Tenant}, x.Job.Tenant, "") && len(x.FullRounds) > 0
	}) {
		m := l.caseOfDecision(x, decisionNumber(x.FullRounds[len(x.FullRounds)-1].Decision))
		for _, a := range m.round.Answers {
			if len(a.Options) == 0 && (q.Site == "" || q.Site == a.Site) {
				n++
				bySite[a.Site]++
				r.addListed(namePart(x.Job.ID), namePart(a.Site), decisionCitation(m.decision), m.noOffer(a.Site))
				r.citeDecision(m.decision)
			}
		}
	}
	r.addSentence("A site made no offer for a job, when that was last called, %s.", countedPart(valueOf("run", "refusals", n, r.Cites...), "time", "times"))
	if q.Site == "" && n > 0 {
		r.rankSites(q, bySite, "jobs without an offer")
	}
	return r
}

// rankSites says how many of something each site has; where the most or the least is asked for, that is the table.
func (r *Result) rankSites(q ask.Query, counts map[string]int, what string) {
	sites := sortedKeys(counts)
	slices.SortStableFunc(sites, func(a, b string) int {
		if q.Pick == "least" {
			a, b = b, a
		}
		return cmp.Compare(counts[b], counts[a])
	})
	var all partList
	rows := [][]Part(nil)
	for _, s := range sites {
		f := valueOf("site/"+s, what, counts[s])
		all, rows = append(all, newSentence("%s %s", namePart(s), f)), append(rows, []Part{namePart(s), f})
	}
	r.addSentence("By site: %s.", all)
	if q.Pick != "" {
		r.Head, r.Rows = []string{"site", what}, rows
	}
}

// answerStartNow says what each job that waits was offered when it was last called, for its earliest start.
func (l *Dataset) answerStartNow(q ask.Query) (r Result) {
	all := l.pendingJobs(q, r.instantOf(l, q))
	r.addAssumption("as it was offered when it was last called; `gridbid submit --dry-run` asks the sites for a job that is not submitted")
	r.Head = []string{"job", "start", "site", "cost", "decision"}
	for _, x := range all {
		if len(x.FullRounds) == 0 {
			continue
		}
		h, job := x.FullRounds[len(x.FullRounds)-1], jobSubject(x.Job.ID)
		if p, site, ok := narrate.EarliestOption(h); ok {
			r.citeDecision(h.Decision.Message.Seq)
			r.addListed(namePart(x.Job.ID), valueOf(job, "earliest-start", p.Start), namePart(site), valueOf(job, "earliest-cost", p.Terms.Total()), decisionCitation(h.Decision.Message.Seq))
		}
	}
	r.addSentence("%s; %s an offer.", countedPart(valueOf("run", "waiting", len(all)), "job waits", "jobs wait"), countedPart(valueOf("run", "offered", len(r.Rows)), "has", "have"))
	return r
}
