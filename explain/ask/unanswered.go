package ask

import (
	"slices"
	"strings"

	"github.com/gridbid/gridbid/internal/format"
)

// A carrier is a concept that changes what a question asks. If a question has it, its query
// must have it too: a rule that merely allows the word must not answer as if the word were
// not there. holds and lacks report whether the question's entry in the lexicon lists the
// concept.
type carrier struct {
	concept string // or several, joined by "+", that have to be there together
	name    string
	even    bool // in a word that may be read as something else
	kept    func(q Query, holds, lacks bool) bool
}

func keptIfHeld(_ Query, holds, _ bool) bool        { return holds }
func keptUnlessLacking(_ Query, _, lacks bool) bool { return !lacks }

var carriers = []carrier{
	{"bysite", "the split by site", false, func(q Query, holds, _ bool) bool { return q.By == "site" || holds && q.Site == "" }},
	{"bytenant", "the split by tenant", false, func(q Query, holds, _ bool) bool { return q.By == "tenant" || holds }},
	{"byhour", "the split by hour", false, func(q Query, holds, _ bool) bool { return q.By == "hour" || holds }},
	{"byjob", "the split by job", false, keptIfHeld},
	{"most", "which is the most", false, func(q Query, holds, _ bool) bool { return q.Pick == "most" || holds }},
	{"least", "which is the least", false, func(q Query, holds, _ bool) bool { return q.Pick == "least" || holds }},
	{"median", "the median", false, func(q Query, _, _ bool) bool { return q.Pick == "median" }},
	{"p95", "the 95th percentile", false, func(q Query, _, _ bool) bool { return q.Pick == "p95" }},
	{"average", "the average", false, func(q Query, holds, _ bool) bool { return holds && q.Pick == "" }},
	{"NUM", "the number", false, func(q Query, holds, _ bool) bool { return q.Number != 0 || holds }}, // carbon may be free
	{"DUR", "the length of time", false, func(q Query, holds, _ bool) bool { return q.Long != 0 || q.Within != 0 || holds }},
	{"AT", "the time", false, func(q Query, _, _ bool) bool { return takesTime(q) && (q.Ask != "jobs" || q.State != "") }},
	{"WIN", "the time", false, func(q Query, _, _ bool) bool { return takesTime(q) }},
	{"SITE", "the site", false, func(q Query, holds, _ bool) bool { return q.Site != "" || holds }},
	{"TENANT", "the tenant", false, func(q Query, _, _ bool) bool { return q.Tenant != "" }},
	{"JOB", "the job", false, func(q Query, _, _ bool) bool { return q.Job != "" }},
	{"not", "\"not\"", false, keptIfHeld},
	{"who", "who", false, func(q Query, _, lacks bool) bool { return q.By != "" || !lacks }},
	{"total", "a total", false, keptUnlessLacking},
	{"future", "the time to come", false, func(q Query, _, lacks bool) bool { return !lacks || q.At != 0 || q.Job != "" }}, // of a job that runs, its bid
	{"start", "when they started", true, func(q Query, _, lacks bool) bool { return !lacks || q.To == 0 && q.At == 0 }},    // jobs count where they arrived
	{"end", "when they ended", true, func(q Query, _, lacks bool) bool { return !lacks || q.To == 0 && q.At == 0 }},
	{"asked", "when they arrived", true, func(q Query, _, lacks bool) bool { return !lacks || q.At == 0 }},
	{"mass", "how much carbon", true, keptUnlessLacking},
	{"model", "the GPU model", true, keptUnlessLacking},
	{"price", "the price", true, keptUnlessLacking},
	{"many+jobs", "how many jobs", true, keptUnlessLacking},
	{"lasting", "which is the longest", true, func(q Query, _, lacks bool) bool { return !lacks || q.Metric == "wait" }},
	{"kwh", "kWh", true, func(q Query, _, _ bool) bool { return q.Metric != "cost" }},
	{"bygone", "that it is over", true, func(q Query, _, lacks bool) bool { return !lacks || q.At != 0 }},
}

// takesTime reports whether the question of a query may have a time.
func takesTime(q Query) bool {
	return strings.Contains(english.questions[q.Ask].parts, "time")
}

// hasCarrier reports whether a question has the concept of a carrier in a word that a
// rule cannot have read as something else.
func (r *reading) hasCarrier(c carrier, f rule) bool {
	if c.even {
		return !slices.ContainsFunc(strings.Split(c.concept, "+"), func(part string) bool { return !r.concepts.hasConcept(part) })
	}
	return slices.ContainsFunc(r.concepts, func(word []string) bool {
		return slices.Contains(word, c.concept) && !slices.Contains(word, "_") && !slices.ContainsFunc(word, func(other string) bool { return other != c.concept && other != "which" && f.hasConcept(other) })
	})
}

