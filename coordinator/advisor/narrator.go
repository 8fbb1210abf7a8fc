package advisor

import (
	"context"
	"fmt"
	"time"

	"github.com/gridbid/gridbid/coordinator/advisor/constrained"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/llm"
)

// A Level is the freedom that a model has in a narration.
type Level string

// The levels. If one fails, the narrator falls back to the one before it.
const (
	Template Level = "template" // none: sentences by templates
	Select   Level = "select"   // it chooses and orders template sentences
	Prose    Level = "prose"    // it words sentences with references in place of figures; experimental
)

// Levels lists all levels.
var Levels = []Level{Template, Select, Prose}

// A Narrator narrates decisions with the help of a model.
type Narrator struct {
	model Model
	level Level
	wait  time.Duration
}

// NewNarrator returns a narrator at a level; wait bounds all calls for one decision
// together.
func NewNarrator(model Model, level Level, wait time.Duration) *Narrator {
	return &Narrator{model, level, wait}
}

// Narration is the narration of a decision: its sentences, the level reached, and why no higher one was.
type Narration struct {
	Text []string `json:"text"`
	By   Level    `json:"by"`
	Why  string   `json:"why,omitempty"`
}

// NarrateDecision narrates a decision, at the level Template if all else fails. It checks what
// the model returns, asks once more when prose broke a rule, and discards what
// fails the check.
func (n *Narrator) NarrateDecision(ctx context.Context, d record.DecisionRecord) Narration {
	ctx, cancel := context.WithTimeout(ctx, n.wait)
	defer cancel()
	why := ""
	if n.level == Prose {
		ask := constrained.ProseRequest(d)
		for range 2 {
			text, err := n.askModel(ctx, ask, d, constrained.CheckProse)
			if err == nil {
				return Narration{text, Prose, ""}
			}
			why = err.Error()
			ask.User += "\nYour last answer was refused: " + why + "\n"
		}
	}
	if n.level == Prose || n.level == Select {
		text, err := n.askModel(ctx, constrained.SelectionRequest(d), d, constrained.CheckSelection)
		if err == nil {
			return Narration{text, Select, why}
		}
		why = err.Error()
	}
	ready := constrained.TemplateSentences(d)
	return Narration{ready[:min(len(ready), 5)], Template, why}
}

// ChooseSentences has a model choose and order up to five of the ready sentences of a brief, of which
// it is shown others of the same number: without names of jobs and people. It adds no word,
// so every figure is the code's.
func ChooseSentences(ctx context.Context, m Model, wait time.Duration, shown, ready []string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	request := constrained.ChoiceRequest("You sum up the last hours of a compute federation for its operator, by choosing among ready sentences. ", shown)
	return (&Narrator{model: m}).askModel(ctx, request, record.DecisionRecord{}, func(_ record.DecisionRecord, reply string) ([]string, error) {
		return constrained.CheckChoice(ready, reply)
	})
}

// askModel calls the model once, and checks and reads its reply.
func (n *Narrator) askModel(ctx context.Context, r constrained.ModelRequest, d record.DecisionRecord, read func(record.DecisionRecord, string) ([]string, error)) (text []string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("advisor: the model panicked: %v", v)
		}
	}()
	reply, err := n.model.Ask(ctx, llm.Prompt{System: r.System, User: r.User, Name: r.Name, Schema: r.Schema, Tokens: 800})
	if err != nil {
		return nil, err
	}
	return read(d, reply.Text)
}
