package advisor

import (
	"context"
	"fmt"
	"time"

	"github.com/gridbid/gridbid/explain/constrained"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/llm"
)

// A Level says what a model may do to a narration.
type Level string

// The levels, each of which falls back to the one before.
const (
	Template Level = "template" // nothing
	Select   Level = "select"   // choose and order ready sentences
	Prose    Level = "prose"    // word sentences, with references in place of figures; experimental
)

// Levels are all levels.
var Levels = []Level{Template, Select, Prose}

// A Narrator has a model tell decisions.
type Narrator struct {
	model Model
	level Level
	wait  time.Duration
}

// NewNarrator returns a narrator at a level, which waits so long for all that it
// asks about one decision.
func NewNarrator(model Model, level Level, wait time.Duration) *Narrator {
	return &Narrator{model, level, wait}
}

// Told is a decision in sentences: by which level, and why by no higher one.
type Told struct {
	Text []string `json:"text"`
	By   Level    `json:"by"`
	Why  string   `json:"why,omitempty"`
}

// Tell tells a decision. It always does: what a model says is checked, asked for
// once more where prose broke a rule, and left aside where it does not hold.
func (n *Narrator) Tell(ctx context.Context, d record.Record) Told {
	ctx, cancel := context.WithTimeout(ctx, n.wait)
	defer cancel()
	why := ""
	if n.level == Prose {
		ask := constrained.Prose(d)
		for range 2 {
			text, err := n.put(ctx, ask, d, constrained.Worded)
			if err == nil {
				return Told{text, Prose, ""}
			}
			why = err.Error()
			ask.User += "\nYour last answer was refused: " + why + "\n"
		}
	}
	if n.level == Prose || n.level == Select {
		text, err := n.put(ctx, constrained.Select(d), d, constrained.Selected)
		if err == nil {
			return Told{text, Select, why}
		}
		why = err.Error()
	}
	ready := constrained.Ready(d)
	return Told{ready[:min(len(ready), 5)], Template, why}
}

// put asks, and reads what comes back.
func (n *Narrator) put(ctx context.Context, r constrained.Request, d record.Record, read func(record.Record, string) ([]string, error)) (text []string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("advise: the model panicked: %v", v)
		}
	}()
	reply, err := n.model.Ask(ctx, llm.Prompt{System: r.System, User: r.User, Name: r.Name, Schema: r.Schema, Tokens: 800})
	if err != nil {
		return nil, err
	}
	return read(d, reply.Text)
}