// unansweredParts names the parts of a question that its query does not hold.
func (r *reading) unansweredParts(f rule, q Query) (names []string) {
	if f.allowsAll() {
		return nil
	}
	entry := english.questions[q.Ask]
	for _, c := range carriers {
		if !c.kept(q, slices.Contains(entry.holds, c.concept), slices.Contains(entry.lacks, c.concept)) && r.hasCarrier(c, f) {
			names = append(names, c.name)
		}
	}
	for _, noun := range []string{"sites", "tenants"} {
		one := map[string]string{"sites": q.Site, "tenants": q.Tenant}[noun]
		isSure := slices.ContainsFunc(r.concepts, func(word []string) bool { return len(word) == 1 && word[0] == noun }) // a word that is nothing else
		if isSure && one == "" && q.By+"s" != noun && slices.Contains(entry.lacks, noun) {
			names = append(names, "the "+noun)
		}
	}
	if r.query.Within != 0 && q.Within == 0 || q.To != 0 && q.Within != 0 {
		names = append(names, "the length of time")
	}
	if q.Ask == "bill" && q.By+q.Pick == "" && slices.ContainsFunc(r.concepts, func(word []string) bool { return slices.Contains(word, "most") && slices.Contains(word, "cost") }) {
		names = append(names, "which is the most") // "the most expensive one" is no sum
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
	case q.Then != "" && r.concepts.countConcepts(quantityConcepts) > 1: // "carbon by tenant and energy by site"
		return false
	case q.Metric == "":
		return q.Pick == "" && (r.hasAnd || r.concepts.countConcepts(quantityConcepts) < 2)
	case q.Ask == "top":
		return r.concepts.countConcepts(quantityConcepts) < 2 && (q.Metric == "wait" || !r.concepts.hasConcept("wait"))
	}
	return true
}

// clarifyUnanswered refuses a question whose query would drop the lost parts, and offers the
// query without them. Without "not" the query would be the opposite, so it is not offered.
func clarifyUnanswered(lost []string, q Query) *Clarification {
	a := newClarification("ambiguous", "That is not answered together with %s.", format.JoinWithAnd(lost))
	if slices.Contains(lost, `"not"`) { // without it, the opposite
		return a
	}
	return a.offerQueries("Without it, it would be:", q)
}

// unanswerable refuses a query that was read and that [Query.Check] refuses, because its words do not
// go together ("carbon by site for train-1"), and offers it without operators; nil if it has an answer.
func unanswerable(q Query) *Clarification {
	err := q.Check()
	if err == nil {
		return nil
	}
	less := q
	for _, x := range queryFields {
		if x.operator {
			x.valueIn(&less).SetZero()
		}
	}
	return unclearText("This query has no answer: "+err.Error()+".").offerQueries("Perhaps one of these is meant:", q, less)
}

// reconsiderRefusal returns a query or a clarification in place of a refusal that a single
// word caused, if the other words make a question. A "must" in a question does not ask for a
// rule: "why must it wait".
func (l *Parser) reconsiderRefusal(r *reading, f rule) (Query, *Clarification) {
	concept := strings.TrimPrefix(f.ask, "!")
	rest := slices.DeleteFunc(slices.Clone(r.concepts), func(word []string) bool { return slices.Contains(word, concept) })
	found := bestRules(rest, r.takesOperators)
	isOne := len(found) == 1 && len(found[0].needs) > 1
	if !isOne && r.isQuestion && (concept == "legislate" && (r.query.Job != "" || r.query.Decision != 0) || concept == "act" && r.concepts.hasConcept("if")) {
		return Query{}, l.explainMissing(&reading{concepts: rest, query: r.query, operators: r.operators})
	}
	if concept == "unrecorded" || concept == "policy" || !f.allowsAll() || !isOne || found[0].allowsAll() {
		return Query{}, nil
	}
	q := r.buildQuery(found[0])
	if r.concepts.hasConcept("why") && concept == "legislate" && r.concepts.hasConcept("modal") && len(r.unansweredParts(found[0], q)) == 0 {
		return q, nil
	}
	return Query{}, newClarification("ambiguous", "One word of the question asks for what is not told or done here.").offerQueries("Without it, it would be:", q)
}

// Concepts of the quantities of a sum, and of what it is split by.
var (
	quantityConcepts = strings.Fields("carbon energy cost")
	splitConcepts    = strings.Fields("bysite bytenant byhour byjob")
)

// countConcepts returns how many of some concepts a question has.
func (s concepts) countConcepts(some []string) (n int) {
	for _, c := range some {
		if s.hasConcept(c) {
			n++
		}
	}
	return n
}
