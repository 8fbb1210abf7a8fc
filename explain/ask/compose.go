package ask

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A question about many jobs that no rule reads is composed of what its words say: a measure, a
// statistic, conditions, an event, a split. Word order does not matter. A word that says nothing
// known, or two that contradict each other, give the question back.

// A composer collects what the words of a question say.
type composer struct {
	*reading
	q    Query
	said map[string][]string // values by key

	before bool // it goes on from another query
}

// composeQuery composes a query about many jobs; false if a word is not accounted for. What the words
// leave out of a follow-up is that of the query before.
func (l *Parser) composeQuery(r *reading, before Query) (Query, bool) {
	c := composer{reading: r, q: before, said: make(map[string][]string), before: before.Ask != ""}
	for _, f := range queryFields {
		if f.isSet(&r.query) {
			f.valueIn(&c.q).Set(f.valueIn(&r.query))
		}
	}
	if before.Ask != "" {
		c.said["jobs"] = []string{""}
	}
	if d := r.query.Long; d != 0 && before.Bound != "" && kindOfQuantity[before.Bounded] == "time" { // "same for 4 hours"
		c.q.Long, c.q.Amount = 0, formatAmount(d.Milliseconds(), "time")
		r.concepts = slices.DeleteFunc(r.concepts, func(word []string) bool { return slices.Contains(word, "DUR") })
	}
	if !c.collect() || !c.setMeasure() || !c.setGroup() || !c.setTime(l) || !c.isAboutJobs() {
		return Query{}, false
	}
	q := c.q.WithDefaults()
	return q.asOlder(), q.Check() == nil
}

// collect goes through the words.
func (c *composer) collect() bool {
	c.q.Ask = "measure"
	for _, key := range []string{"sized", "latest", "did"} { // by the place of words
		if form(key).MatchString(c.words()) {
			c.said[key] = []string{""}
		}
	}
	for i, t := range c.tokens {
		if i > 0 && timeUnit(t.low) > 0 && slices.Contains([]string{"first", "last"}, c.tokens[i-1].low) {
			return false // "in the first hour"
		}
		if slices.Contains(listed("weighty-words"), t.low) && !(t.low == "my" && c.q.Tenant != "") && !t.quoted && len(t.names) == 0 && !(t.low == "left" && c.concepts.hasConcept("away")) && !(t.low == "won" && c.concepts.hasConcept("sites") && c.concepts.hasConcept("most")) {
			return false
		}
	}
	for i, word := range c.concepts {
		known := slices.ContainsFunc(word, func(concept string) bool {
			return concept == "_" || concept == "mine" && c.q.Tenant != "" || concept == "which" || concept == "how" || concept == "list"
		})
		if slices.Contains(word, "now") && slices.Contains(word, "last") { // "the latest award"
			word = []string{"last"}
		}
		for _, concept := range word {
			key, value, _ := strings.Cut(english.sayings[concept], " ")
			if concept == "place" && slices.Contains(word, "end") { // "ended" is no "ended up at"
				continue
			}
			if concept == "emit" && containsAnyWord(c.words(), listed("origin-words")) { // "who do they belong to", "where do they come from"
				if known = slices.Contains(word, "owner"); !known {
					return false
				}
				continue
			}
			if key == "" {
				continue
			}
			if concept == "cheapest" || concept == "greenest" || concept == "dirtiest" {
				c.said["best"] = []string{""}
			}
			if concept == "cheapest" || concept == "greenest" {
				c.said["rank"] = append(c.said["rank"], "least")
			}
			if known = true; !slices.Contains(c.said[key], value) {
				c.said[key] = append(c.said[key], value)
			}
			if key == "NUM" && i+1 < len(c.concepts) && slices.Contains(c.concepts[i+1], "gpus") {
				c.said["NUM"], c.said["size"] = nil, []string{""}
			}
		}
		if !known || c.q.Site != "" && slices.Contains(word, "where") { // "where did oslo's jobs go": by their homes
			return false
		}
	}
	return (len(c.concepts) > 0 || c.before) && len(c.numbers) < 2 && len(c.q.Policies) == 0 && c.q.Job == "" && c.q.Decision == 0 && c.q.Other == "" && c.q.Long == 0 && c.q.Within == 0
}

// words returns the words of the question that are no operators'.
func (c *composer) words() string { return strings.Join(lowWords(c.tokens), " ") }

