package decision

import (
	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/coordinator/record"
	"github.com/gridbid/gridbid/protocol"
)

// Judged returns d as a decision that a judge was asked about: who decided, and
// what its choice cost more. Without an answer in time the rule decided.
func (d Record) Judged(ask protocol.Ask, answer *protocol.Answer, a record.Decision) Record {
	switch {
	case a.Why.Code == protocol.Judged:
		d.Path = "judge"
		for _, c := range ask.Choices {
			if c.Site == a.Site && c.Option == a.Option.Option {
				extra := c.Extra.Dollars()
				d.Extra = &extra
				d.Facts = append(d.Facts, Fact{
					"F" + number(len(d.Facts)), "decision", "extra", int64(c.Extra), "microdollars", printed(int64(c.Extra), "microdollars"), "message to the judge",
				})
			}
		}
	case answer == nil || answer.Fault == protocol.Late:
		d.Path = "fallback:late"
	case answer.Fault == protocol.NotOffered:
		d.Path = "fallback:not offered"
	case answer.Fault == protocol.OrderDecides || len(answer.Picks) == 2 && answer.Picks[0].Handle != answer.Picks[1].Handle:
		d.Path = "fallback:depends on order"
	case answer.Fault == protocol.Invalid || answer.Fault == "" && len(answer.Picks) != 2:
		d.Path = "fallback:invalid"
	case answer.Fault != "":
		d.Path = "fallback:error"
	}
	return d
}

// number returns a fact's number that figures and reasons together cannot have
// reached.
func number(n int) string { return printed(int64(n+1), "count") }

// Under returns d as a decision under a policy: its version, and which bids a
// ban took out. A cap is not told from a record, which has no outlooks.
func (d Record) Under(p protocol.Policy, r record.JobRecord, h record.Hearing) Record {
	d.Policy = p.Version
	i := 0
	for _, a := range h.Answers {
		if len(a.Options) == 0 || a.Late || a.Said == (record.Origin{}) {
			i++
			continue
		}
		for _, o := range a.Options {
			if i >= len(d.Bids) || d.Bids[i].Site != a.Site {
				return d
			}
			if by := policy.Rule(p, r.Job, a.Site, o.Option, protocol.Outlook{}).Forbidden; by != "" {
				d.Bids[i].Feasible, d.Bids[i].Reasons = false, []string{"maintenance"}
				d.Facts = append(d.Facts, Fact{"R" + number(len(d.Facts)), d.Bids[i].ID, "reason", string(protocol.Forbidden), "code", "rule " + by + " of the policy forbids it", "policy"})
			}
			i++
		}
	}
	return d
}
