package record

import (
	"slices"

	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// Judged returns d as a decision that a judge was asked about: who decided, and
// what its choice cost more; or why the rule did.
func (d Record) Judged(ask protocol.Ask, answer *protocol.Answer, a history.Decision) Record {
	if fault := Fallback(ask, answer, a); fault != "" {
		d.Path = "fallback:" + paths[fault]
		d.Facts = append(d.Facts, Fact{"R" + number(len(d.Facts)), "decision", "reason", string(fault), "code", "a judge was asked, and the rule decided: " + Failing(fault), "answer of the judge"})
		return d
	}
	if a.Why.Code != protocol.Judged {
		return d
	}
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
	return d
}

// paths are faults of a judge in a record's path.
var paths = map[protocol.Code]string{
	protocol.Late: "late", protocol.Failed: "error", protocol.OverBudget: "error", protocol.Invalid: "invalid",
	protocol.NotOffered: "not offered", protocol.OrderDecides: "depends on order",
}

// Fallback returns why the rule decided though a judge was asked; "" where the
// judge decided, or wanted nothing else than the rule.
func Fallback(ask protocol.Ask, answer *protocol.Answer, a history.Decision) protocol.Code {
	switch {
	case a.Why.Code == protocol.Judged:
		return ""
	case answer == nil:
		return protocol.Late
	case paths[answer.Fault] != "":
		return answer.Fault
	case answer.Fault != "":
		return protocol.Failed
	case len(answer.Picks) != 2:
		return protocol.Invalid
	case answer.Picks[0].Handle != answer.Picks[1].Handle:
		return protocol.OrderDecides
	}
	i := slices.IndexFunc(ask.Choices, func(c protocol.Choice) bool { return c.Handle == answer.Picks[0].Handle })
	switch {
	case i < 0:
		return protocol.NotOffered
	case answer.Picks[0].Why == protocol.NoPreference || answer.Picks[1].Why == protocol.NoPreference || ask.Choices[i].Site == a.Site:
		return ""
	case len(ask.Notes) == 0 && (answer.Picks[0].Why == protocol.OperatorNote || answer.Picks[1].Why == protocol.OperatorNote):
		return protocol.Invalid // it names a note that there was not
	}
	return protocol.Late // it was sound, and the market did not take it
}

// Failing says a judge's fault in words.
func Failing(fault protocol.Code) string {
	switch fault {
	case protocol.Late:
		return "it did not answer in time"
	case protocol.Invalid:
		return "its answer was not what was asked for"
	case protocol.NotOffered:
		return "it named an option that was not among those put to it"
	case protocol.OrderDecides:
		return "asked twice, in opposite orders, it chose differently"
	case protocol.OverBudget:
		return "its calls or tokens of that hour were spent"
	}
	return "its model failed, or its reply was cut short"
}

// number returns a fact's number that figures and reasons together cannot have
// reached.
func number(n int) string { return printed(int64(n+1), "count") }

// Under returns d as a decision under a policy: its version, and which bids a
// ban took out. A cap is not told from a record, which has no outlooks.
func (d Record) Under(p protocol.Policy, r history.JobRecord, h history.Hearing) Record {
	d.Policy = p.Version
	i := 0
	for _, a := range h.Answers {
		if len(a.Options) == 0 || a.Late || a.Said == (history.Origin{}) {
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
