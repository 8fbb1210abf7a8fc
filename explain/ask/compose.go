package ask

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
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

// metricsOfVerbs returns the metrics of what jobs did, such as "used"; false if that is not known.
func (c *composer) metricsOfVerbs(metrics []string) ([]string, bool) {
	q := &c.q
	if c.says("verb") && slices.Contains(c.said["verb"], "run") && (c.says("long") || c.says("statistic") || c.says("lasting")) && len(metrics) == 0 {
		metrics = []string{"run"}
	} else if used := slices.Equal(c.said["verb"], []string{"used"}); c.says("verb") && !used && !c.says("event") && q.Event == "" {
		c.said["event"] = []string{"ran"}
	} else if used && len(metrics) == 0 && q.Model != "" && c.says("jobs") && !c.says("rank") && !c.says("statistic") && q.By == "" {
		metrics = nil // "which jobs used A100s"
	} else if used && c.says("gpus") && c.says("rank") && q.Model == "" && !c.says("jobs") && len(metrics) == 0 {
		metrics = []string{"gpu-hours"} // "who used the most GPUs"
	} else if used && q.By == "model" && len(metrics) == 0 && (c.says("rank") || q.Pick != "") {
		metrics = []string{"gpu-hours"} // "which model is used most"
	} else if used && containsAnyWord(c.words(), listed("need-words")) && !c.says("gpus") && q.Size == "" && q.Bounded != "gpus" && len(metrics) == 0 {
		return nil, false // needed what
	} else if used && len(metrics) == 0 && q.Model != "" && q.Tenant+q.By == "" && !c.says("jobs") && c.says("how") {
		return nil, false // how much of a model is used: its utilization
	} else if used && len(metrics) == 0 && !c.says("summary") && !c.says("many") && q.Bounded != "gpus" && q.Size == "" && (!c.says("gpus") || q.Model != "" || q.By == "model") {
		metrics = []string{"energy"}
	}
	return metrics, true
}

// metricsOfEdges returns the metrics of what was first, last or latest; false if that is not known.
func (c *composer) metricsOfEdges(metrics []string) ([]string, bool) {
	q := &c.q
	if c.says("edge") && c.endsWithLatest() && !c.says("event") {
		c.said["lateby"] = []string{""}
	}
	if c.says("lateby") && c.says("jobs") && len(metrics) == 0 { // "which job was latest, and by how much"
		metrics, c.said["where"], c.said["edge"], c.said["rank"] = []string{"lateness"}, nil, nil, []string{"most"}
	}
	if event := cmp.Or(strings.Join(c.said["event"], ""), q.Event); slices.Contains(decisionEvents, event) {
		if c.said["verb"] = nil; c.says("edge") { // "the last five awards"
			c.said["rank"], c.said["edge"] = c.said["edge"], nil
		}
	}
	if c.says("edge") { // "which job ended last"
		metric := map[string]string{"arrived": "arrival", "started": "start", "ended": "end", "": "arrival"}[strings.Join(c.said["event"], "")]
		if metric == "arrival" && q.State == "done" && !c.says("event") { // "the last job that finished"
			metric, q.State = "end", ""
		}
		if metric == "" || len(metrics) > 0 || c.says("rank") || c.says("verb") || !c.says("jobs") && !c.says("event") {
			return nil, false
		}
		metrics, c.said["rank"], c.said["event"] = []string{metric}, c.said["edge"], nil
		c.said["group"] = slices.DeleteFunc(c.said["group"], func(g string) bool { return g == "hour" }) // "when did the last job end"
	}
	return metrics, true
}

// endsWithLatest reports whether "latest" says how a job was, and not which one is meant: "which job was latest".
func (c *composer) endsWithLatest() bool {
	i := slices.IndexFunc(c.tokens, func(t token) bool { return t.low == "latest" })
	return i >= 0 && (i == len(c.tokens)-1 || slices.Contains([]string{"and", "by"}, c.tokens[i+1].low))
}

// sizedJob is a job that is ranked by its GPUs.
var sizedJob = regexp.MustCompile(`\b(biggest|largest|smallest) (gpu )?(job|task|workload)`)

// statesWithoutRun are those of jobs that do not run in them.
var statesWithoutRun = strings.Fields("pending planned refused")

// words returns the words of the question that are no operators'.
func (c *composer) words() string { return strings.Join(lowWords(c.tokens), " ") }

