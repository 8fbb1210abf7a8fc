package ask

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// parseChange parses a question that names only what differs from the last one:
// another time, site, tenant, job, metric or split. The whole has to be a
// question that is read as itself.
func (t *Conversation) parseChange(l *Parser, question string) (Query, bool) {
	low := strings.ToLower(question)
	i := slices.IndexFunc(changeMarkers, func(m string) bool { return strings.HasPrefix(low, m+" ") })
	if t.last.Ask == "" || i < 0 {
		return Query{}, false
	}
	return t.applyChange(l, question[len(changeMarkers[i])+1:])
}

// soleSuperlative asks for one of the groups of the answer before: "which is the highest".
var soleSuperlative = regexp.MustCompile(`(?i)^(which|who|what)( one| site| team)? (is|was|has|had) (the )?\w+[?. ]*$`)

// soleSplit asks for the groups of the answer before: "at which sites".
var soleSplit = regexp.MustCompile(`(?i)^(and )?(at|on|in|for|from|by|of) (which|what) (sites?|teams?|tenants?)[?. ]*$`)

// countOfThem counts some of the jobs of the answer before: "how many are from team-c".
var countOfThem = regexp.MustCompile(`(?i)^(and )?how many (are|were) (from|at|of|by|in|on) `)

// pluralPointer stands for the jobs of the answer before.
var pluralPointer = regexp.MustCompile(`(?i)\b(them|those|these|ones)\b`)

// composeOn composes a question about jobs that goes on from the last with the query of that. Where that
// would need two bounds of each job that no query has, it returns the query "two-bounds".
func (t *Conversation) composeOn(l *Parser, question string) (Query, bool) {
	before, ok := t.last.AsMeasure()
	low := strings.ToLower(question)
	i := slices.IndexFunc(changeMarkers, func(m string) bool { return strings.HasPrefix(low, m+" ") })
	short := len(strings.Fields(question)) < 5 && !containsAnyWord(question, questionWords) || before.By != "" && soleSuperlative.MatchString(question) || soleSplit.MatchString(question) || countOfThem.MatchString(question)
	only := i >= 0 && changeMarkers[i] == "only"
	if !ok || before.Number != 0 && containsAnyWord(question, listed("plural-pointers")) || i < 0 && !short && !containsAnyWord(question, listed("going-on")) || containsAnyWord(question, listed("several-jobs-words")) && !only {
		return Query{}, false
	}
	if m := soleSplit.FindStringSubmatch(question); m != nil {
		question = "which " + m[4]
	} else if i >= 0 {
		question = question[len(changeMarkers[i])+1:]
	}
	r := &reading{operators: true}
	r.tokens = r.takeOperators(l, l.index.splitTokens(pluralPointer.ReplaceAllString(question, "jobs")))
	if r.readTokens(l, r.tokens) != nil || len(r.unknown) > 0 {
		return Query{}, false
	}
	r.concepts = append(r.concepts, r.implied...)
	before.takeEnd(&r.query)
	was := before
	if x := r.query; x.Bound != "" && before.Bounded != "" && x.Bounded != before.Bounded {
		if x.Bounded == "" || !before.setJobBound(x.Bounded, x.Bound, x.Amount) {
			return Query{Ask: "two-bounds"}, false
		}
		r.query.Bounded, r.query.Bound, r.query.Amount = "", "", ""
	}
	if (r.query.Site != "" || r.query.Tenant != "") && (r.concepts.hasConcept("compare") || r.concepts.hasConcept("differ")) {
		return Query{}, false // "is that worse than oslo" compares: see applyChange
	}
	r.takeSplits()
	if len(r.query.Policies) == 1 { // "and under home-fifo"
		late := slices.Equal(before.Where, []string{"late"})
		q := Query{Ask: "policies", Policies: r.query.Policies, Metric: map[bool]string{true: "late", false: before.Metric}[late]}
		whole := before
		whole.Ask, whole.Metric, whole.Statistic, whole.Event, whole.Where = "", "", "", "", nil
		return q, q.Metric != "" && reflect.DeepEqual(whole, Query{}) && (late || len(before.Where) == 0) && before.Statistic != "median" && q.Check() == nil
	}
	q, ok := l.composeQuery(r, before)
	again, _, back := l.ParseQuestion(q.String())
	return q, ok && back == nil && reflect.DeepEqual(again, q) && !reflect.DeepEqual(was, q)
}

