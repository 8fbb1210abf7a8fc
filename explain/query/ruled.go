package query

import (
	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A ruleText is a rule of the operators as a sentence.
type ruleText protocol.Rule

func (x ruleText) words() string {
	rule := protocol.Rule(x)
	return policy.DescribeOp(protocol.Policy{}, policy.Op{Op: "add", Rule: &rule})
}
func (ruleText) figures() []Figure { return nil }

// sayRules says what the operators' rules meant for an option at a site when it was decided,
// and reports whether one forbade it. What the hours of a capped run were like is not on
// record as the market saw it.
func (r *Result) sayRules(l *Log, m matter, site string, p history.PricedOption) (forbidden bool) {
	for _, rule := range l.policyAt(m.id).Rules {
		if !policy.AppliesTo(rule, m.rec.Job, site, p.Start) {
			continue
		}
		does := phrase("may forbid that")
		switch {
		case rule.Kind == protocol.Prefer:
			does = "counts there"
		case site == m.site: // it was allowed
			continue
		case rule.Kind == protocol.Forbid:
			forbidden, does = true, "forbids that"
		}
		r.say("Rule %s of the operators %s: %s.", called(rule.ID), does, ruleText(rule))
	}
	return forbidden
}

// sayBarred says of a job that was held which rules of the operators forbid what sites
// offered.
func (r *Result) sayBarred(l *Log, m matter) {
	for _, s := range m.h.Answers {
		var rules Result
		if p, ok := m.option(s.Site); ok && rules.sayRules(l, m, s.Site, p) {
			r.say("%s offered a start at %s.", called(s.Site), siteValue(m, s.Site, "start", p.Start))
			r.Said = append(r.Said, rules.Said...)
		}
	}
}