// says reports whether a word says something of a key.
func (c *composer) says(key string) bool { return len(c.said[key]) > 0 }

// sole returns the one value of a key; false if there are several.
func (c *composer) sole(key string) (string, bool) {
	return strings.Join(c.said[key], ""), len(c.said[key]) < 2
}

// splitOpposites makes a condition and its opposite, where both are asked for, a split.
func (c *composer) splitOpposites() {
	q := &c.q
	if all := c.said["where"]; slices.Contains(all, "urgent") && slices.Contains(all, "standard") && q.By == "" { // the two are compared
		q.By, c.said["where"] = "urgency", slices.DeleteFunc(all, func(w string) bool { return w == "urgent" || w == "standard" })
	}
	for _, split := range slices.Sorted(maps.Keys(OppositeOf)) { // both are asked for: "late jobs against those in time"
		if all := c.said["where"]; slices.Contains(all, split) && slices.Contains(all, OppositeOf[split]) && q.By == "" && c.says("compare") {
			q.By, c.said["where"] = split, slices.DeleteFunc(all, func(w string) bool { return w == split || w == OppositeOf[split] })
		}
	}
	if slices.Contains(c.said["where"], "away") { // the phrase holds "home"
		c.said["where"] = slices.DeleteFunc(c.said["where"], func(w string) bool { return w == "at-home" })
	}
}

// setMeasure sets what is measured of which jobs.
func (c *composer) setMeasure() bool {
	q := &c.q
	one, metrics := true, c.said["metric"]
	if slices.Contains(metrics, "gpu-hours") && !containsAnyWord(c.words(), listed("energy-words")) { // "who consumed the most GPU hours"
		metrics = []string{"gpu-hours"}
	}
	set := func(field *string, key string) {
		value, sole := c.sole(key)
		*field, one = cmp.Or(value, *field), one && sole
	}
	if len(metrics) > 0 { // "what goes on its account"
		c.said["verb"] = slices.DeleteFunc(c.said["verb"], func(v string) bool { return v == "place" })
	}
	if c.says("verb") && slices.Equal(c.said["group"], []string{"site"}) && containsAnyWord(c.words(), listed("place-adverbs")) && len(metrics) == 0 {
		c.said["statistic"] = nil // "where do they usually run"
	}
	if c.says("why") { // "why were jobs held", "the most common reason for holding jobs"
		if holds := slices.Equal(c.said["event"], []string{"holds"}); len(metrics) > 0 || !holds && (!slices.Equal(c.said["where"], []string{"held"}) || !c.says("jobs") || c.says("event")) {
			return false
		}
		c.said["event"], c.said["where"], c.said["rank"], c.said["why"] = []string{"holds"}, nil, nil, nil
	}
	if c.says("gpus") && c.says("TENANT") && (c.says("now") || c.says("AT")) && !c.says("jobs") && len(metrics) == 0 && q.State == "" {
		metrics, q.State, c.said["where"], c.said["verb"], c.said["many"] = []string{"gpus"}, "running", nil, nil, nil // "how many GPUs does team-b hold now"
	}
	metrics, ok := c.metricsOfVerbs(metrics)
	if ok {
		metrics, ok = c.metricsOfEdges(metrics)
	}
	if ok {
		metrics, ok = c.impliedMetrics(metrics)
	}
	if !ok {
		return false
	}
	if slices.Contains(metrics, "energy") && slices.Contains(metrics, "cost") || slices.Contains(metrics, "carbon") && slices.Contains(metrics, "energy") {
		return false
	}
	switch {
	case c.says("nearly") && (c.says("missed") && c.says("deadline") || slices.Equal(c.said["where"], []string{"late"})):
		metrics, c.said["rank"], c.said["where"] = []string{"slack"}, []string{"least"}, nil
	case c.says("nearly"):
		return false
	case c.says("missed") && c.says("deadline"):
		c.said["where"] = []string{"late"}
	case c.says("missed") && !slices.Contains(c.said["where"], "late"), c.says("deadline"):
		return false
	}
	if c.says("bygone") && slices.Equal(metrics, []string{"wait"}) && (c.says("many") || q.Pick == "share") && !c.says("statistic") && !c.says("long") && !c.says("rank") && q.Bounded == "" { // "how many jobs waited"
		metrics, c.said["where"] = nil, append(c.said["where"], "waited")
	}
	c.splitOpposites()
	if len(metrics) > 1 {
		return false
	}
	if len(metrics) > 0 || c.says("many") {
		resorted := c.before && len(c.tokens) > 0 && c.tokens[0].low == "by" // "by cost", of ranked jobs
		if q.Metric, q.Statistic = strings.Join(metrics, ""), ""; !resorted && (q.Number != 0 || c.says("many")) {
			q.Pick, q.Number = c.reading.query.Pick, 0
		}
	}
	if q.By == "hour" && len(metrics) == 0 && slices.Equal(c.said["statistic"], []string{"mean"}) {
		c.said["statistic"] = nil // "how many per hour on average": the answer has it
	}
	set(&q.Statistic, "statistic")
	if set(&q.Event, "event"); q.Event == "ran" && slices.Contains(statesWithoutRun, q.State) {
		q.Event = "" // "who got refused the most"
	}
	q.Where = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(q.Where), c.said["where"]...))))
	if c.says("size") {
		one = one && len(c.numbers) > 0 && q.setJobBound("gpus", "exactly", fmt.Sprintf("%d GPUs", slices.Max(append(c.numbers, 0))))
	}
	if q.Metric == "wait" && q.Statistic == "" && len(q.Where) > 0 && len(c.tokens) > 0 && c.tokens[0].low == "did" {
		q.Statistic = "mean" // "did urgent jobs wait"
	}
	if c.says("total") && q.Statistic == "" && (q.Metric == "wait" || q.Metric == "run") {
		q.Statistic = "total"
	}
	if q.Bounded != "" && q.Bounded == q.Metric && q.Statistic == "" && !c.says("rank") {
		q.Metric = "" // "waiting more than 2 h"
	}
	if q.Bound != "" && q.Bounded == "" {
		return false
	}
	if q.Model != "" && c.says("gpus") && c.says("many") && !c.says("jobs") && !c.says("verb") && !c.says("metric") {
		return false // "how many H100s are there"
	}
	if c.says("gpus") && q.Metric == "" && !c.says("size") && q.Model == "" && q.Bounded != "gpus" {
		return false // how many GPUs: had, wanted or free
	}
	if others := c.says("metric") || c.says("event") || c.says("rank") || c.says("where") || c.says("long"); !others && (c.says("summary") || (c.says("how") && !containsAnyWord(c.words(), []string{"much"}) || q.Against != "") && c.isBare()) {
		q.Statistic = "summary" // "how is team-h"
		return one && (q.Site != "" || q.Tenant != "")
	} else if c.says("summary") || q.Metric == "wait" && q.Statistic == "" && !c.says("long") && !c.says("rank") && !c.says("group") && !c.says("who") && q.By == "" && q.Against == "" && !c.says("how") {
		return false // "which jobs waited"
	}
	return one
}

