package ask

import (
	"fmt"
	"slices"
	"strings"
)

// A pointer is a word of a question that stands for what was spoken of before.
type pointer struct {
	word   string
	before string // the question up to it
	after  string // and from there on
}

// personal are pointers wherever they stand; demonstrative ones are also words that
// go before a noun or join clauses, so their neighbours tell.
var (
	personal      = strings.Fields("it its them they their")
	demonstrative = strings.Fields("that this those these")
	many          = strings.Fields("those these them they their")
)

// leads and follows are what stands before and after a demonstrative word that is
// no part of a name of something; doers ask what it does.
var (
	leads   = strings.Fields("of for about from by with behind was is were are")
	follows = strings.Fields("was were is are did do does had have has ran waited in please pls then too altogether")
	doers   = strings.Fields("did does do has have had will would")
	deeds   = strings.Fields("cost emit use take consume cause produce need save wait run")
)

// points finds the first word of a question that stands for something said
// before.
func points(question string) (p pointer, ok bool) {
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
		case slices.Contains(personal, w):
			return p, true
		case !slices.Contains(demonstrative, w):
		case slices.Contains(leads, prev) && (ends || slices.Contains(follows, next)),
			slices.Contains(doers, prev) && slices.Contains(deeds, next),
			i == 0 && slices.Contains(follows, next):
			return p, true
		}
	}
	return p, false
}

// dangling asks what a word of a question stands for, if nothing that the
// question names can be meant. Without that word it would be another question.
func (l *Listener) dangling(question string, q Query) *Back {
	p, ok := points(question)
	if !ok || q.Job != "" || q.Decision != 0 {
		return nil
	}
	if (p.word == "it" || p.word == "its") && !strings.HasSuffix(strings.ToLower(p.before), " of") && !english.is(q, "of-something") {
		return nil
	}
	r := &reading{}
	tokens := l.index.split(p.before)
	if r.read(l, tokens) != nil || slices.ContainsFunc(tokens, func(t token) bool { return len(t.names) > 0 }) {
		return nil
	}
	if slices.Contains(personal[1:], p.word) {
		for _, noun := range []string{"jobs", "sites", "tenants", "bids", "policy", "who"} {
			if r.said.has(noun) || strings.Contains(p.before, "anything") || q.Tenant != "" {
				return nil // "jobs that missed their deadline"
			}
		}
	}
	return &Back{Kind: "ambiguous", Text: []string{fmt.Sprintf("What does %q stand for? Name a job, a decision, a site or a tenant.", p.word)}}
}
