package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	// A typedQuery is a query, with a decision by its id.
	typedQuery struct {
		ask.Query
		Decision string `json:"decision"`
		Picture  bool   `json:"picture"`
	}
)

// typedQuerySchema returns the JSON schema of a typedQuery: the published one of a query, and the picture.
func typedQuerySchema() map[string]any {
	var schema map[string]any
	if err := json.Unmarshal(ask.QuerySchema(), &schema); err != nil {
		panic(err) // it is ours
	}
	fields := schema["properties"].(map[string]any)
	fields["decision"] = map[string]any{"type": "string", "pattern": "^[Dd]-[0-9]{1,18}$", "description": "a decision's id, instead of a job: D-14"}
	fields["picture"] = map[string]any{"type": "boolean", "description": "also draw the answer, if it has a chart"}
	return schema
}

// addQuestionTools adds the tools that answer questions: in words, and as typed queries.
func (d toolServer) addQuestionTools(s *sdk.Server) {
	addTool(s, "ask", "Answer a question about the run in plain words. It is parsed, not guessed at: an unclear question is refused, an ambiguous one gives readings.", nil,
		func(ctx context.Context, in asking) (result, error) {
			a, err := d.run.AnswerQuestion(ctx, d.translator, in.Question, in.Before)
			if err != nil {
				return result{}, err
			}
			return d.answerResult(ctx, in.Picture, func(*timeline.Timeline) query.Answer { return a })
		})
	addTool(s, "query", "Answer a typed query about the run: why and why-not of a decision, what each site offered, sums by site, tenant or hour, who waits, forecasts, what the rules are, policies compared, "+
		"and what-ifs, for which the recorded decision is reproduced first. The field ask names the question, and its description lists all with the fields that each takes.", typedQuerySchema(),
		func(ctx context.Context, in typedQuery) (result, error) {
			return d.answerResult(ctx, in.Picture, func(y *timeline.Timeline) query.Answer {
				q := in.Query
				q.Decision, _ = record.ParseDecisionID(in.Decision, func(seq uint64) bool { _, ok := y.JobOfDecision(seq); return ok })
				return y.AnswerQuery(q)
			})
		})
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