// isBare reports whether the words name nothing but a site or a tenant and a time: "how was the evening at oslo".
func (c *composer) isBare() bool {
	for _, key := range slices.Sorted(maps.Keys(c.said)) {
		if len(c.said[key]) > 0 && !slices.Contains([]string{"how", "compare", "SITE", "TENANT", "WIN"}, key) {
			return false
		}
	}
	return c.says("SITE") != c.says("TENANT")
}

// impliedMetrics returns the metrics of words that name none, such as "the longest job"; false if what
// they rank is not known.
func (c *composer) impliedMetrics(metrics []string) ([]string, bool) {
	q := &c.q
	if c.says("bygone") && (c.says("lasting") || c.says("long") || c.says("rank") || c.says("statistic")) && len(metrics) == 0 { // "had to wait"
		metrics = []string{"wait"}
	}
	if c.says("gpus") && c.says("statistic") && len(metrics) == 0 && !c.says("size") && q.Model == "" {
		metrics = []string{"gpus"} // "average number of GPUs per job"
	}
	if q.Per == "job" && len(metrics) > 0 && (!c.says("statistic") || slices.Equal(c.said["statistic"], []string{"mean"})) {
		q.Per, c.said["statistic"] = "", []string{"mean"}
	}
	if ranked := c.says("rank") && len(metrics) == 0; ranked && c.says("jobs") && !c.says("group") && !c.says("who") && q.By == "" && slices.Equal(c.said["where"], []string{"late"}) {
		metrics, c.said["where"] = []string{"lateness"}, nil // "the three worst late jobs"
	} else if ranked && c.says("who") && !c.says("jobs") && containsAnyWord(c.words(), listed("user-words")) {
		metrics = []string{"gpu-hours"} // "who is the biggest user"
	}
	if c.says("rank") && len(metrics) == 0 && c.says("jobs") && !c.says("size") && !c.says("lasting") && (c.says("gpus") || sizedJob.MatchString(c.words())) {
		metrics = []string{"gpus"} // "the biggest job", "which needed the most GPUs"
	}
	if c.says("lasting") && c.says("jobs") && len(metrics) == 0 { // "the longest job"
		metrics = []string{"run"}
	}
	return metrics, true
}

