package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gridbid/gridbid/explain/chart"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/protocol"
)

// Arguments of the tools about decisions.
// What the tools about decisions are given.
type (
	one struct {
		Decision string `json:"decision" jsonschema:"a decision's id: D-14"`
		Picture  bool   `json:"picture,omitempty" jsonschema:"also draw what each site offered"`
	}
	some struct {
		Before uint64 `json:"before,omitempty" jsonschema:"a position, as an earlier list gave it: only what was decided before"`
		At     string `json:"at,omitempty" jsonschema:"an instant, RFC 3339: what was decided until then; the end of the record without"`
		Kind   string `json:"kind,omitempty" jsonschema:"only award, hold or refuse"`
		Job    string `json:"job,omitempty"`
		Site   string `json:"site,omitempty"`
		Limit  int    `json:"limit,omitempty" jsonschema:"how many, newest first; 20 without, 200 at most"`
	}
	next struct {
		After   uint64 `json:"after" jsonschema:"a position; 0 waits for anything that was ever decided"`
		Seconds int    `json:"seconds,omitempty" jsonschema:"how long to wait; 30 without, 55 at most"`
	}
)

// maxDecisionsPerCall bounds the decisions in one answer of wait_for_decisions.
const maxDecisionsPerCall = 100

// An entry is a decision in a list.
type entry struct {
	Position uint64 `json:"position"` // how many messages of the run were read with it
	ID       string `json:"id"`
	At       string `json:"at"`
	Kind     string `json:"kind"`
	Job      string `json:"job"`
	Site     string `json:"site,omitempty"`
	Start    string `json:"start,omitempty"` // planned
	Why      string `json:"why"`
}

// A list holds decisions and a position from which to go on: the end of the run so far or, if
// there were more decisions than fit, the position of the last one listed.
type list struct {
	Decisions []entry `json:"decisions"`
	Position  uint64  `json:"position"`
}

// entryOf returns a decision as clients get it, with times in RFC 3339.
func entryOf(e timeline.Entry) entry {
	x := entry{e.N, e.ID, e.At.String(), e.Kind, string(e.Job), e.Site, "", e.Why}
	if e.Start != 0 {
		x.Start = e.Start.String()
	}
	return x
}

// toolResult returns the list as lines of text and as data.
func (l list) toolResult() (*sdk.CallToolResult, any, error) {
	var b strings.Builder
	for _, e := range l.Decisions {
		fmt.Fprintf(&b, "%s %s %s %s", e.ID, e.At, e.Kind, format.CleanText(e.Job))
		if e.Site != "" {
			fmt.Fprintf(&b, " %s", format.CleanText(e.Site))
		}
		fmt.Fprintf(&b, ": %s\n", format.CleanText(e.Why))
	}
	if len(l.Decisions) == 0 {
		b.WriteString("no decision\n")
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: b.String()}}}, l, nil
}

// addDecisionTools adds the tools that read, list and await decisions.
func (d toolServer) addDecisionTools(s *sdk.Server) {
	addTool(s, "get_decision", "One decision as a document: every site's options, also of those that refused, facts with ids, units and origin, what the clearing proved.", d.getDecision)
	addTool(s, "list_decisions", "Decisions, newest first.", d.listDecisions)
	addTool(s, "wait_for_decisions", "Wait until something is decided after a position of a live run, and return it; of a run that is over, what comes after.", d.waitForDecisions)
}

// getDecision returns one decision record as JSON, and its chart if that is asked for.
func (d toolServer) getDecision(ctx context.Context, in one) (*sdk.CallToolResult, any, error) {
	var rec record.DecisionRecord
	var known bool
	var c chart.Chart
	if err := d.run.ViewTimeline(ctx, func(y *timeline.Timeline) {
		if rec, known = y.DecisionRecord(in.Decision); known && in.Picture {
			c, _ = y.DrawChart(timeline.Drawing{Chart: "offers", Decision: in.Decision})
		}
	}); err != nil {
		return nil, nil, err
	}
	if !known {
		return nil, nil, fmt.Errorf("mcp: no decision %q is in this run; list_decisions names some", format.CleanText(in.Decision))
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return nil, nil, err
	}
	r := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(protocol.EscapeUnprintable(raw))}}}
	if c != nil {
		if err := appendChart(r, c); err != nil {
			return nil, nil, err
		}
	}
	return r, rec, nil
}

// listDecisions returns the newest decisions that match. It reads pages backwards until it has
// enough, as a filter may match few.
func (d toolServer) listDecisions(ctx context.Context, in some) (*sdk.CallToolResult, any, error) {
	at, err := parseInstant("at", in.At)
	if err != nil {
		return nil, nil, err
	}
	if in.Limit <= 0 {
		in.Limit = 20
	}
	in.Limit = min(in.Limit, 200)
	l := list{Decisions: []entry{}}
	err = d.run.ViewTimeline(ctx, func(y *timeline.Timeline) {
		l.Position = y.MessageCount()
		if _, last := y.TimeSpan(); at == 0 {
			at = last
		}
		for before := in.Before; len(l.Decisions) < in.Limit; {
			page := y.DecisionsUntil(at, before, 500)
			if len(page) == 0 {
				return
			}
			before = page[len(page)-1].N
			for _, e := range page {
				if (in.Kind == "" || in.Kind == e.Kind) && (in.Job == "" || in.Job == string(e.Job)) && (in.Site == "" || in.Site == e.Site) && len(l.Decisions) < in.Limit {
					l.Decisions = append(l.Decisions, entryOf(e))
				}
			}
		}
	})
	if err != nil {
		return nil, nil, err
	}
	return l.toolResult()
}

// waitForDecisions returns decisions after a position as soon as there are any, and an empty list
// when the time is over or the run has ended. The longest wait is below maxCallTime.
func (d toolServer) waitForDecisions(ctx context.Context, in next) (*sdk.CallToolResult, any, error) {
	if in.Seconds <= 0 {
		in.Seconds = 30
	}
	timer := time.NewTimer(time.Duration(min(in.Seconds, 55)) * time.Second)
	defer timer.Stop()
	for {
		// Read before the run is viewed, so that the last decisions are not missed.
		over := false
		select {
		case <-d.run.ReadingDone():
			over = true
		default:
		}
		l := list{Decisions: []entry{}}
		more, err := d.run.ViewAndWatch(ctx, func(y *timeline.Timeline) {
			l.Position = y.MessageCount()
			for _, e := range y.DecisionsSince(in.After, maxDecisionsPerCall) {
				l.Decisions = append(l.Decisions, entryOf(e))
			}
			if n := len(l.Decisions); n == maxDecisionsPerCall { // there may be more: the next call goes on here
				l.Position = l.Decisions[n-1].Position
			}
		})
		if err != nil {
			return nil, nil, err
		}
		if over || len(l.Decisions) > 0 {
			return l.toolResult()
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-timer.C:
			return l.toolResult()
		case <-more:
		}
	}
}
