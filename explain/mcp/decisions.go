package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// Arguments of the tools about decisions.
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

// asResult returns the list as lines of text and as data.
func (l list) asResult() result {
	var b strings.Builder
	for _, e := range l.Decisions {
		fmt.Fprintf(&b, "%s %s %s %s", e.ID, e.At, e.Kind, format.CleanText(e.Job))
		if e.Site != "" {
			fmt.Fprintf(&b, " %s", format.CleanText(e.Site))
		}
		fmt.Fprintf(&b, ": %s\n", format.CleanText(e.Why))
	}
	return result{text: cmp.Or(b.String(), "no decision\n"), data: l}
}

// addDecisionTools adds the tools that read, list and await decisions.
func (d toolServer) addDecisionTools(s *sdk.Server) {
	addTool(s, "get_decision", "One decision as a document: every site's options, also of those that refused, facts with ids, units and origin, what the clearing proved.", nil, d.getDecision)
	addTool(s, "list_decisions", "Decisions, newest first.", nil, d.listDecisions)
	addTool(s, "wait_for_decisions", "Wait until something is decided after a position of a live run, and return it; of a run that is over, what comes after.", nil, d.waitForDecisions)
}

// getDecision returns one decision record as JSON, and its chart if that is asked for.
func (d toolServer) getDecision(ctx context.Context, in one) (result, error) {
	return tail.View(ctx, d.run, func(y *timeline.Timeline) (result, error) {
		rec, known := y.DecisionRecord(in.Decision)
		if !known {
			return result{}, fmt.Errorf("mcp: no decision %q is in this run; list_decisions names some", format.CleanText(in.Decision))
		}
		raw, err := json.Marshal(rec)
		r := result{text: string(protocol.EscapeUnprintable(raw)), data: rec}
		if in.Picture {
			if c, err := y.DrawChart(timeline.Drawing{Chart: "offers", Decision: in.Decision}); err == nil {
				r.charts = append(r.charts, c)
			}
		}
		return r, err
	})
}

// listDecisions returns the newest decisions that match. It reads pages backwards until it has
// enough, as a filter may match few.
func (d toolServer) listDecisions(ctx context.Context, in some) (result, error) {
	at, err := parseInstant("at", in.At)
	if err != nil {
		return result{}, err
	}
	in.Limit = min(cmp.Or(max(in.Limit, 0), 20), 200)
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
	return l.asResult(), err
}

// waitForDecisions returns decisions after a position as soon as there are any, and an empty list
// when the time is over or the run has ended. The longest wait is below maxCallTime.
func (d toolServer) waitForDecisions(ctx context.Context, in next) (result, error) {
	timer := time.NewTimer(time.Duration(min(cmp.Or(max(in.Seconds, 0), 30), 55)) * time.Second)
	defer timer.Stop()
	for {
		over := d.run.HasEnded() // before the run is viewed, so that the last decisions are not missed
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
		if err != nil || over || len(l.Decisions) > 0 {
			return l.asResult(), err
		}
		select {
		case <-ctx.Done():
			return result{}, ctx.Err()
		case <-timer.C:
			return l.asResult(), nil
		case <-more:
		}
	}
}