// setGroup sets the split, and what is ranked.
func (c *composer) setGroup() bool {
	q := &c.q
	rank, one := c.sole("rank")
	ofJobs := rank != "" && q.Metric != "" && (c.says("jobs") || containsAnyWord(c.words(), listed("person-words"))) // its row says whose it is, and where
	if sized := sizedJob.MatchString(c.words()); ofJobs && (sized || !c.concepts.hasConcept("sites")) {
		c.said["group"] = slices.DeleteFunc(c.said["group"], func(g string) bool { return g == "site" || g == "tenant" && sized })
	}
	if c.says("who") && !ofJobs && !slices.Contains(c.said["group"], "tenant") {
		c.said["group"] = append(c.said["group"], "tenant")
	}
	groups := slices.DeleteFunc(slices.Clone(c.said["group"]), func(g string) bool {
		return g == q.By || g == q.Then || g == "site" && q.Site != "" || g == "tenant" && q.Tenant != ""
	})
	if c.says("busiest") {
		rank = "most"
	}
	if rank != "" {
		one = one && c.reading.query.Pick == ""
		q.Pick = rank
	}
	switch {
	case !one || len(groups) > 1:
		return false
	case len(groups) == 1 && groups[0] == "hour" && containsAnyWord(c.words(), listed("queue-words")):
		if rank == "" || q.Metric != "wait" || c.says("statistic") || q.By+q.State != "" {
			return false
		}
		q.State, q.By, q.Metric, q.Statistic = "pending", "hour", "", "" // "when was the queue longest": how many wait, and not how long
		delete(c.said, "long")
		delete(c.said, "lasting")
	case len(groups) == 1 && (q.By == "" || c.before):
		if groups[0] == "hour" && rank == "" || groups[0] != "hour" && rank == "" && (q.Metric == "" && !c.says("jobs") || q.Pick == "share") {
			return false
		}
		q.By = groups[0]
	case len(groups) == 1:
		return false
	}
	if c.says("compare") && q.By+q.Against == "" || c.says("best") && (q.By != "" || c.says("who") || !c.says("jobs") || len(c.said["group"]) > 0) {
		return false // with what; "jobs at the greenest site"
	}
	if (c.says("lasting") || c.says("long")) && q.Metric != "wait" && q.Metric != "run" {
		return false // "cost of the longest job"
	}
	if q.By == "" && (q.Pick == "most" || q.Pick == "least") {
		if q.Statistic = ""; q.Metric == "" && !q.IsOfDecisions() || c.says("statistic") || q.Metric == "gpus" && !c.says("jobs") {
			return false // the most of what
		}
		q.Number = 5
		if n := len(c.numbers); n == 1 && c.says("NUM") {
			q.Number = c.numbers[0]
		} else if containsAnyWord(c.words(), listed("single-decision")) {
			q.Number = 1 // "the last award"
		}
		return true
	}
	if ranked := q.By != "" && (q.Pick == "most" || q.Pick == "least"); ranked && c.says("NUM") && len(c.numbers) == 1 {
		q.Number = c.numbers[0] // "the top three teams"
		return q.Then == ""
	}
	return !c.says("NUM") && (q.By != "hour" || q.Then == "")
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
	case q.Event == "ran" && q.State == "":
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
	return c.says("jobs") || c.says("event") || q.Statistic == "summary" || q.Bounded != "" || q.State != "" || len(q.Where) > 0 || slices.Contains([]string{"wait", "run", "slack", "gpu-hours"}, q.Metric) ||
		q.Model != "" && (c.says("many") || c.says("verb") || q.Metric != "") || q.By != "" && (q.By != "site" && q.By != "hour" || q.Number != 0) && q.Metric != ""
}
