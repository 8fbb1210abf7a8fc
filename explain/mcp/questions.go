package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/protocol"
)

// What the tools that ask are given.
type (
	asking struct {
		Question string `json:"question" jsonschema:"in plain words: why did job-0042 wait; carbon by site on 2026-03-11; help lists more"`
		Before   string `json:"before,omitempty" jsonschema:"the question before, if this one leans on it: and on wednesday?"`
		Picture  bool   `json:"picture,omitempty" jsonschema:"also draw the answer, if it has a chart"`
	}
	target struct {
		Decision string `json:"decision,omitempty" jsonschema:"a decision's id: D-14"`
		Job      string `json:"job,omitempty" jsonschema:"or a job's name, for its last decision"`
		Picture  bool   `json:"picture,omitempty" jsonschema:"also draw what each site offered"`
	}
	whyNot struct {
		target
		Site string `json:"site" jsonschema:"the site that was not chosen"`
	}
	change struct {
		target
		Change  string `json:"change" jsonschema:"one of: elsewhere, at-site, at-once, without-site, carbon-price, break-even, may-wait, any-region. Without a decision or job, without-site and carbon-price replay the whole run"`
		Site    string `json:"site,omitempty" jsonschema:"of at-site, without-site and break-even"`
		Dollars *int64 `json:"dollars_per_tonne,omitempty" jsonschema:"of carbon-price"`
		Minutes int64  `json:"minutes,omitempty" jsonschema:"of may-wait"`
	}
	sum struct {
		Metric  string `json:"metric,omitempty" jsonschema:"carbon, energy or cost; all without"`
		By      string `json:"by,omitempty" jsonschema:"site, tenant or hour; jobs are asked about in words: top 5 jobs by carbon"`
		Site    string `json:"site,omitempty"`
		Tenant  string `json:"tenant,omitempty"`
		From    string `json:"from,omitempty" jsonschema:"RFC 3339; the begin of the record without"`
		To      string `json:"to,omitempty" jsonschema:"RFC 3339; the end of the record without"`
		Picture bool   `json:"picture,omitempty"`
	}
	place struct {
		Site    string `json:"site,omitempty"`
		At      string `json:"at,omitempty" jsonschema:"an instant, RFC 3339; the end of the record without"`
		Picture bool   `json:"picture,omitempty"`
	}
	nothing struct{}
)

// addQuestionTools adds the tools that answer questions: in words, or as typed queries.
func (d toolServer) addQuestionTools(s *sdk.Server) {
	addTool(s, "ask", "Answer a question about the run in plain words. It is parsed, not guessed at: an unclear question is refused, an ambiguous one gives readings.",
		func(ctx context.Context, in asking) (result, error) {
			a, err := d.run.AnswerQuestion(ctx, d.translator, in.Question, in.Before)
			if err != nil {
				return result{}, err
			}
			return d.answerResult(ctx, in.Picture, func(*timeline.Timeline) query.Answer { return a })
		})
	addTool(s, "explain_decision", "Why a job was placed, held or refused: what each site offered, term by term, or why it offered nothing.",
		func(ctx context.Context, in target) (result, error) {
			return d.answerQuery(ctx, in.Picture, in, ask.Query{Ask: "why"})
		})
	addTool(s, "why_not", "Why another site was not chosen: not able, dearer and by what, or silent.",
		func(ctx context.Context, in whyNot) (result, error) {
			return d.answerQuery(ctx, in.Picture, in.target, ask.Query{Ask: "why-not", Site: in.Site})
		})
	addTool(s, "counterfactual", "What would have been decided with one thing changed. The recorded decision is reproduced first; if it cannot be, the answer says so.",
		func(ctx context.Context, in change) (result, error) {
			q, err := in.typedQuery()
			if err != nil {
				return result{}, err
			}
			return d.answerQuery(ctx, in.Picture, in.target, q)
		})
	// Without a time the query covers the whole record.
	addTool(s, "totals", "Carbon, energy and cost of jobs as measured, in all or by site, tenant or hour; idle draw included where it says so.",
		func(ctx context.Context, in sum) (result, error) {
			from, err := parseInstant("from", in.From)
			to, err2 := parseInstant("to", in.To)
			if err := errors.Join(err, err2); err != nil {
				return result{}, err
			}
			return d.answerResult(ctx, in.Picture, func(y *timeline.Timeline) query.Answer {
				q := ask.Query{Ask: "bill", Metric: in.Metric, By: in.By, Site: in.Site, Tenant: in.Tenant, From: from, To: to}
				switch first, last := y.TimeSpan(); { // a time has two ends in words
				case from != 0 && to == 0:
					q.To = last + 1
				case from == 0 && to != 0:
					q.From = first
				}
				return y.AnswerQuery(q)
			})
		})
	addTool(s, "compare_policies", "The same jobs under each policy that was replayed.", func(ctx context.Context, _ nothing) (result, error) {
		return d.answerQuery(ctx, false, target{}, ask.Query{Ask: "policies"})
	})
	addTool(s, "policy", "The rules in force: what carbon, delay and lateness count in dollars.", func(ctx context.Context, _ nothing) (result, error) {
		return d.answerQuery(ctx, false, target{}, ask.Query{Ask: "weights"})
	})
	// Both take a site and an instant, and differ in the query alone.
	for name, of := range map[string][2]string{
		"queue":    {"pending", "Which jobs waited at an instant, and for how many GPUs in all."},
		"forecast": {"forecast", "What a site said of its hours ahead: carbon intensity and price."},
	} {
		addTool(s, name, of[1], func(ctx context.Context, in place) (result, error) {
			at, err := parseInstant("at", in.At)
			if err != nil {
				return result{}, err
			}
			return d.answerQuery(ctx, in.Picture, target{}, ask.Query{Ask: of[0], Site: in.Site, At: at})
		})
	}
}