// says reports whether a word says something of a key.
func (c *composer) says(key string) bool { return len(c.said[key]) > 0 }

// sole returns the one value of a key; false if there are several.
func (c *composer) sole(key string) (string, bool) {
	return strings.Join(c.said[key], ""), len(c.said[key]) < 2
}

// A meaning says what several things that were said mean together: a key, "key=value" of one value alone, "key:value" of
// one among others, ".field" of the query, "words:list"; "!" denies one, "|" stands between some of which one is enough.
// It sets a key ("=", "@key" is the value of another), clears it ("key="), adds a value ("+"), takes one ("-"), or is "unread".
type meaning struct{ of, means []string }

// holds reports whether a condition of a meaning holds.
func (c *composer) holds(condition string) bool {
	if of := strings.Split(condition, "|"); len(of) > 1 {
		return slices.ContainsFunc(of, c.holds)
	} else if condition[0] == '!' {
		return !c.holds(condition[1:])
	}
	key, value, sole := strings.Cut(condition, "=")
	kind, name, some := strings.Cut(key, ":")
	switch {
	case kind == "words":
		return containsAnyWord(c.words(), listed(name))
	case key[0] == '.':
		text := c.field(key).String()
		return text != "" && (text == value || !sole)
	case sole:
		return slices.Equal(c.said[key], []string{value})
	case some:
		return slices.Contains(c.said[kind], name)
	}
	return c.says(key)
}

// field returns the field of words of the query that a key such as ".site" names.
func (c *composer) field(key string) reflect.Value {
	return queryFields[slices.IndexFunc(queryFields, func(f queryField) bool { return f.name == key[1:] })].valueIn(&c.q)
}

// applyMeanings applies the meanings of the lexicon, in order; false if one is not read.
func (c *composer) applyMeanings() bool {
	for _, m := range english.meanings {
		if slices.ContainsFunc(m.of, func(of string) bool { return !c.holds(of) }) {
			continue
		}
		for _, means := range m.means {
			at := strings.IndexAny(means, "=+-")
			if at < 0 {
				return false // "unread"
			}
			key, value := means[:at], means[at+1:]
			switch {
			case key[0] == '.':
				c.field(key).SetString(value)
			case means[at] == '+':
				c.said[key] = append(c.said[key], value)
			case means[at] == '-':
				c.said[key] = slices.DeleteFunc(c.said[key], func(v string) bool { return v == value })
			case value == "":
				delete(c.said, key)
			case value[0] == '@':
				c.said[key] = c.said[value[1:]]
			default:
				c.said[key] = []string{value}
			}
		}
	}
	return true
}

// setMeasure sets what is measured of which jobs.
func (c *composer) setMeasure() bool {
	q := &c.q
	if !c.applyMeanings() {
		return false
	}
	metric, one := c.sole("metric")
	set := func(field *string, key string) {
		value, sole := c.sole(key)
		*field, one = cmp.Or(value, *field), one && sole
	}
	if metric != "" || c.says("many") {
		resorted := c.before && len(c.tokens) > 0 && c.tokens[0].low == "by" // "by cost", of ranked jobs
		if q.Metric, q.Statistic = metric, ""; !resorted && (q.Number != 0 || c.says("many")) {
			q.Pick, q.Number = c.reading.query.Pick, 0
		}
	}
	set(&q.Statistic, "statistic")
	set(&q.Event, "event")
	q.Where = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(q.Where), c.said["where"]...))))
	if c.says("size") {
		one = one && len(c.numbers) > 0 && q.setJobBound("gpus", "exactly", fmt.Sprintf("%d GPUs", slices.Max(append(c.numbers, 0))))
	}
	if q.Bounded != "" && q.Bounded == q.Metric && q.Statistic == "" && !c.says("rank") {
		q.Metric = "" // "waiting more than 2 h"
	}
	if others := c.says("metric") || c.says("event") || c.says("rank") || c.says("where") || c.says("long"); !others && (c.says("summary") || (c.says("how") && !containsAnyWord(c.words(), []string{"much"}) || q.Against != "") && c.isBare()) {
		q.Statistic = "summary" // "how is team-h"
		return one && (q.Site != "" || q.Tenant != "")
	}
	return one
}

