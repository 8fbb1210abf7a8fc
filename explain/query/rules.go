package query

import (
	"slices"
	"strconv"

	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
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