// applyChange sets the fields that a few words name in the last query. It returns false if
// one of the words has no field in that query.
func (t *Conversation) applyChange(l *Parser, words string) (Query, bool) {
	r := &reading{}
	tokens := r.takeOperators(l, l.index.splitTokens(words))
	if by, ok := r.laterOrEarlier(tokens); ok && (t.last.At != 0 || t.last.To != 0) {
		q := t.last
		q.shiftTime(by)
		return q, q.Check() == nil
	}
	if back := r.readTokens(l, tokens); t.last.Ask == "" || back != nil || len(r.unknown) > 0 || len(r.numbers) > 1 || r.concepts.countConcepts(quantityConcepts) > 1 || r.concepts.countConcepts(splitConcepts) > 1 {
		return Query{}, false // of two, one would be dropped
	}
	q := t.last
	q.takeEnd(&r.query)
	q.takeOperatorsOf(r.query)
	if x := r.query; (r.concepts.hasConcept("compare") || r.concepts.hasConcept("differ")) && (x.Site != "" && q.Site != "" || x.Tenant != "" && q.Tenant != "") {
		q.Against, r.query.Site, r.query.Tenant = x.Site+x.Tenant, q.Site, q.Tenant // "how does that compare with team-c"
	}
	if x := r.query; x.Job != "" && t.last.Job != "" && (r.concepts.hasConcept("compare") || r.concepts.hasConcept("differ")) {
		q = Query{Ask: "compare-jobs", Job: t.last.Job, Against: string(x.Job), Metric: t.last.Metric} // "compare with job-7"
		return q, q.Check() == nil
	}
	for _, word := range r.concepts {
		if !applyWord(&q, l, word, r) {
			return Query{}, false
		}
	}
	at, from, to, ok := r.times.timeWindow(l)
	if !ok || r.times.isTwoTimes(words) {
		return Query{}, false
	}
	if at != 0 || to != 0 {
		q.At, q.From, q.To = at, from, to
	}
	again, _, back := l.ParseQuestion(q.String())
	return q, back == nil && reflect.DeepEqual(again, q) && q.String() != t.last.String()
}

// takeEnd makes "and finished?" of jobs that started in a time those that ended in it.
func (q *Query) takeEnd(x *Query) {
	if x.State == "done" && q.Event != "" && q.State == "" {
		x.State, q.Event = "", "ended"
	}
}

// takeOperatorsOf sets the operators that another query has.
func (q *Query) takeOperatorsOf(x Query) {
	for _, f := range queryFields {
		if f.operator && f.isSet(&x) {
			f.valueIn(q).Set(f.valueIn(&x))
		}
	}
}

// applyWord sets the field that one word names in a query; false if it names none.
func applyWord(q *Query, l *Parser, word []string, r *reading) bool {
	if slices.Contains(word, "now") {
		q.At = 0
		return q.To == 0
	}
	for _, c := range word {
		switch c {
		case "_", "which", "how", "compare", "differ":
			return true
		case "total":
			return q.Pick == "share" // "of the total"
		case "SITE":
			q.Site = r.query.Site
			return true
		case "TENANT":
			q.Tenant = r.query.Tenant
			return true
		case "under":
			if q.Ask == "policies" {
				return true // "and under home-fifo"
			}
		case "cheapest", "greenest", "dirtiest":
			if kin := []string{"cheapest", "greenest", "dirtiest"}; slices.Contains(kin, q.Ask) { // "and the cheapest"
				q.Ask = c
				return true
			}
		case "jobs":
			if r.query.Job != "" {
				return true // "and job job-7"
			}
		case "JOB", "DEC":
			q.Job, q.Decision = r.query.Job, r.query.Decision
			return true
		case "POLICY":
			q.Policies = r.query.Policies
			return true
		case "NUM":
			q.Number = r.numbers[len(r.numbers)-1]
			return true
		case "DUR":
			q.Long = cmp.Or(r.query.Long, q.Long)
			return true
		case "carbon", "energy", "cost":
			q.Metric = c
			return true
		case "most", "least", "average", "hourword", "when":
			if q.Ask == "price" || q.Ask == "intensity" {
				if q.Ask += "-hours"; q.At != 0 {
					q.From, q.To, q.At = q.At.Floor(24*time.Hour), q.At.Floor(24*time.Hour).Add(24*time.Hour), 0
				}
				return true
			}
			if c != "most" && c != "least" {
				continue
			}
			if q.Pick == "most" || q.Pick == "least" || q.By != "" && q.Pick == "" && q.Then == "" { // "which one is the biggest"
				q.Pick = c
				return true
			}
		case "bysite", "bytenant", "byhour":
			q.By = c[2:]
			return true
		case "daybefore":
			if q.At == 0 && q.To == 0 {
				q.From, q.To = l.Today, l.Today.Add(24*time.Hour)
			}
			q.shiftTime(-24 * time.Hour)
			return true
		}
	}
	return len(word) == 0
}

// shiftTime moves the instant or the window of a query.
func (q *Query) shiftTime(by time.Duration) {
	if q.At != 0 {
		q.At = q.At.Add(by)
	} else {
		q.From, q.To = q.From.Add(by), q.To.Add(by)
	}
}
