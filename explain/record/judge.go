package record

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// WithJudge returns d as a decision for which a judge was asked: with the judge's choice
// and its extra cost, or with the reason why the rule decided.
func (d DecisionRecord) WithJudge(ask protocol.JudgeRequest, answer *protocol.JudgeAnswer, a history.Decision) DecisionRecord {
	if fault := FallbackReason(ask, answer, a); fault != "" {
		d.Path = "fallback:" + faults[fault].path
		d.Facts = append(d.Facts, Fact{"R" + numberText(len(d.Facts)), "decision", "reason", string(fault), "code", "a judge was asked, and the rule decided: " + FaultText(fault), "answer of the judge"})
		return d
	}
	if a.Why.Code != protocol.ChosenByJudge {
		return d
	}
	d.Path = "judge"
	if more, ok := JudgeExtra(ask, a); ok {
		extra := more.InDollars()
		d.Extra = &extra
		d.Facts = append(d.Facts, Fact{
			"F" + numberText(len(d.Facts)), "decision", "extra", int64(more), "microdollars", formatValue(int64(more), "microdollars"), "message to the judge",
		})
	}
	return d
}

// JudgeExtra returns what an option costs more than the best of those that a judge was asked about; false
// if it was not among them.
func JudgeExtra(ask protocol.JudgeRequest, a history.Decision) (protocol.Microdollars, bool) {
	i := slices.IndexFunc(ask.Choices, func(c protocol.JudgeChoice) bool { return c.Site == a.Site && c.Option == a.Option.BidOption })
	if i < 0 {
		return 0, false
	}
	return ask.Choices[i].Extra, true
}

// modelFailed describes a fault of which no more is known.
const modelFailed = "its model failed, or its reply was cut short"

// faults are the faults of a judge, each with the last part of a record's path and in words.
var faults = map[protocol.Code]struct{ path, text string }{
	protocol.AnswerLate:      {"late", "it did not answer in time"},
	protocol.AnswerFailed:    {"error", modelFailed},
	protocol.OverBudget:      {"error", "its calls or tokens of that hour were spent"},
	protocol.AnswerInvalid:   {"invalid", "its answer was not what was asked for"},
	protocol.NotAmongChoices: {"not offered", "it named an option that was not among those put to it"},
	protocol.OrderDependent:  {"depends on order", "asked twice, in opposite orders, it chose differently"},
}

// FallbackReason returns why the rule decided although a judge was asked; "" if the judge
// decided, or agreed with the rule.
func FallbackReason(ask protocol.JudgeRequest, answer *protocol.JudgeAnswer, a history.Decision) protocol.Code {
	switch {
	case a.Why.Code == protocol.ChosenByJudge:
		return ""
	case answer == nil:
		return protocol.AnswerLate
	case faults[answer.Fault].path != "":
		return answer.Fault
	case answer.Fault != "":
		return protocol.AnswerFailed
	// The judge is asked twice, with the choices in opposite orders.
	case len(answer.Picks) != 2:
		return protocol.AnswerInvalid
	case answer.Picks[0].Handle != answer.Picks[1].Handle:
		return protocol.OrderDependent
	}
	i := slices.IndexFunc(ask.Choices, func(c protocol.JudgeChoice) bool { return c.Handle == answer.Picks[0].Handle })
	switch {
	case i < 0:
		return protocol.NotAmongChoices
	case answer.Picks[0].Why == protocol.NoPreference || answer.Picks[1].Why == protocol.NoPreference || ask.Choices[i].Site == a.Site:
		return ""
	case len(ask.Notes) == 0 && (answer.Picks[0].Why == protocol.OperatorNote || answer.Picks[1].Why == protocol.OperatorNote):
		return protocol.AnswerInvalid // the answer refers to a note that did not exist
	}
	return protocol.AnswerLate // the answer was valid, and the market did not use it
}

// FaultText describes a judge's fault in words.
func FaultText(fault protocol.Code) string { return cmp.Or(faults[fault].text, modelFailed) }

// numberText returns the number of a fact that is added to n others: above those of all figures
// and reasons, which are numbered apart.
func numberText(n int) string { return formatValue(int64(n+1), "count") }

// WithPolicy returns d as a decision under a policy: with the policy's version, and the
// bids that a rule forbade. Caps cannot be evaluated, because a record has no
// forecasts.
func (d DecisionRecord) WithPolicy(p protocol.Policy, r history.JobRecord, h history.JobRound) DecisionRecord {
	d.Policy = p.Version
	// i counts the bids of the record, which follow the answers: one for an answer without options.
	i := 0
	for _, a := range h.Answers {
		if len(a.Options) == 0 || a.Late || a.Message == (history.MessageRef{}) {
			i++
			continue
		}
		for _, o := range a.Options {
			// The record is not of this round: leave the rest as it is.
			if i >= len(d.Bids) || d.Bids[i].Site != a.Site {
				return d
			}
			if by := policy.EvaluateOption(p, r.Job, a.Site, o.BidOption, protocol.GridForecast{}).Forbidden; by != "" {
				d.Bids[i].Feasible, d.Bids[i].Reasons = false, []string{"maintenance"}
				d.Facts = append(d.Facts, Fact{"R" + numberText(len(d.Facts)), d.Bids[i].ID, "reason", string(protocol.Forbidden), "code", "rule " + by + " of the policy forbids it", "policy"})
			}
			i++
		}
	}
	return d
}
