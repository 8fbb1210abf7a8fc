package ask

import (
	"slices"
	"strings"
)

// A pointer is a word of a question that refers to something in an earlier question.
type pointer struct {
	word   string
	before string // the question up to it
	after  string // and from there on
}

// personalPointers are pointers wherever they stand. demonstrativePointers also go before a
// noun or join clauses, so findPointer looks at the words beside them. pluralPointers refer
// to several things.
var (
	personalPointers      = strings.Fields("it its them they their")
	demonstrativePointers = strings.Fields("that this those these")
	pluralPointers        = strings.Fields("those these them they their")
)

// pointerLeads and pointerFollowers stand before and after a demonstrative word that is a
// pointer; between an auxiliaryVerb and an actionVerb it is one too: "what did that cost".
var (
	pointerLeads     = strings.Fields("of for about from by with behind was is were are")
	pointerFollowers = strings.Fields("was were is are did do does had have has ran waited in please pls then too altogether")
	auxiliaryVerbs   = strings.Fields("did does do has have had will would")
	actionVerbs      = strings.Fields("cost emit use take consume cause produce need save wait run")
)

// findPointer returns the first word of a question that refers to an earlier question.
func findPointer(question string) (p pointer, ok bool) {
	all := strings.Fields(question)
	word := func(i int) string {
		if i < 0 || i >= len(all) {
			return ""
		}
		return strings.ToLower(strings.Trim(all[i], "?.,!;:"))
	}
	for i := range all {
		w, prev, next := word(i), word(i-1), word(i+1)
		p = pointer{w, strings.Join(all[:i], " "), strings.Join(all[i+1:], " ")}
		ends := next == "" || strings.ContainsAny(all[i][len(all[i])-1:], "?.,!;:")
		switch {
		case next == "all" || next == "in" && (word(i+2) == "total" || word(i+2) == "all"), w == "it" && (prev == "make" || prev == "made"):
			// "how much is that in total", "who did not make it"
		case slices.Contains(personalPointers, w):
			return p, true
		case !slices.Contains(demonstrativePointers, w):
		case slices.Contains(pointerLeads, prev) && (ends || slices.Contains(pointerFollowers, next)),
			slices.Contains(auxiliaryVerbs, prev) && slices.Contains(actionVerbs, next),
			i == 0 && slices.Contains(pointerFollowers, next):
			return p, true
		}
	}
	return p, false
}

// checkPointer returns a clarification if a word of the question refers to something that
// the question does not name. Dropping the word would answer another question.
func (l *Parser) checkPointer(question string, q Query) *Clarification {
	p, ok := findPointer(question)
	if !ok || q.Job != "" || q.Decision != 0 {
		return nil
	}
	if (p.word == "it" || p.word == "its") && !strings.HasSuffix(strings.ToLower(p.before), " of") && !english.isOfKind(q, "of-something") {
		return nil
	}
	r := &reading{}
	tokens := l.index.splitTokens(p.before)
	if r.readTokens(l, tokens) != nil || slices.ContainsFunc(tokens, func(t token) bool { return len(t.names) > 0 }) {
		return nil
	}
	if slices.Contains(personalPointers[1:], p.word) {
		for _, noun := range []string{"jobs", "sites", "tenants", "bids", "policy", "who"} {
			if r.concepts.hasConcept(noun) || strings.Contains(p.before, "anything") || q.Tenant != "" {
				return nil // "jobs that missed their deadline"
			}
		}
	}
	return newClarification("ambiguous", "What does %q stand for? Name a job, a decision, a site or a tenant.", p.word)
}
