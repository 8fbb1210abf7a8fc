// Package advisor connects the market to a language model. A [Judge] is a party of
// the bus: for each question of the market it asks a model twice, with the options
// in opposite orders, and sends both answers or the reason why there is none. A
// [Narrator] lets a model choose or word sentences that package explain/narrate
// has derived from the record.
//
// A model never sees the name of a job or a tenant, nor any text that came with a
// job or a bid. It sees figures, operators' notes, and sites: as handles where it
// judges, by name where it narrates. A reply counts only if it is one JSON object
// with known words; so no text of a model reaches the ledger.
//
// The market does not trust this package. It checks each answer, waits no longer
// than it planned to, and decides by its rule without one.
//
// Package llm, the neighbour, calls the model.
package advisor

import (
	"context"

	"github.com/gridbid/gridbid/llm"
)

// A Model answers prompts: a [llm.Model], or a fake in tests.
type Model interface {
	Ask(context.Context, llm.Prompt) (llm.Reply, error)
	Name() string
}
