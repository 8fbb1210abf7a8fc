package ask

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A question about many jobs that no rule reads is composed of what its words say: a measure, a
// statistic, conditions, an event, a split. Word order does not matter. A word that says nothing
// known, or two that contradict each other, give the question back.

// What a measure may hold: its fields in words are these, each in one field alone.
var (
	measureMetrics    = strings.Fields("carbon energy cost paid wait run slack gpus gpu-hours arrival start end")
	timeMetrics       = strings.Fields("arrival start end")
	measureStatistics = strings.Fields("mean median p95 total summary")
	measureEvents     = strings.Fields("arrived started ended ran")
	jobConditions     = strings.Fields("late on-time urgent standard at-home away capped unfinished cpu-only at-once waited")
	measureSplits     = strings.Fields("site tenant hour model urgency home gpus")
)

// sayings are what a word of a concept says of many jobs, as key and value. A noun says that
// something is split only if it is no name's.
var sayings = map[string]string{
	"jobs": "jobs", "many": "many", "who": "who", "tenants": "group tenant", "sites": "group site", "where": "group site", "place": "verb place",
	"when": "group hour", "hourword": "group hour", "asked": "event arrived", "start": "event started", "end": "event ended", "run": "verb run", "used": "verb used",
	"wait": "metric wait", "waitnoun": "metric wait", "queue": "metric wait", "carbon": "metric carbon", "emit": "metric carbon", "energy": "metric energy", "kwh": "metric energy",
	"cost": "metric cost", "paidto": "metric paid", "gpuhours": "metric gpu-hours", "runtime": "metric run", "gpus": "gpus", "model": "gpus", "long": "long", "lasting": "lasting",
	"most": "rank most", "least": "rank least", "average": "statistic mean", "median": "statistic median", "p95": "statistic p95", "total": "total", "compare": "compare", "differ": "compare", "pends": "metric wait", "waitingfor": "metric wait",
	"late": "where late", "home": "where at-home", "away": "where away", "urgent": "where urgent", "standard": "where standard", "capped": "where capped", "unfinished": "where unfinished",
	"missed": "missed", "deadline": "deadline", "nearly": "nearly", "summary": "summary", "SITE": "SITE", "TENANT": "TENANT", "NUM": "NUM", "WIN": "WIN", "AT": "AT", "now": "now",
	"owner": "group tenant", "elsewhere": "where away", "cpuonly": "where cpu-only", "atonce": "where at-once", "bygone": "bygone", "dirtiest": "metric carbon", "cheapest": "metric cost", "greenest": "metric carbon", "first": "edge least", "last": "edge most", "busiest": "busiest", "how": "how", "power": "metric energy", "ontime": "where on-time",
}

// weightyWords are words that the rules may ignore and that change which jobs are meant.
var weightyWords = strings.Fields("left my mine again win won wins winner winning beat")

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

// asOlder returns a measure that an older question asks, too, as that one: one question has one query.
func (q Query) asOlder() Query {
	x, bare := q, len(q.Where) == 0 && q.State+q.Model == ""
	x.Where, x.Event, x.Statistic, x.Metric = nil, "", "", ""
	switch {
	case q.Metric == "" && q.Statistic == "" && slices.Equal(q.Where, []string{"late"}) && (q.Event == "" || q.Event == "ended"):
		x.Ask = "late"
	case q.Metric == "" && q.Statistic == "" && len(q.Where) == 0 && (q.Event == "" || q.Event == "arrived" && q.To != 0 || q.Event == "ran" && q.To == 0):
		x.Ask = "jobs"
	case bare && q.Metric == "wait" && q.Statistic != "" && (q.Event == "" || q.Event == "started"):
		x.Ask, x.Pick = "waits", strings.TrimPrefix(q.Statistic, "mean")
	case bare && q.Pick == "most" && q.By == "" && (q.Event == "" || q.Event == "ended"):
		x.Ask, x.Metric, x.Pick = "top", q.Metric, ""
	default:
		return q
	}
	if again, same := x.AsMeasure(); x.Check() != nil || !same || q.Pick != again.Pick {
		return q
	}
	return x
}

