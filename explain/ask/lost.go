package ask

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/explain/format"
)

// A carrier is a concept that makes a question another one. Where a question has
// it, its query has to say it too: what a rule merely puts up with must not be
// answered as if it had not been said.
type carrier struct {
	concept string
	name    string
	kept    func(q Query) bool
}

// eachSite are asks that are answered by site where no site is named.
var eachSite = []string{"offers", "offer-count", "unable", "intensity", "price", "greenest", "cheapest", "free", "block", "power", "report", "bid-error", "forecast-error", "silent"}

// ends are asks of what is at one end of an order.
var ends = []string{"top", "greenest", "cheapest", "dirtiest", "policies", "differ", "block", "best-hour", "best-price", "best-start", "why-not-greenest", "why-not-cheapest", "bid-error", "no-fragments"}

// denials are asks that have a "not" in them.
var denials = []string{"why-not", "why-not-home", "why-not-greenest", "why-not-cheapest", "held", "unable", "unbound", "day-without", "late", "silent", "stuck", "fit", "times", "overflow", "offers", "pending", "without"}

// sums are asks whose answer names nobody.
var sums = []string{"bill", "mix", "waits", "waited", "held", "times", "where", "saved"}

// lists are asks that go over jobs, and by one thing at most.
var lists = []string{"bill", "late", "waits", "top", "jobs"}

// either reports whether each word that has a concept may be something else.
func (r *reading) either(concept string) bool {
	return !slices.ContainsFunc(r.said, func(word []string) bool { return len(word) == 1 && word[0] == concept })
}

// present are asks of what is, or was.
var present = []string{"bill", "mix", "waits", "intensity", "price", "greenest", "cheapest", "dirtiest", "free", "block", "power", "late", "jobs", "pending", "shares", "activity"}

func among(all []string) func(Query) bool {
	return func(q Query) bool { return slices.Contains(all, q.Ask) }
}

func timed(q Query) bool {
	return strings.Contains(forms[q.Ask].parts, "time")
}

var carriers = []carrier{
	{"bysite", "the split by site", func(q Query) bool { return q.By == "site" || q.Site == "" && among(eachSite)(q) }},
	{"bytenant", "the split by tenant", func(q Query) bool { return q.By == "tenant" || q.Ask == "shares" }},
	{"byhour", "the split by hour", func(q Query) bool { return q.By == "hour" }},
	{"byjob", "the split by job", among([]string{"top"})},
	{"most", "which is the most", func(q Query) bool { return q.Pick == "most" || among(ends)(q) }},
	{"least", "which is the least", func(q Query) bool { return q.Pick == "least" || among(ends)(q) && q.Ask != "top" }},
	{"median", "the median", func(q Query) bool { return q.Pick == "median" }},
	{"p95", "the 95th percentile", func(q Query) bool { return q.Pick == "p95" }},
	{"average", "the average", func(q Query) bool {
		return q.Ask == "mix" || q.Ask == "waits" && q.Pick == "" || q.Ask == "forecast-error"
	}},
	{"NUM", "the number", func(q Query) bool {
		return q.Number != 0 || q.Ask == "reprice" || q.Ask == "day-carbon" // carbon may be free
	}},
	{"DUR", "the length of time", func(q Query) bool { return q.Long != 0 || q.Within != 0 }},
	{"AT", "the time", timed},
	{"WIN", "the time", timed},
	{"SITE", "the site", func(q Query) bool { return q.Site != "" || q.Ask == "reprice" }},
	{"TENANT", "the tenant", func(q Query) bool { return q.Tenant != "" }},
	{"JOB", "the job", func(q Query) bool { return q.Job != "" }},
	{"not", "\"not\"", among(denials)},
	{"who", "who", func(q Query) bool { return q.By != "" || !slices.Contains(sums, q.Ask) }},
	{"total", "a total", func(q Query) bool {
		return !slices.Contains([]string{"intensity", "price", "greenest", "cheapest", "dirtiest", "top"}, q.Ask)
	}},
	{"future", "the time to come", func(q Query) bool { return !slices.Contains(present, q.Ask) || q.At != 0 }},
}

// lost names what a question says and its query does not.
func (r *reading) lost(f rule, q Query) (names []string) {
	if f.may == "*" {
		return nil
	}
	for _, c := range carriers {
		if !c.kept(q) && slices.ContainsFunc(r.said, func(word []string) bool {
			return slices.Contains(word, c.concept) && !slices.Contains(word, "_") && !slices.ContainsFunc(word, func(other string) bool { return other != c.concept && other != "which" && f.has(other) })
		}) {
			names = append(names, c.name)
		}
	}
	for _, noun := range []string{"sites", "tenants"} {
		one := map[string]string{"sites": q.Site, "tenants": q.Tenant}[noun]
		if r.said.has(noun) && one == "" && q.By+"s" != noun && slices.Contains(lists, q.Ask) && !r.either(noun) {
			names = append(names, "the "+noun)
		}
	}
	if r.slots.Within != 0 && q.Within == 0 || q.To != 0 && q.Within != 0 {
		names = append(names, "the length of time")
	}
	if q.Ask == "jobs" && q.To != 0 && (r.said.has("end") || r.said.has("start")) { // jobs count where they arrived
		names = append(names, "when they started or ended")
	}
	if q.Ask == "top" && (r.said.has("wait") && q.Metric != "wait" || r.quantities() > 1) || q.Ask == "bill" && q.Pick != "" && q.Metric == "" {
		names = append(names, "one of the quantities")
	}
	if (q.Ask == "block" || q.Ask == "fit") && r.said.has("model") {
		names = append(names, "the GPU model")
	}
	if q.Ask == "forecast-error" && r.said.has("price") {
		names = append(names, "the price")
	}
	if q.Metric == "cost" && r.said.has("kwh") {
		names = append(names, "kWh")
	}
	if q.Ask == "pending" && q.At == 0 && r.said.has("bygone") {
		names = append(names, "that it is over")
	}
	if q.Ask == "bill" && q.Metric == "" && !r.joined && r.quantities() > 1 {
		names = append(names, "one quantity for another")
	}
	if len(r.numbers) > 1 && !slices.Contains(names, "the number") && q.Ask != "help" {
		names = append(names, "one of the numbers")
	}
	return names
}

// has reports whether a rule knows a concept.
func (f rule) has(concept string) bool {
	return slices.Contains(strings.FieldsFunc(f.needs+" "+f.may, func(c rune) bool { return c == ' ' || c == '|' }), concept)
}

// left refuses a question of which a query says all but something.
func left(lost []string, q Query) *Back {
	if slices.Contains(lost, `"not"`) { // without it, the opposite
		return &Back{Kind: "ambiguous", Text: []string{fmt.Sprintf("That is not answered together with %s.", format.List(lost))}}
	}
	a := &Back{Kind: "ambiguous"}
	a.say("That is not answered together with %s.", format.List(lost))
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
