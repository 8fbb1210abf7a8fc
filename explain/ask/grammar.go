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

// A pattern is a rule compiled for matching, because every rule is tried on every question.
type pattern struct {
	rule
	needs   [][]string      // one of each has to be there
	allowed map[string]bool // concepts of which every word has one
}

var patterns = func() (all []pattern) {
	for _, r := range english.rules {
		p := pattern{rule: r, allowed: map[string]bool{"_": true, "which": true, "how": true, "list": true, "future": true, "total": true}}
		allow := func(concepts []string) {
			for _, c := range concepts {
				p.allowed[c], p.allowed[nounOf[c]] = true, true
			}
		}
		for group := range strings.FieldsSeq(r.needs) {
			p.needs = append(p.needs, strings.Split(group, "|"))
			allow(p.needs[len(p.needs)-1])
		}
		allow(strings.Fields(r.may))
		all = append(all, p)
	}
	return all
}()

// matchConcepts reports whether the rule matches the concepts of a question, and by how many
// needs.
func (p *pattern) matchConcepts(s concepts) (int, bool) {
	for _, group := range p.needs {
		if !slices.ContainsFunc(group, s.hasConcept) {
			return 0, false
		}
	}
	if p.may == "*" {
		return 0, true
	}
	for _, word := range s {
		if !slices.ContainsFunc(word, func(concept string) bool { return p.allowed[concept] }) {
			return 0, false
		}
	}
	return len(p.needs), true
}

// hasConcept reports whether any word of the question may stand for a concept.
func (s concepts) hasConcept(concept string) bool {
	return slices.ContainsFunc(s, func(word []string) bool { return slices.Contains(word, concept) })
}

// bestRules returns the rules that read the question with the most needs, one for
// each thing asked. Only rules of questions that count are tried; nil counts all.
func bestRules(s concepts, counts func(ask string) bool) (all []rule) {
	most := -1
	for i := range patterns {
		r := patterns[i].rule
		n, ok := patterns[i].matchConcepts(s)
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