// changes are the names of the changes, each with the question about one job that it asks, and
// that about the whole run if there is one.
var changes = map[string]struct{ ofOne, ofRun string }{
	"elsewhere": {ofOne: "elsewhere"}, "at-site": {ofOne: "elsewhere-at"}, "at-once": {ofOne: "immediate"}, "break-even": {ofOne: "breakeven"},
	"may-wait": {ofOne: "slack"}, "any-region": {ofOne: "unbound"}, "without-site": {"without", "day-without"}, "carbon-price": {"reprice", "day-carbon"},
}

// typedQuery returns the query of a change. Without a decision or job it applies to the whole
// run, for which only two changes are defined. Minutes are limited so that no sum overflows.
func (in change) typedQuery() (ask.Query, error) {
	if in.Change == "carbon-price" && in.Dollars == nil {
		return ask.Query{}, errors.New("mcp: counterfactual: dollars_per_tonne is missing: give the price of carbon")
	}
	names, whole := changes[in.Change], in.Decision == "" && in.Job == ""
	switch {
	case whole && names.ofRun == "":
		return ask.Query{}, errors.New("mcp: counterfactual: decision and job are missing: give one, as only without-site and carbon-price apply to the whole run")
	case names.ofOne == "":
		return ask.Query{}, fmt.Errorf("mcp: counterfactual: change %q: want elsewhere, at-site, at-once, without-site, carbon-price, break-even, may-wait or any-region", in.Change)
	}
	q := ask.Query{Ask: names.ofOne}
	if whole {
		q.Ask = names.ofRun
	}
	switch in.Change {
	case "at-site", "without-site", "break-even":
		q.Site = in.Site
	case "carbon-price":
		q.Number = *in.Dollars
	case "may-wait":
		q.Long = time.Duration(min(max(in.Minutes, 0), 1<<20)) * time.Minute
	}
	return q, nil
}

// answerQuery answers a typed query about a target: a decision, a job, or the whole run.
func (d toolServer) answerQuery(ctx context.Context, picture bool, of target, q ask.Query) (result, error) {
	if of.Decision != "" && of.Job != "" {
		return result{}, errors.New("mcp: decision and job exclude each other: give one")
	}
	// Ids are accepted with and without "D-", in either case.
	if of.Decision != "" {
		n, ok := record.ParseDecisionID("D-"+strings.TrimPrefix(strings.ToUpper(of.Decision), "D-"), func(uint64) bool { return false }) // AnswerQuery looks it up
		if !ok {
			return result{}, fmt.Errorf("mcp: decision %q: want an id such as D-14", of.Decision)
		}
		q.Decision = n
	}
	q.Job = protocol.JobID(of.Job)
	return d.answerResult(ctx, picture, func(y *timeline.Timeline) query.Answer { return y.AnswerQuery(q) })
}

// answerResult returns an answer as text and as data, with its charts if picture is set. An answer
// that asks the client to word the question otherwise is marked as an error.
func (d toolServer) answerResult(ctx context.Context, picture bool, ask func(*timeline.Timeline) query.Answer) (result, error) {
	return tail.View(ctx, d.run, func(y *timeline.Timeline) (result, error) {
		a := ask(y)
		r := result{data: a, wrong: a.Kind != "answer" && a.Kind != "absent"}
		if picture {
			for _, x := range append([]query.Answer{a}, a.More...) {
				if c, ok := y.ChartOfAnswer(x); ok {
					r.charts = append(r.charts, c)
				}
			}
		}
		var text bytes.Buffer
		err := a.WriteText(&text)
		r.text = text.String()
		return r, err
	})
}

// parseInstant parses an argument in RFC 3339; 0 for an empty one. field names it in the error.
func parseInstant(field, s string) (protocol.Time, error) {
	if s == "" {
		return 0, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return 0, fmt.Errorf("mcp: %s: %q is no instant; want one such as 2026-03-11T13:45:00Z", field, s)
	}
	return protocol.FromStdTime(t), nil
}
