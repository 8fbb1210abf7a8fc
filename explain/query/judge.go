package query

import (
	"slices"
	"strconv"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// policyAt returns the policy in force when the coordinator said its seq-th
// message.
func (l *Log) policyAt(seq uint64) (p protocol.Policy) {
	for _, x := range l.book.PolicyVersions() {
		if x.Seq <= seq {
			p = x.Policy
		}
	}
	return p
}

// extra returns what a judge's choice cost more; false if it did not choose.
func (l *Log) extra(job protocol.JobID, round uint64, d history.Decision) (protocol.Microdollars, bool) {
	h := l.book.JudgeQuestionOf(round, job)
	if h == nil || d.Why.Code != protocol.ChosenByJudge {
		return 0, false
	}
	for _, c := range h.Ask.Choices {
		if c.Site == d.Site && c.Option == d.Option.BidOption {
			return c.Extra, true
		}
	}
	return 0, true
}

// aboutRules are the questions about who decides: judges, and operators by their rules.
var aboutRules = map[string]evaluator{"no-arbitration": (*Log).arbitration, "no-policy-log": (*Log).policyLog, "no-rule": (*Log).ruleByID}

// arbitration tells of one decision whether a judge decided it, or of all what
// that cost.
func (l *Log) arbitration(q ask.Query) Result {
	if q.Job == "" && q.Decision == 0 {
		return l.allJudged(q)
	}
	r, m := l.matterOf(q)
	h := l.book.JudgeQuestionOf(m.h.Round, m.rec.Job.ID)
	more, judged := l.extra(m.rec.Job.ID, m.h.Round, m.h.Decision)
	extra := jobValue(m, "extra-of-judge", more)
	switch {
	case m.id == 0:
		r.say("Nothing was decided on job %s.", m.job())
	case judged:
		r.say("A judge decided: it chose %s among %s that cost nearly the same; it cost %s more than the best of them.",
			called(m.site), counted(jobValue(m, "choices-of-judge", len(h.Ask.Choices)), "option", "options"), extra)
	case h == nil:
		r.say("The rule decided %s, and no judge was asked about it.", citation(m.id))
	case record.FallbackReason(h.Ask, h.Answer, m.h.Decision) != "":
		r.say(ruleDecided, phrase(record.FaultText(record.FallbackReason(h.Ask, h.Answer, m.h.Decision))))
	default:
		r.say("A judge was asked, and its answer changed nothing; the rule's choice stood.")
	}
	r.also(extra)
	return r
}

func (l *Log) allJudged(q ask.Query) (r Result) {
	r.whole(l, q, "awards said in that time; UTC")
	n := 0
	var sum protocol.Microdollars
	for _, rec := range l.records() {
		for _, d := range rec.Awards {
			if more, ok := l.extra(rec.Job.ID, d.Round, d); ok && within(q, d.Message.At) {
				n, sum = n+1, sum+more
				r.cite(d.Message.Seq)
			}
		}
	}
	r.say("A judge decided %s, which cost %s more than the best that the clearings left open. In the whole record it was asked %s.",
		counted(valueOf("run", "judged", n, r.Cites...), "award", "awards"), valueOf("run", "extra-of-judge", sum, r.Cites...), counted(valueOf("run", "judge-asked", l.book.JudgeQuestions()), "time", "times"))
	return r
}

// policyLog tells who changed the policy, the last first.
func (l *Log) policyLog(ask.Query) (r Result) {
	all := l.book.PolicyVersions()
	last := all[len(all)-1]
	by := listed{called(last.By)}
	if last.Second != "" {
		by = append(by, called(last.Second))
	}
	r.say("The last change, at %s, was by %s: version %s.", valueOf("run", "policy-changed", last.At), by, valueOf("run", "policy-version", last.Version))
	if last.Proved {
		r.say("Whoever confirmed it showed a token of their own.")
	} else {
		r.say("Names are as they were given; nobody checked them.")
	}
	if last.Sentence != "" {
		r.say("Its words were: %s.", quoted(last.Sentence))
	}
	r.say("The policy changed %s in this record.", counted(valueOf("run", "policy-changes", len(all)), "time", "times"))
	return r
}

// A quoted is text from outside, in quotes.
type quoted string

func (x quoted) words() string   { return strconv.Quote(format.CleanText(string(x))) }
func (quoted) figures() []Figure { return nil }

// sayRulesInForce tells the operators' rules that are in force at the end.
func (r *Result) sayRulesInForce(l *Log) {
	version, here, over := l.rules()
	if len(here) == 0 {
		r.say("Beside these, a job's own limits bind: regions, GPU models, size. No rules of operators are in force.")
	} else {
		r.say("Beside these, a job's own limits bind: regions, GPU models, size. Rules of operators, version %s:", valueOf("run", "policy-version", version))
		r.also(valueOf("run", "rules", len(here)))
	}
	r.Said = slices.Concat(r.Said, here, over)
}

// rules returns the operators' rules at the end of the record, those that are in force
// and those whose time is over.
func (l *Log) rules() (version uint64, here, over []Sentence) {
	p := l.policyAt(1 << 62)
	for _, r := range p.Rules {
		if r.To != 0 && r.To <= l.last() {
			over = append(over, sentence("%s is over: %s.", called(r.ID), ruleText(r)))
		} else {
			here = append(here, sentence("%s: %s.", called(r.ID), ruleText(r)))
		}
	}
	return p.Version, here, over
}

// ruleByID tells the rules that have ids. What each changed is known of one decision.
func (l *Log) ruleByID(ask.Query) (r Result) {
	_, here, over := l.rules()
	r.say("Which decisions one rule changed is not told; of a job, `gridbid ask 'why not SITE for job NAME'` says which rule kept it from there.")
	if len(here)+len(over) == 0 {
		r.say("No rules of operators are in force.")
	}
	r.Said = slices.Concat(r.Said, here, over)
	return r
}
