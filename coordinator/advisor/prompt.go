package advisor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/protocol"
)

const duty = `You choose where a computing job runs, among options that all fit and cost nearly the same.
The options have handles; their order means nothing. Notes are written by the operators of the sites.
If a note speaks for or against an option, follow it and give the reason operator_note.
If nothing tells the options apart, give the reason no_preference with any handle.
Answer with one JSON object: {"choice": HANDLE, "reason": REASON}. Nothing else is read.`

// mostNote is the number of characters of a note that a model sees.
const mostNote = 300

// question renders a question of the market as a prompt, with the options in the
// given order or reversed. Its text is hashed into the ledger (Answer.Prompt).
func question(ask protocol.Ask, reversed bool) llm.Prompt {
	choices := slices.Clone(ask.Choices)
	if reversed {
		slices.Reverse(choices)
	}
	first := choices[0].Option.Start
	for _, c := range choices {
		first = min(first, c.Option.Start)
	}
	var text strings.Builder
	text.WriteString("Options:\n")
	for _, c := range choices {
		o := c.Option
		fmt.Fprintf(&text, "- %s: costs %s in all, %s more than the cheapest; %s kWh for %s, %s kg CO2e; moving its input %s; makes %s GPUs useless to others; begins %s after the earliest of these options and runs %s\n",
			c.Handle, format.Dollars(c.Cost), format.Dollars(c.Extra), format.KWh(o.Energy), format.Dollars(o.Money), format.Kg(o.Carbon),
			format.Dollars(o.Transfer), format.Thousandths(o.Fragment), format.Span(o.Start.Sub(first)), format.Span(o.Finish.Sub(o.Start)))
	}
	if len(ask.Notes) > 0 {
		text.WriteString("Notes:\n")
	}
	for _, n := range ask.Notes {
		fmt.Fprintf(&text, "- about %s: %s\n", handle(ask.Choices, n.Site), masked(ask.Choices, n.Text))
	}
	return llm.Prompt{System: duty, User: text.String(), Name: "verdict", Schema: verdictSchema(choices, len(ask.Notes) > 0), Tokens: 200}
}

// handle returns the handle of a site.
func handle(choices []protocol.Choice, site string) string {
	for _, c := range choices {
		if c.Site == site {
			return c.Handle
		}
	}
	return "another site"
}

// masked returns a note with the names of sites replaced by their handles.
func masked(choices []protocol.Choice, text string) string {
	var pairs []string
	longest := slices.Clone(choices) // replace long names first: one name may be the beginning of another
	slices.SortStableFunc(longest, func(a, b protocol.Choice) int { return len(b.Site) - len(a.Site) })
	for _, c := range longest {
		pairs = append(pairs, c.Site, c.Handle)
	}
	return format.Cut(strings.NewReplacer(pairs...).Replace(format.Clean(text)), mostNote)
}

// reasons returns the reasons that a verdict may have; noted: there are notes.
func reasons(noted bool) []protocol.Code {
	all := []protocol.Code{protocol.SpreadLoad, protocol.MaintenanceSoon, protocol.LessFragments, protocol.NoPreference}
	if noted {
		all = append(all, protocol.OperatorNote)
	}
	return all
}

func verdictSchema(choices []protocol.Choice, noted bool) json.RawMessage {
	var handles []string
	for _, c := range choices {
		handles = append(handles, c.Handle)
	}
	word := func(of any) map[string]any { return map[string]any{"type": "string", "enum": of} }
	schema, err := json.Marshal(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"choice", "reason"},
		"properties": map[string]any{"choice": word(handles), "reason": word(reasons(noted))},
	})
	if err != nil {
		panic(err) // maps of strings never fail to encode
	}
	return schema
}

// mostVerdict bounds the bytes of a verdict.
const mostVerdict = 2048

// verdict parses one verdict. Anything else than exactly one valid verdict is a
// fault, and none of its text is kept.
func verdict(text string, ask protocol.Ask) (protocol.Pick, protocol.Code) {
	if len(text) > mostVerdict {
		return protocol.Pick{}, protocol.Invalid
	}
	var fields map[string]string
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	if err := d.Decode(&fields); err != nil || len(fields) != 2 || d.More() {
		return protocol.Pick{}, protocol.Invalid
	}
	if rest, _ := d.Token(); rest != nil {
		return protocol.Pick{}, protocol.Invalid
	}
	choice, ok := fields["choice"]
	why, also := fields["reason"]
	if !ok || !also || !slices.Contains(reasons(len(ask.Notes) > 0), protocol.Code(why)) {
		return protocol.Pick{}, protocol.Invalid
	}
	if !slices.ContainsFunc(ask.Choices, func(c protocol.Choice) bool { return c.Handle == choice }) {
		return protocol.Pick{}, protocol.NotOffered
	}
	return protocol.Pick{Handle: choice, Why: protocol.Code(why)}, ""
}
