package query

import (
	"fmt"

	"github.com/gridbid/gridbid/coordinator/policy"
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

// arbitration tells of one decision whether a judge decided it, or of all what
// that cost.
func (l *Log) arbitration(q ask.Query, a *Answer) {
	if q.Job == "" && q.Decision == 0 {
		l.allJudged(q, a)
		return
	}
	m := l.matter(q)
	a.cite(m.id)
	h := l.book.JudgeQuestionOf(m.h.Round, m.rec.Job.ID)
	more, judged := l.extra(m.rec.Job.ID, m.h.Round, m.h.Decision)
	switch {
	case m.id == 0:
		a.say("Nothing was decided on job %s.", name(m.rec.Job.ID))
	case judged:
		a.say("A judge decided: it chose %s among %s that cost nearly the same; it cost %s more than the best of them.",
			name(m.site), format.CountWithNoun(len(h.Ask.Choices), "option", "options"), format.FormatDollars(more))
	case h == nil:
		a.say("The rule decided %s, and no judge was asked about it.", cite(m.id))
	case record.FallbackReason(h.Ask, h.Answer, m.h.Decision) != "":
		a.say("A judge was asked, and the rule decided: %s.", record.FaultText(record.FallbackReason(h.Ask, h.Answer, m.h.Decision)))
	default:
		a.say("A judge was asked, and its answer changed nothing; the rule's choice stood.")
	}
	a.figure(ofJob(m.rec.Job.ID), "extra-of-judge", int64(more), "microdollars", m.cited()...)
}

func (l *Log) allJudged(q ask.Query, a *Answer) {
	l.whole(q, a, "awards said in that time; UTC")
	n := 0
	var sum protocol.Microdollars
	for _, r := range l.records() {
		for _, d := range r.Awards {
			if more, ok := l.extra(r.Job.ID, d.Round, d); ok && within(q, d.Message.At) {
				n, sum = n+1, sum+more
				a.cite(d.Message.Seq)
			}
		}
	}
	a.say("A judge decided %s, which cost %s more than the best that the clearings left open. In the whole record it was asked %s.",
		format.CountWithNoun(n, "award", "awards"), format.FormatDollars(sum), format.CountWithNoun(l.book.JudgeQuestions(), "time", "times"))
	a.figure("run", "judged", int64(n), "count", a.Cites...)
	a.figure("run", "extra-of-judge", int64(sum), "microdollars", a.Cites...)
}

// policyLog tells who changed the policy, the last first.
func (l *Log) policyLog(_ ask.Query, a *Answer) {
	all := l.book.PolicyVersions()
	last := all[len(all)-1]
	by := name(last.By)
	if last.Second != "" {
		by += " and " + name(last.Second)
	}
	a.say("The last change, at %s, was by %s: version %d.", format.FormatInstant(last.At), by, last.Version)
	if last.Proved {
		a.say("Whoever confirmed it showed a token of their own.")
	} else {
		a.say("Names are as they were given; nobody checked them.")
	}
	if last.Sentence != "" {
		a.say("Its words were: %q.", format.CleanText(last.Sentence))
	}
	a.say("The policy changed %s in this record.", format.CountWithNoun(len(l.book.PolicyVersions()), "time", "times"))
	a.figure("run", "policy-version", int64(last.Version), "count")
	a.figure("run", "policy-changed", int64(last.At), "instant")
}

// rulesTold tells the operators' rules that are in force at the end.
func (l *Log) rulesTold(a *Answer) {
	version, here, over := l.rules()
	if len(here) == 0 {
		a.say("Beside these, a job's own limits bind: regions, GPU models, size. No rules of operators are in force.")
	} else {
		a.say("Beside these, a job's own limits bind: regions, GPU models, size. Rules of operators, version %d:", version)
		a.figure("run", "rules", int64(len(here)), "count")
	}
	a.Text = append(append(a.Text, here...), over...)
}

// rules returns the operators' rules at the end of the record, those that are in force
// and those whose time is over.
func (l *Log) rules() (version uint64, here, over []string) {
	p := l.policyAt(1 << 62)
	for _, r := range p.Rules {
		text := policy.DescribeOp(p, policy.Op{Op: "add", Rule: &r})
		if r.To != 0 && r.To <= l.last() {
			over = append(over, fmt.Sprintf("%s is over: %s.", name(r.ID), text))
		} else {
			here = append(here, fmt.Sprintf("%s: %s.", name(r.ID), text))
		}
	}
	return p.Version, here, over
}

// ruleByID tells the rules that have ids. What each changed is known of one decision.
func (l *Log) ruleByID(_ ask.Query, a *Answer) {
	_, here, over := l.rules()
	a.say("Which decisions one rule changed is not told; of a job, `gridbid ask 'why not SITE for job NAME'` says which rule kept it from there.")
	if len(here)+len(over) == 0 {
		a.say("No rules of operators are in force.")
	}
	a.Text = append(append(a.Text, here...), over...)
}
