package constrained

import (
	"fmt"
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
		say("Beside %s, the bid of "+strings.ReplaceAll(b.Site, "%", "%%")+" has a difference in cost of %s.", won, ref(b.ID, "cost-difference"))
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

// SelectionRequest returns a request to choose and order prepared sentences by number.
func SelectionRequest(d record.DecisionRecord) ModelRequest {
	return ChoiceRequest("You explain a scheduling decision to an operator, by choosing among ready sentences. ", TemplateSentences(d))
}

// ChoiceRequest returns a request to choose and order some of the ready sentences by number; system
// begins the prompt and says what they are about.
func ChoiceRequest(system string, ready []string) ModelRequest {
	var list strings.Builder
	for i, s := range ready {
		fmt.Fprintf(&list, "%d. %s\n", i+1, s)
	}
	return ModelRequest{
		System: system + "Choose up to five, most telling first. " +
			`Answer with one JSON object: {"sentences": [NUMBER, ...]}.`,
		User: list.String(), Name: "selection",
		Schema: sentencesSchema(map[string]any{"type": "integer", "minimum": 1, "maximum": len(ready)}),
	}
}

// CheckSelection returns the sentences that a reply to SelectionRequest chose. The decision itself is
// always included, first if it was not chosen.
func CheckSelection(d record.DecisionRecord, reply string) ([]string, error) {
	ready := TemplateSentences(d)
	chosen, err := CheckChoice(ready, reply)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(chosen, ready[0]) {
		chosen = append(ready[:1], chosen...)
	}
	return chosen, nil
}

// CheckChoice returns the sentences that a reply to ChoiceRequest chose, in its order.
func CheckChoice(ready []string, reply string) ([]string, error) {
	chosen, err := decodeSentences[int](reply)
	if err != nil {
		return nil, err
	}
	var out []string
	for i, k := range chosen {
		if k < 1 || k > len(ready) || slices.Contains(chosen[:i], k) {
			return nil, fmt.Errorf("constrained: sentence %d does not exist or is chosen twice", k)
		}
		out = append(out, ready[k-1])
	}
	return out, nil
}
