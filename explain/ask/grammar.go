package ask

import (
	"slices"
	"strings"
)

// QuestionNames returns the names of all that can be asked, in order.
func QuestionNames() []string { return slices.Clone(english.asks) }

// concepts holds, for each word and name of a question in order, the concepts that it may
// stand for.
type concepts [][]string

// nounOf is the noun that may stand before a name.
var nounOf = map[string]string{"JOB": "jobs", "SITE": "sites", "TENANT": "tenants", "POLICY": "policy"}

// alwaysAllowed are the concepts that a word of any question may stand for.
var alwaysAllowed = strings.Fields("_ which how list future total")

// A rule says which concepts make a question. A refusal's ask begins with "!".
type rule struct {
	ask     string
	needs   [][]string      // one of each has to be there
	may     []string        // that other words may stand for; "*" alone allows all that is known
	allowed map[string]bool // all of these, with the nouns of names: every word stands for one
}

// concepts returns the concepts that a rule knows.
func (f rule) concepts() []string { return slices.Concat(slices.Concat(f.needs...), f.may) }

// hasConcept reports whether a rule knows a concept.
func (f rule) hasConcept(concept string) bool { return slices.Contains(f.concepts(), concept) }

// allowsAll reports whether a rule allows every word that is known.
func (f rule) allowsAll() bool { return len(f.may) == 1 && f.may[0] == "*" }

// matchConcepts reports whether the rule matches the concepts of a question, and by how many
// needs.
func (f rule) matchConcepts(s concepts) (int, bool) {
	for _, group := range f.needs {
		if !slices.ContainsFunc(group, s.hasConcept) {
			return 0, false
		}
	}
	if f.allowsAll() {
		return 0, true
	}
	for _, word := range s {
		if !slices.ContainsFunc(word, func(concept string) bool { return f.allowed[concept] }) {
			return 0, false
		}
	}
	return len(f.needs), true
}

// hasConcept reports whether any word of the question may stand for a concept.
func (s concepts) hasConcept(concept string) bool {
	return slices.ContainsFunc(s, func(word []string) bool { return slices.Contains(word, concept) })
}

// bestRules returns the rules that read the question with the most needs, one for
// each thing asked. Only rules of questions that count are tried; nil counts all.
func bestRules(s concepts, counts func(ask string) bool) (all []rule) {
	most := -1
	for _, r := range english.rules {
		n, ok := r.matchConcepts(s)
		if !ok || n < most || counts != nil && !counts(r.ask) {
			continue
		}
		if n > most {
			all, most = nil, n
		}
		if !containsAsk(all, r.ask) {
			all = append(all, r)
		}
	}
	return all
}

// containsAsk reports whether one of the rules makes a question.
func containsAsk(all []rule, ask string) bool {
	return slices.ContainsFunc(all, func(r rule) bool { return r.ask == ask })
}
