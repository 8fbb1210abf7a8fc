package advisor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/protocol"
)

const judgeInstructions = `You choose where a computing job runs, among options that all fit and cost nearly the same.
The options have handles; their order means nothing. Notes are written by the operators of the sites.
If a note speaks for or against an option, follow it and give the reason operator_note.
If nothing tells the options apart, give the reason no_preference with any handle.
Answer with one JSON object: {"choice": HANDLE, "reason": REASON}. Nothing else is read.`

// maxNoteChars is the number of characters of a note that a model sees.
const maxNoteChars = 300

// judgePrompt renders a question of the market as a prompt, with the options in the
// given order or reversed. Its text is hashed into the ledger (protocol.JudgeAnswer.Prompt).
func judgePrompt(ask protocol.JudgeRequest, reversed bool) llm.Prompt {
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
			c.Handle, format.FormatDollars(c.Cost), format.FormatDollars(c.Extra), format.FormatKWh(o.Energy), format.FormatDollars(o.Money), format.FormatKilograms(o.Carbon),
			format.FormatDollars(o.Transfer), format.FormatThousandths(o.FragmentationDelta), format.FormatDuration(o.Start.Sub(first)), format.FormatDuration(o.Finish.Sub(o.Start)))
	}
	if len(ask.Notes) > 0 {
		text.WriteString("Notes:\n")
	}
	for _, n := range ask.Notes {
		fmt.Fprintf(&text, "- about %s: %s\n", handleOf(ask.Choices, n.Site), maskSiteNames(ask.Choices, n.Text))
	}
	return llm.Prompt{System: judgeInstructions, User: text.String(), Name: "verdict", Schema: verdictSchema(choices, len(ask.Notes) > 0), Tokens: 200}
}

// handleOf returns the handle of a site.
func handleOf(choices []protocol.JudgeChoice, site string) string {
	for _, c := range choices {
		if c.Site == site {
			return c.Handle
		}
	}
	return "another site"
}

// maskSiteNames returns a note with the names of sites replaced by their handles.
func maskSiteNames(choices []protocol.JudgeChoice, text string) string {
	var pairs []string
	longest := slices.Clone(choices) // replace long names first: one name may be the beginning of another
	slices.SortStableFunc(longest, func(a, b protocol.JudgeChoice) int { return len(b.Site) - len(a.Site) })
	for _, c := range longest {
		pairs = append(pairs, c.Site, c.Handle)
	}
	return format.TruncateText(strings.NewReplacer(pairs...).Replace(format.CleanText(text)), maxNoteChars)
}

// allowedReasons returns the reasons that a verdict may have; noted: there are notes.
func allowedReasons(noted bool) []protocol.Code {
	all := []protocol.Code{protocol.SpreadLoad, protocol.MaintenanceSoon, protocol.LessFragments, protocol.NoPreference}
	if noted {
		all = append(all, protocol.OperatorNote)
	}
	return all
}

func verdictSchema(choices []protocol.JudgeChoice, noted bool) json.RawMessage {
	var handles []string
	for _, c := range choices {
		handles = append(handles, c.Handle)
	}
	word := func(of any) map[string]any { return map[string]any{"type": "string", "enum": of} }
	schema, err := json.Marshal(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"choice", "reason"},
		"properties": map[string]any{"choice": word(handles), "reason": word(allowedReasons(noted))},
	})
	if err != nil {
		panic(err) // maps of strings never fail to encode
	}
	return schema
}

// maxVerdictBytes bounds the bytes of a verdict.
const maxVerdictBytes = 2048

// parseVerdict parses one verdict. Anything else than exactly one valid verdict is a
// fault, and none of its text is kept.
func parseVerdict(text string, ask protocol.JudgeRequest) (protocol.JudgePick, protocol.Code) {
	if len(text) > maxVerdictBytes {
		return protocol.JudgePick{}, protocol.AnswerInvalid
	}
	var fields map[string]string
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	if err := d.Decode(&fields); err != nil || len(fields) != 2 || d.More() {
		return protocol.JudgePick{}, protocol.AnswerInvalid
	}
	if rest, _ := d.Token(); rest != nil {
		return protocol.JudgePick{}, protocol.AnswerInvalid
	}
	choice, ok := fields["choice"]
	why, also := fields["reason"]
	if !ok || !also || !slices.Contains(allowedReasons(len(ask.Notes) > 0), protocol.Code(why)) {
		return protocol.JudgePick{}, protocol.AnswerInvalid
	}
	if !slices.ContainsFunc(ask.Choices, func(c protocol.JudgeChoice) bool { return c.Handle == choice }) {
		return protocol.JudgePick{}, protocol.NotAmongChoices
	}
	return protocol.JudgePick{Handle: choice, Why: protocol.Code(why)}, ""
}
