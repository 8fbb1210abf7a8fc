package ask

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/explain/format"
)

// A carrier is a concept that makes a question another one. Where a question has
// it, its query has to say it too: what a rule merely puts up with must not be
// answered as if it had not been said. holds and lacks say what the question's entry in
// the lexicon says of the concept.
type carrier struct {
	concept string // or several, joined by "+", that have to be there together
	name    string
	even    bool // in a word that may be read as something else
	kept    func(q Query, holds, lacks bool) bool
}

func holding(_ Query, holds, _ bool) bool   { return holds }
func unlacking(_ Query, _, lacks bool) bool { return !lacks }

var carriers = []carrier{
	{"bysite", "the split by site", false, func(q Query, holds, _ bool) bool { return q.By == "site" || holds && q.Site == "" }},
	{"bytenant", "the split by tenant", false, func(q Query, holds, _ bool) bool { return q.By == "tenant" || holds }},
	{"byhour", "the split by hour", false, func(q Query, _, _ bool) bool { return q.By == "hour" }},
	{"byjob", "the split by job", false, holding},
	{"most", "which is the most", false, func(q Query, holds, _ bool) bool { return q.Pick == "most" || holds }},
	{"least", "which is the least", false, func(q Query, holds, _ bool) bool { return q.Pick == "least" || holds }},
	{"median", "the median", false, func(q Query, _, _ bool) bool { return q.Pick == "median" }},
	{"p95", "the 95th percentile", false, func(q Query, _, _ bool) bool { return q.Pick == "p95" }},
	{"average", "the average", false, func(q Query, holds, _ bool) bool { return holds && q.Pick == "" }},
	{"NUM", "the number", false, func(q Query, holds, _ bool) bool { return q.Number != 0 || holds }}, // carbon may be free
	{"DUR", "the length of time", false, func(q Query, _, _ bool) bool { return q.Long != 0 || q.Within != 0 }},
	{"AT", "the time", false, func(q Query, _, _ bool) bool { return timed(q) }},
	{"WIN", "the time", false, func(q Query, _, _ bool) bool { return timed(q) }},
	{"SITE", "the site", false, func(q Query, holds, _ bool) bool { return q.Site != "" || holds }},
	{"TENANT", "the tenant", false, func(q Query, _, _ bool) bool { return q.Tenant != "" }},
	{"JOB", "the job", false, func(q Query, _, _ bool) bool { return q.Job != "" }},
	{"not", "\"not\"", false, holding},
	{"who", "who", false, func(q Query, _, lacks bool) bool { return q.By != "" || !lacks }},
	{"total", "a total", false, unlacking},
	{"future", "the time to come", false, func(q Query, _, lacks bool) bool { return !lacks || q.At != 0 }},
	{"start", "when they started", true, func(q Query, _, lacks bool) bool { return !lacks || q.To == 0 }}, // jobs count where they arrived
	{"end", "when they ended", true, func(q Query, _, lacks bool) bool { return !lacks || q.To == 0 }},
	{"model", "the GPU model", true, unlacking},
	{"price", "the price", true, unlacking},
	{"many+jobs", "how many jobs", true, unlacking},
	{"kwh", "kWh", true, func(q Query, _, _ bool) bool { return q.Metric != "cost" }},
	{"bygone", "that it is over", true, func(q Query, _, lacks bool) bool { return !lacks || q.At != 0 }},
}

func timed(q Query) bool {
	return strings.Contains(english.questions[q.Ask].parts, "time")
}

// either reports whether each word that has a concept may be something else.
func (r *reading) either(concept string) bool {
	return !slices.ContainsFunc(r.said, func(word []string) bool { return len(word) == 1 && word[0] == concept })
}

// carries reports whether a question has the concept of a carrier in a word that a
// rule cannot have read as something else.
func (r *reading) carries(c carrier, f rule) bool {
	if c.even {
		return !slices.ContainsFunc(strings.Split(c.concept, "+"), func(part string) bool { return !r.said.has(part) })
	}
	return slices.ContainsFunc(r.said, func(word []string) bool {
		return slices.Contains(word, c.concept) && !slices.Contains(word, "_") && !slices.ContainsFunc(word, func(other string) bool { return other != c.concept && other != "which" && f.has(other) })
	})
}

