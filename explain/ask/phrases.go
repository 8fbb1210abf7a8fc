package ask

import (
	"slices"
	"strings"
)

// phrases are the lexicon by phrase; longest is how many words one has at most.
var phrases, longest = func() (map[string][]string, int) {
	all, most := make(map[string][]string), 1
	add := func(concept, phrase string) {
		phrase = fold.Replace(phrase)
		if concept == "best" && slices.ContainsFunc(strings.Fields(phrase), func(w string) bool { return slices.Contains(timely, w) }) {
			concept = "besttime"
		}
		if concept == "wait" && slices.ContainsFunc(strings.Fields(phrase), func(w string) bool { return slices.Contains(nominal, w) }) {
			all[phrase] = append(all[phrase], "waitnoun")
		}
		if !slices.Contains(all[phrase], concept) {
			all[phrase] = append(all[phrase], concept)
			most = max(most, len(strings.Fields(phrase)))
		}
	}
	for line := range strings.Lines(lexicon + speech + speechOfSums + speechOfRules) {
		concept, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		switch concept {
		case "_":
			rest = strings.ReplaceAll(rest, " ", ", ")
		case "__":
			concept = "_"
		}
		for phrase := range strings.SplitSeq(rest, ",") {
			if phrase = strings.TrimSpace(phrase); phrase != "" {
				add(concept, phrase)
			}
		}
	}
	families(add)
	return all, most
}()

// fold writes "CO₂" as it is typed.
var fold = strings.NewReplacer("₂", "2")

// timely are words that make what is best a time.
var timely = strings.Fields("hour hours time moment slot window day start when begin launch submit run send")

// nominal are words that make a wait a length of time, and not who waits.
var nominal = strings.Fields("wait waits time times delay duration period waiting-time latency")
