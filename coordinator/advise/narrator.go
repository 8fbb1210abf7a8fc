package advise

import (
	"context"
	"fmt"
	"time"

	"github.com/gridbid/gridbid/coordinator/decision"
	"github.com/gridbid/gridbid/coordinator/wording"
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
func (n *Narrator) Tell(ctx context.Context, d decision.Record) Told {
	ctx, cancel := context.WithTimeout(ctx, n.wait)
	defer cancel()
	why := ""
	if n.level == Prose {
		ask := wording.Prose(d)
		for range 2 {
			text, err := n.put(ctx, ask, d, wording.Worded)
			if err == nil {
				return Told{text, Prose, ""}
			}
			why = err.Error()
			ask.User += "\nYour last answer was refused: " + why + "\n"
		}
	}
	if n.level == Prose || n.level == Select {
		text, err := n.put(ctx, wording.Select(d), d, wording.Selected)
		if err == nil {
			return Told{text, Select, why}
		}
		why = err.Error()
	}
	ready := wording.Ready(d)
	return Told{ready[:min(len(ready), 5)], Template, why}
}

// put asks, and reads what comes back.
func (n *Narrator) put(ctx context.Context, r wording.Request, d decision.Record, read func(decision.Record, string) ([]string, error)) (text []string, err error) {
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