// collect goes through the words.
func (c *composer) collect() bool {
	c.q.Ask = "measure"
	for i, t := range c.tokens {
		if i > 0 && timeUnit(t.low) > 0 && slices.Contains([]string{"first", "last"}, c.tokens[i-1].low) {
			return false // "in the first hour"
		}
		if slices.Contains(weightyWords, t.low) && !t.quoted && len(t.names) == 0 && !(t.low == "left" && c.concepts.hasConcept("away")) {
			return false
		}
	}
	for i, word := range c.concepts {
		known := slices.ContainsFunc(word, func(concept string) bool {
			return concept == "_" || concept == "which" || concept == "how" || concept == "list"
		})
		for _, concept := range word {
			key, value, _ := strings.Cut(sayings[concept], " ")
			if concept == "emit" && containsAnyWord(c.words(), originWords) { // "who do they belong to", "where do they come from"
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

// originWords say whose jobs are, where they may also say who emits.
var originWords = strings.Fields("belong belongs come comes came")

// placeAdverbs say how often jobs run at a place, and nothing of how long. sizeWords rank jobs by their GPUs.
var (
	placeAdverbs = strings.Fields("usually normally generally mostly typically")
	sizeWords    = strings.Fields("biggest largest smallest")
)

// queueWords are of jobs that wait at a time.
var queueWords = strings.Fields("queue backlog line")

// needWords say what jobs ask for, and not what they used.
var needWords = strings.Fields("need needs needed require requires required")

// words returns the words of the question that are no operators'.
func (c *composer) words() string { return strings.Join(lowWords(c.tokens), " ") }

// says reports whether a word says something of a key.
func (c *composer) says(key string) bool { return len(c.said[key]) > 0 }

// sole returns the one value of a key; false if there are several.
func (c *composer) sole(key string) (string, bool) {
	return strings.Join(c.said[key], ""), len(c.said[key]) < 2
}

// setMeasure sets what is measured of which jobs.
func (c *composer) setMeasure() bool {
	q := &c.q
	one, metrics := true, c.said["metric"]
	set := func(field *string, key string) {
		value, sole := c.sole(key)
		*field, one = cmp.Or(value, *field), one && sole
	}
	if len(metrics) > 0 { // "what goes on its account"
		c.said["verb"] = slices.DeleteFunc(c.said["verb"], func(v string) bool { return v == "place" })
	}
	if c.says("verb") && slices.Equal(c.said["group"], []string{"site"}) && containsAnyWord(c.words(), placeAdverbs) && len(metrics) == 0 {
		c.said["statistic"] = nil // "where do they usually run"
	}
	if c.says("verb") && slices.Contains(c.said["verb"], "run") && (c.says("long") || c.says("statistic") || c.says("lasting")) && len(metrics) == 0 {
		metrics = []string{"run"}
	} else if used := slices.Equal(c.said["verb"], []string{"used"}); c.says("verb") && !used && !c.says("event") && q.Event == "" {
		c.said["event"] = []string{"ran"}
	} else if used && len(metrics) == 0 && q.Model != "" && c.says("jobs") && !c.says("rank") && !c.says("statistic") && q.By == "" {
		metrics = nil // "which jobs used A100s"
	} else if used && q.By == "model" && len(metrics) == 0 && (c.says("rank") || q.Pick != "") {
		metrics = []string{"gpu-hours"} // "which model is used most"
	} else if used && containsAnyWord(c.words(), needWords) && !c.says("gpus") && q.Size == "" && q.Bounded != "gpus" && len(metrics) == 0 {
		return false // needed what
	} else if used && len(metrics) == 0 && !c.says("summary") && !c.says("many") && q.Bounded != "gpus" && q.Size == "" && (!c.says("gpus") || q.Model != "" || q.By == "model") {
		metrics = []string{"energy"}
	}
	if c.says("edge") { // "which job ended last"
		metric := map[string]string{"arrived": "arrival", "started": "start", "ended": "end", "": "arrival"}[strings.Join(c.said["event"], "")]
		if metric == "" || len(metrics) > 0 || c.says("rank") || c.says("verb") || !c.says("event") && slices.Contains(c.said["edge"], "most") || !c.says("jobs") && !c.says("event") {
			return false
		}
		metrics, c.said["rank"], c.said["event"] = []string{metric}, c.said["edge"], nil
		c.said["group"] = slices.DeleteFunc(c.said["group"], func(g string) bool { return g == "hour" }) // "when did the last job end"
	}
	metrics, ok := c.impliedMetrics(metrics)
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
	if all := c.said["where"]; slices.Contains(all, "urgent") && slices.Contains(all, "standard") && q.By == "" { // the two are compared
		q.By, c.said["where"] = "urgency", slices.DeleteFunc(all, func(w string) bool { return w == "urgent" || w == "standard" })
	}
	if slices.Contains(c.said["where"], "away") { // the phrase holds "home"
		c.said["where"] = slices.DeleteFunc(c.said["where"], func(w string) bool { return w == "at-home" })
	}
	if len(metrics) > 1 {
		return false
	}
	if len(metrics) > 0 || c.says("many") {
		resorted := c.before && len(c.tokens) > 0 && c.tokens[0].low == "by" // "by cost", of ranked jobs
		if q.Metric, q.Statistic = strings.Join(metrics, ""), ""; !resorted && (q.Number != 0 || c.says("many")) {
			q.Pick, q.Number = c.reading.query.Pick, 0
		}
	}
	set(&q.Statistic, "statistic")
	set(&q.Event, "event")
	q.Where = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(q.Where), c.said["where"]...))))
	if c.says("size") {
		one = one && len(c.numbers) > 0 && q.setJobBound("gpus", "exactly", fmt.Sprintf("%d GPUs", slices.Max(append(c.numbers, 0))))
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
	if others := c.says("metric") || c.says("event") || c.says("rank") || c.says("where") || c.says("long"); !others && (c.says("summary") || c.says("how") && len(c.said) == 2) {
		q.Statistic = "summary" // "how is team-h"
		return one && (q.Site != "" || q.Tenant != "")
	} else if c.says("summary") || q.Metric == "wait" && q.Statistic == "" && !c.says("long") && !c.says("rank") && !c.says("group") && !c.says("who") && q.By == "" && q.Against == "" {
		return false // "which jobs waited"
	}
	return one
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
	if c.says("rank") && len(metrics) == 0 && c.says("jobs") && !c.says("size") && !c.says("lasting") && (c.says("gpus") || containsAnyWord(c.words(), sizeWords) && !c.says("group")) {
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
	if c.says("who") && !(c.says("jobs") && rank != "" && q.Metric != "") && !slices.Contains(c.said["group"], "tenant") { // of a job, its row says whose it is
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
	case len(groups) == 1 && groups[0] == "hour" && containsAnyWord(c.words(), queueWords):
		return false // "when was the queue longest": how many wait, and not how long
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
		if q.Statistic = ""; q.Metric == "" || c.says("statistic") || q.Metric == "gpus" && !c.says("jobs") {
			return false // the most of what
		}
		q.Number = 5
		if n := len(c.numbers); n == 1 && c.says("NUM") {
			q.Number = c.numbers[0]
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
	case q.State == "" && !slices.Contains(q.Where, "unfinished") || q.Event != "":
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

// measureWords words what a query about jobs measures: the values of its fields, of which each has one.
func (q Query) measureWords() string {
	words := slices.Concat([]string{q.Pick, q.Statistic, q.Metric, q.Event}, q.Where)
	for _, by := range []string{q.By, q.Then} {
		words = append(words, wordsIf(by != "", "by-", by))
	}
	words = append(words, wordsIf(q.Number != 0, fmt.Sprint(q.Number)), wordsIf(q.Per != "", "per-", q.Per))
	return `"` + strings.Join(strings.Fields(strings.Join(words, " ")), " ") + `"`
}

// readMeasure sets the fields that the words of a measure name; false if one names none.
func (q *Query) readMeasure(words string) bool {
	for _, w := range strings.Fields(words) {
		by, split := strings.CutPrefix(w, "by-")
		n, number := parseNumber(w)
		switch {
		case split && q.By == "":
			q.By = by
		case split:
			q.Then = by
		case strings.HasPrefix(w, "per-"):
			q.Per = w[4:]
		case slices.Contains(measureMetrics, w):
			q.Metric = w
		case slices.Contains(measureStatistics, w):
			q.Statistic = w
		case slices.Contains(measureEvents, w):
			q.Event = w
		case slices.Contains(jobConditions, w):
			q.Where = append(q.Where, w)
		case slices.Contains([]string{"most", "least", "share"}, w):
			q.Pick = w
		case number:
			q.Number = n
		default:
			return false
		}
	}
	return true
}

// withMeasureDefaults fills in what a question about jobs leaves out: of what its time is, and how values
// are taken together.
func (q Query) withMeasureDefaults() Query {
	slices.Sort(q.Where)
	if q.Statistic == "" && q.Metric != "" && (q.By != "" || q.Pick == "" || q.Pick == "share") {
		q.Statistic = "mean"
		if slices.Contains([]string{"carbon", "energy", "cost", "paid", "gpu-hours", "gpus"}, q.Metric) {
			q.Statistic = "total"
		}
	}
	if q.To != 0 && q.Event == "" && q.State == "" {
		q.Event = "ended"
		if q.Metric == "" && !slices.Contains(q.Where, "late") || q.Metric == "arrival" {
			q.Event = "arrived"
		} else if q.Metric == "wait" || q.Metric == "start" {
			q.Event = "started"
		}
	}
	return q
}

// checkMeasure returns which fields of a query about jobs do not go together.
func (q Query) checkMeasure() error {
	ranks := q.Pick == "most" || q.Pick == "least"
	additive := slices.Contains([]string{"", "carbon", "energy", "cost", "paid", "gpu-hours", "gpus"}, q.Metric)
	switch {
	case !slices.IsSorted(q.Where) || slices.ContainsFunc(q.Where, func(w string) bool { return !slices.Contains(jobConditions, w) }):
		return fmt.Errorf("ask measure: where: want some of %s, in order", strings.Join(jobConditions, ", "))
	case len(slices.Compact(slices.Clone(q.Where))) < len(q.Where):
		return fmt.Errorf("ask measure: where: name each once")
	case slices.Contains(timeMetrics, q.Metric) && (!ranks || q.By != ""):
		return fmt.Errorf("ask measure: metric %s: of jobs that are ranked", q.Metric)
	case q.Statistic == "summary" && (q.Metric+q.Pick+q.By != "" || q.At != 0):
		return fmt.Errorf("ask measure: statistic summary: without metric, split, pick and instant")
	case q.Statistic != "" && q.Statistic != "summary" && q.Metric == "" || q.Metric != "" && q.Statistic == "" && !(ranks && q.By == ""):
		return fmt.Errorf("ask measure: statistic: of a metric, unless jobs are ranked by it")
	case ranks && q.By == "" && (q.Metric == "" || q.Statistic != "" || q.Number == 0):
		return fmt.Errorf("ask measure: pick: rank groups of a split, or a number of jobs by a metric")
	case q.Number != 0 && !ranks:
		return fmt.Errorf("ask measure: number: of jobs that are ranked")
	case q.Pick == "share" && (!additive || q.Statistic == "mean"):
		return fmt.Errorf("ask measure: pick share: of a count or a sum")
	case q.Per != "":
		return fmt.Errorf("ask measure: per: ask the bill")
	case q.Bound != "" && q.Bounded == "":
		return fmt.Errorf("ask measure: bounded: say which quantity of each job")
	case q.At != 0 && q.State == "" && !slices.Equal(q.Where, []string{"unfinished"}):
		return fmt.Errorf("ask measure: at: at an instant jobs are in a state, or unfinished")
	case q.Event != "" && q.At != 0:
		return fmt.Errorf("ask measure: event: it is in a window")
	}
	return nil
}

// AsMeasure returns a query about many jobs as the measure that it is; false if it is about something else.
func (q Query) AsMeasure() (Query, bool) {
	m := q
	m.Ask = "measure"
	switch q.Ask {
	case "measure":
		return q, true
	case "jobs":
	case "late":
		m.Where, m.Event = []string{"late"}, "ended"
	case "waits":
		m.Metric, m.Statistic, m.Pick = "wait", q.Pick, ""
	case "top":
		m.Pick, m.Event = "most", "ended"
	case "pending":
		if q.At != 0 {
			return q, false
		}
		m.State = "pending"
	default:
		return q, false
	}
	return m.WithDefaults(), true
}
