package constrained

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/explain/record"
)

// TemplateSentences returns true sentences about a decision with facts inserted; the first states
// the decision and its reason. Sentences about a site whose name breaks the rules are
// left out.
func TemplateSentences(d record.DecisionRecord) []string {
	var out []string
	for _, line := range templateLines(d) {
		if s, err := expandReferences(d, line); err == nil {
			out = append(out, s)
		}
	}
	return out
}

// templateLines returns the prepared sentences with references.
func templateLines(d record.DecisionRecord) (all []string) {
	ref := func(subject, metric string) string {
		for _, f := range d.Facts {
			if f.Subject == subject && f.Metric == metric {
				return "{{" + f.ID + "}}"
			}
		}
		return ""
	}
	// say adds a sentence unless one of its references is missing.
	say := func(format string, args ...any) {
		if !slices.Contains(args, any("")) {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	won := winningSite(d)
	switch why := ref("decision", "reason"); {
	case won != "":
		say("%s: the job goes to %s, because %s.", d.ID, won, why)
	case endsJob(d):
		say("%s: the job ends, because %s.", d.ID, why)
	default:
		say("%s: the job is to wait, because %s.", d.ID, why)
	}
	say("It is called again by %s.", ref("decision", "until"))
	say("By the plan it begins at %s.", ref("decision", "planned-start"))
	if won != "" {
		w := *d.Winner
		say("At %s it begins at %s and ends at %s.", won, ref(w, "start"), ref(w, "finish"))
		say("At %s it costs %s in total.", won, ref(w, "total-cost"))
		say("At %s it takes %s and emits %s.", won, ref(w, "energy"), ref(w, "carbon"))
		say("At %s its carbon is counted as %s.", won, ref(w, "carbon-cost"))
	}
	for _, b := range d.Bids {
		say("Beside %s, the bid of "+escapePercent(b.Site)+" has a difference in cost of %s.", won, ref(b.ID, "cost-difference"))
		if !b.Feasible {
			say("%s is out of it, because %s.", b.Site, ref(b.ID, "reason"))
		}
	}
	if !endsJob(d) {
		say("The job is to end by %s.", ref("job", "deadline"))
	}
	say("The round places %s jobs at a cost of %s; the bound is %s.", ref("round", "jobs"), ref("round", "primal"), ref("round", "bound"))
	return all
}

// escapePercent escapes a name for use in a format string.
func escapePercent(name string) string { return strings.ReplaceAll(name, "%", "%%") }

// SelectionRequest returns a request to choose and order prepared sentences by number.
func SelectionRequest(d record.DecisionRecord) ModelRequest {
	ready := TemplateSentences(d)
	var list strings.Builder
	for i, s := range ready {
		fmt.Fprintf(&list, "%d. %s\n", i+1, s)
	}
	return ModelRequest{
		System: "You explain a scheduling decision to an operator, by choosing among ready sentences. Choose up to five, most telling first. " +
			`Answer with one JSON object: {"sentences": [NUMBER, ...]}.`,
		User: list.String(), Name: "selection",
		Schema: mustEncodeSchema(map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"sentences"},
			"properties": map[string]any{"sentences": map[string]any{
				"type": "array", "minItems": 1, "maxItems": maxSentences, "items": map[string]any{"type": "integer", "minimum": 1, "maximum": len(ready)},
			}},
		}),
	}
}

// CheckSelection returns the sentences that a reply to Select chose. The decision itself is
// always included, first if it was not chosen.
func CheckSelection(d record.DecisionRecord, reply string) ([]string, error) {
	var chosen struct {
		Sentences []int `json:"sentences"`
	}
	if err := decodeStrictly(reply, &chosen); err != nil {
		return nil, err
	}
	n := len(chosen.Sentences)
	if n == 0 || n > maxSentences {
		return nil, fmt.Errorf("constrained: %d sentences: want 1 to %d", n, maxSentences)
	}
	ready := TemplateSentences(d)
	var out []string
	for i, k := range chosen.Sentences {
		if k < 1 || k > len(ready) || slices.Contains(chosen.Sentences[:i], k) {
			return nil, fmt.Errorf("constrained: sentence %d does not exist or is chosen twice", k)
		}
		out = append(out, ready[k-1])
	}
	if !slices.Contains(chosen.Sentences, 1) {
		out = append(ready[:1], out...)
	}
	return out, nil
}

// decodeStrictly parses one JSON object with known fields and nothing after it.
func decodeStrictly(reply string, into any) error {
	if len(reply) > maxReplyBytes {
		return fmt.Errorf("constrained: reply of %d bytes: the limit is %d", len(reply), maxReplyBytes)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(reply)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New("constrained: the reply does not match the schema")
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("constrained: the reply continues after its object")
	}
	return nil
}