// isBare reports whether the words name nothing but a site or a tenant and a time: "how was the evening at oslo".
func (c *composer) isBare() bool {
	for _, key := range slices.Sorted(maps.Keys(c.said)) {
		if len(c.said[key]) > 0 && !slices.Contains([]string{"how", "did", "compare", "SITE", "TENANT", "WIN"}, key) {
			return false
		}
	}
	return c.says("SITE") != c.says("TENANT")
}

// setGroup sets the split, and what is ranked.
func (c *composer) setGroup() bool {
	q := &c.q
	rank, one := c.sole("rank")
	ofJobs := rank != "" && q.Metric != "" && (c.says("jobs") || containsAnyWord(c.words(), listed("person-words"))) // its row says whose it is, and where
	if ofJobs && (c.says("sized") || !c.concepts.hasConcept("sites")) {
		c.said["group"] = slices.DeleteFunc(c.said["group"], func(g string) bool { return g == "site" || g == "tenant" && c.says("sized") })
	} else if c.says("who") && !ofJobs && !slices.Contains(c.said["group"], "tenant") {
		c.said["group"] = append(c.said["group"], "tenant")
	}
	groups := slices.DeleteFunc(slices.Clone(c.said["group"]), func(g string) bool {
		return g == q.By || g == q.Then || g == "site" && q.Site != "" || g == "tenant" && q.Tenant != ""
	})
	if rank != "" {
		one = one && c.reading.query.Pick == ""
		q.Pick = rank
	}
	if len(groups) == 1 {
		byHour := groups[0] == "hour"
		if q.By != "" && !c.before || rank == "" && (byHour || q.Metric == "" && !c.says("jobs") || q.Pick == "share") {
			return false
		}
		q.By = groups[0]
	}
	if !one || len(groups) > 1 || c.says("compare") && q.By+q.Against == "" || c.says("best") && (q.By != "" || c.says("who") || !c.says("jobs") || len(c.said["group"]) > 0) ||
		(c.says("lasting") || c.says("long")) && q.Metric != "wait" && q.Metric != "run" {
		return false // with what; "jobs at the greenest site"; "cost of the longest job"
	}
	ranked := q.Pick == "most" || q.Pick == "least"
	if ranked && q.By == "" {
		q.Statistic, q.Number = "", cmp.Or(q.Number, 5)
		if q.Metric == "" && !q.IsOfDecisions() || c.says("statistic") || q.Metric == "gpus" && !c.says("jobs") {
			return false // the most of what
		}
	}
	switch {
	case ranked && len(c.numbers) == 1 && c.says("NUM"): // "the top three teams"
		q.Number = c.numbers[0]
		return q.Then == ""
	case ranked && q.By == "" && containsAnyWord(c.words(), listed("single-decision")):
		q.Number = 1 // "the last award"
	}
	return ranked && q.By == "" || !c.says("NUM") && (q.By != "hour" || q.Then == "")
}

// setTime sets the time that jobs did something in. At an instant they were in a state.
func (c *composer) setTime(l *Parser) bool {
	q := &c.q
	at, from, to, ok := c.times.timeWindow(l)
	if c.says("now") && at == 0 && to == 0 {
		at = l.Last
	}
	if at != 0 || to != 0 {
		q.At, q.From, q.To = at, from, to
	}
	switch {
	case q.At == 0:
	case q.State == "" && (q.Event == "ran" || q.Event+q.Metric == "" && c.says("jobs") && !slices.Contains(q.Where, "unfinished")):
		q.State, q.Event = "running", ""
	case q.Event != "" && q.State == "": // "how many came at 9": in that hour
		q.From, q.To, q.At = q.At, q.At.Add(time.Hour), 0
	case q.By == "hour" || q.State == "" && !slices.Contains(q.Where, "unfinished") || q.Event != "":
		return false
	}
	return ok
}

// isAboutJobs reports whether the words say that jobs are meant, and not what sites draw.
func (c *composer) isAboutJobs() bool {
	q := &c.q
	return c.says("jobs") || c.says("event") || q.Statistic == "summary" || q.Bounded != "" || q.State != "" || len(q.Where) > 0 || slices.Contains([]string{"wait", "run", "slack", "slowdown", "lateness", "gpu-hours", "times-held"}, q.Metric) ||
		q.Model != "" && (c.says("many") || c.says("verb") || q.Metric != "") || q.By != "" && (q.By != "site" && q.By != "hour" || q.Number != 0) && q.Metric != ""
}
