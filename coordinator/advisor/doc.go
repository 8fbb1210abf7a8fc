// Package advisor is what stands between the market and a language model. A
// [Judge] is a party of the bus: it puts the market's questions to a model,
// twice, in opposite orders, and says what came of it. A [Narrator] has a model
// choose or word what narrate has proven.
//
// A model never sees the name of a job or a tenant, nor any text that came with a
// job or an offer; it sees figures, what operators wrote, and sites: as handles
// where it judges, by name where it narrates. What it says is read as one JSON
// object with known words in it, or not at all: no text of a model reaches the
// ledger.
//
// The market trusts nobody here. It checks what a judge says, waits no longer
// than it meant to, and without an answer goes by its rule.
package advisor

import (
	"context"

	"github.com/gridbid/gridbid/llm"
)

// A Model answers prompts: a [llm.Model], or what a test puts in its place.
type Model interface {
	Ask(context.Context, llm.Prompt) (llm.Reply, error)
	Name() string
}