// lost names what a question says and its query does not.
func (r *reading) lost(f rule, q Query) (names []string) {
	if f.may == "*" {
		return nil
	}
	entry := english.questions[q.Ask]
	for _, c := range carriers {
		if !c.kept(q, slices.Contains(entry.holds, c.concept), slices.Contains(entry.lacks, c.concept)) && r.carries(c, f) {
			names = append(names, c.name)
		}
	}
	for _, noun := range []string{"sites", "tenants"} {
		one := map[string]string{"sites": q.Site, "tenants": q.Tenant}[noun]
		if r.said.has(noun) && one == "" && q.By+"s" != noun && slices.Contains(entry.lacks, noun) && !r.either(noun) {
			names = append(names, "the "+noun)
		}
	}
	if r.slots.Within != 0 && q.Within == 0 || q.To != 0 && q.Within != 0 {
		names = append(names, "the length of time")
	}
	if !q.oneQuantity(r) {
		names = append(names, "one of the quantities")
	}
	if len(r.numbers) > 1 && !slices.Contains(names, "the number") && q.Ask != "help" {
		names = append(names, "one of the numbers")
	}
	return names
}

// oneQuantity reports whether a query has each quantity that its question asks for.
func (q Query) oneQuantity(r *reading) bool {
	switch {
	case !strings.Contains(english.questions[q.Ask].text, "{metric}") && !strings.Contains(english.questions[q.Ask].text, "{bill}"):
		return true
	case q.Metric == "":
		return q.Pick == "" && (r.joined || r.quantities() < 2)
	case q.Ask == "top":
		return r.quantities() < 2 && (q.Metric == "wait" || !r.said.has("wait"))
	}
	return true
}

// has reports whether a rule knows a concept.
func (f rule) has(concept string) bool {
	return slices.Contains(strings.FieldsFunc(f.needs+" "+f.may, func(c rune) bool { return c == ' ' || c == '|' }), concept)
}

// left refuses a question of which a query says all but something.
func left(lost []string, q Query) *Back {
	if slices.Contains(lost, `"not"`) { // without it, the opposite
		return &Back{Kind: "ambiguous", Text: []string{fmt.Sprintf("That is not answered together with %s.", format.JoinWithAnd(lost))}}
	}
	a := &Back{Kind: "ambiguous"}
	a.say("That is not answered together with %s.", format.JoinWithAnd(lost))
	return a.offer("Without it, it would be:", q)
}

// hasty returns what to say instead of a refusal that one word brought about,
// if the others make a question of their own. A "must" in a question is none of
// the words that ask for a rule: "why must it wait".
func (l *Listener) hasty(r *reading, f rule) (Query, *Back) {
	if r.asks && (f.ask == "!legislate" && (r.slots.Job != "" || r.slots.Decision != 0) || f.ask == "!act" && r.said.has("if")) {
		rest := slices.DeleteFunc(slices.Clone(r.said), func(word []string) bool { return slices.Contains(word, f.ask[1:]) })
		if found := best(rest); len(found) != 1 || len(strings.Fields(found[0].needs)) < 2 {
			return Query{}, l.missing(&reading{said: rest, slots: r.slots})
		}
	}
	if f.ask == "!unrecorded" || f.ask == "!policy" || f.may != "*" {
		return Query{}, nil
	}
	concept := strings.TrimPrefix(f.ask, "!")
	rest := slices.DeleteFunc(slices.Clone(r.said), func(word []string) bool { return slices.Contains(word, concept) })
	found := best(rest)
	if len(found) != 1 || found[0].may == "*" || len(strings.Fields(found[0].needs)) < 2 {
		return Query{}, nil
	}
	q := r.query(found[0])
	if r.said.has("why") && concept == "legislate" && r.said.has("modal") && len(r.lost(found[0], q)) == 0 {
		return q, nil
	}
	a := &Back{Kind: "ambiguous"}
	a.say("One word of the question asks for what is not told or done here.")
	return Query{}, a.offer("Without it, it would be:", q)
}

// splits returns by how many things a question splits what it asks for.
func (r *reading) splits() (n int) {
	for _, by := range []string{"bysite", "bytenant", "byhour", "byjob"} {
		if r.said.has(by) {
			n++
		}
	}
	return n
}

// quantities returns of how many sums a question speaks.
func (r *reading) quantities() (n int) {
	for _, m := range []string{"carbon", "energy", "cost"} {
		if r.said.has(m) {
			n++
		}
	}
	return n
}
