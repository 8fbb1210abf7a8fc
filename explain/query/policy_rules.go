package query

import (
	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

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
