package query

import (
	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// ruled says what the operators' rules meant for an option at a site when it was decided,
// and reports whether one forbade it. What the hours of a capped run were like is not on
// record as the market saw it.
func (l *Log) ruled(m matter, site string, p history.PricedOption, a *Answer) (forbidden bool) {
	for _, r := range l.policyAt(m.id).Rules {
		if !policy.AppliesTo(r, m.rec.Job, site, p.Start) {
			continue
		}
		told := policy.DescribeOp(protocol.Policy{}, policy.Op{Op: "add", Rule: &r})
		switch {
		case r.Kind == protocol.Prefer:
			a.say("Rule %s of the operators counts there: %s.", name(r.ID), told)
		case site == m.site: // it was allowed
		case r.Kind == protocol.Forbid:
			forbidden = true
			a.say("Rule %s of the operators forbids that: %s.", name(r.ID), told)
		default:
			a.say("Rule %s of the operators may forbid that: %s.", name(r.ID), told)
		}
	}
	return forbidden
}

// barred says of a job that was held which rules of the operators forbid what sites
// offered.
func (l *Log) barred(m matter, a *Answer) {
	for _, s := range m.h.Answers {
		if p, ok := m.option(s.Site); ok && l.ruled(m, s.Site, p, &Answer{}) {
			a.say("%s offered a start at %s.", name(s.Site), format.FormatInstant(p.Start))
			l.ruled(m, s.Site, p, a)
		}
	}
}
