package ask

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"
)

// parseChange parses a question that names only what differs from the last one:
// another time, site, tenant, job, metric or split. The whole has to be a
// question that is read as itself.
func (t *Conversation) parseChange(l *Parser, question string) (Query, bool) {
	if t.last.Ask == "" {
		return Query{}, false
	}
	if form("whose").MatchString(question) {
		return t.applyChange(l, "by tenant")
	}
	if q := t.last; form("the-others").MatchString(question) && (q.Site == "") != (q.Tenant == "") && len(q.ExceptSites)+len(q.ExceptTenants) == 0 {
		isNone := func(name string) bool { return name == "" }
		q.ExceptSites, q.ExceptTenants = slices.DeleteFunc([]string{q.Site}, isNone), slices.DeleteFunc([]string{q.Tenant}, isNone)
		q.Site, q.Tenant = "", ""
		q = q.withoutUnusedFields(true)
		return q, q.Check() == nil
	}
	low := strings.ToLower(question)
	i := slices.IndexFunc(changeMarkers, func(m string) bool { return strings.HasPrefix(low, m+" ") })
	if i < 0 {
		return Query{}, false
	}
	return t.applyChange(l, question[len(changeMarkers[i])+1:])
}

// composeOn composes a question about jobs that goes on from the last with the query of that. Where that
// would need two bounds of each job that no query has, it returns the query "two-bounds".
func (t *Conversation) composeOn(l *Parser, question string) (Query, bool) {
	before, ok := t.last.AsMeasure()
	bill := t.last.Ask == "bill" && t.last.Job == "" && t.last.Decision == 0 && t.last.Only != "idle" && (t.last.Bound == "" || t.last.Bounded != "")
	if bill {
		before.Ask, before.Metric, before.Only = "measure", cmp.Or(before.Metric, "cost"), ""
		before, ok = before.WithDefaults(), true
	}
	low := strings.ToLower(question)
	i := slices.IndexFunc(changeMarkers, func(m string) bool { return strings.HasPrefix(low, m+" ") })
	short := len(strings.Fields(question)) < 5 && !containsAnyWord(question, questionWords) || before.By != "" && form("which-is-most").MatchString(question) || form("at-which").MatchString(question) || form("how-many-of-them").MatchString(question)
	only := i >= 0 && strings.HasPrefix(changeMarkers[i], "only")
	if !ok || before.Number != 0 && (containsAnyWord(question, listed("plural-pointers")) || containsAnyWord(question, listed("it-words"))) || i < 0 && !short && !containsAnyWord(question, listed("going-on")) || containsAnyWord(question, listed("several-jobs-words")) && !only {
		return Query{}, false
	}
	if m := form("at-which").FindStringSubmatch(question); m != nil {
		question = "which " + m[4]
	} else if i >= 0 {
		question = question[len(changeMarkers[i])+1:]
	}
	r := &reading{operators: true}
	r.tokens = r.takeOperators(l, l.index.splitTokens(form("them").ReplaceAllString(question, "jobs")))
	if r.readTokens(l, r.tokens) != nil || len(r.unknown) > 0 {
		return Query{}, false
	}
	r.concepts = append(r.concepts, r.implied...)
	before.takeEnd(&r.query)
	was := before
	if x := &r.query; x.Bound != "" && x.Bounded == "" && before.Bounded != "" && kindOfAmount(x.Amount) == kindOfQuantity[before.Bounded] {
		x.Bounded = before.Bounded // "more than 4 h"
	}
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
	if ok = ok && (!bill || q.Model != t.last.Model || q.State != t.last.State || len(q.Where) > 0); !ok { // only jobs have those
		return Query{}, false
	}
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
		case "most", "least", "average", "hourword", "when", "byhour", "hourly":
			if q.Ask == "price" || q.Ask == "intensity" {
				if q.Ask += "-hours"; q.At != 0 {
					q.From, q.To, q.At = q.At.Floor(24*time.Hour), q.At.Floor(24*time.Hour).Add(24*time.Hour), 0
				}
				return true
			}
			if c == "byhour" {
				q.By = "hour"
				return true
			} else if c != "most" && c != "least" {
				continue
			}
			if q.Pick == "most" || q.Pick == "least" || q.By != "" && q.Pick == "" && q.Then == "" { // "which one is the biggest"
				q.Pick = c
				return true
			}
		case "bysite", "bytenant":
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
