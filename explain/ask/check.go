package ask

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/format"
)

// fieldValues are what a field of words may hold, by the name of the field and then by the
// question; "" is the line for questions that have none of their own.
var fieldValues = map[string]map[string][]string{
	"metric": {"": {"carbon", "energy", "cost"}, "bill": {"carbon", "energy", "cost", "paid"}, "top": {"carbon", "energy", "cost", "wait"}},
	"by":     {"": {"site", "tenant", "hour"}, "jobs": {"site", "tenant"}},
	"pick":   {"": {"most", "least"}, "waits": {"median", "p95"}},
}

// valuesOf returns what a field of words may hold in a question.
func valuesOf(field, ask string) []string {
	if own, ok := fieldValues[field][ask]; ok {
		return own
	}
	return fieldValues[field][""]
}

// A queryField is one field of a query that a question may take or need.
type queryField struct {
	name  string // of its JSON
	named bool   // it names the subject or the time, not the quantity
	slots []string
	parts []string
	set   func(Query) bool
	clear func(*Query)
}

// queryFields are all fields of a query except Ask.
var queryFields = []queryField{
	{"job", true, []string{"{target}"}, []string{"job"}, func(q Query) bool { return q.Job != "" }, func(q *Query) { q.Job = "" }},
	{"decision", true, []string{"{target}"}, []string{"job"}, func(q Query) bool { return q.Decision != 0 }, func(q *Query) { q.Decision = 0 }},
	{"site", true, []string{"{site}"}, []string{"site"}, func(q Query) bool { return q.Site != "" }, func(q *Query) { q.Site = "" }},
	{"other", false, []string{"{other}", "{and}"}, nil, func(q Query) bool { return q.Other != "" }, func(q *Query) { q.Other = "" }},
	{"tenant", true, nil, []string{"tenant"}, func(q Query) bool { return q.Tenant != "" }, func(q *Query) { q.Tenant = "" }},
	{"policies", true, nil, []string{"policies"}, func(q Query) bool { return len(q.Policies) > 0 }, func(q *Query) { q.Policies = nil }},
	{"metric", false, []string{"{metric}", "{bill}"}, nil, func(q Query) bool { return q.Metric != "" }, func(q *Query) { q.Metric = "" }},
	{"by", false, nil, []string{"by"}, func(q Query) bool { return q.By != "" }, func(q *Query) { q.By = "" }},
	{"pick", false, []string{"{pick}"}, []string{"pick"}, func(q Query) bool { return q.Pick != "" }, func(q *Query) { q.Pick = "" }},
	{"number", false, []string{"{number}"}, []string{"number"}, func(q Query) bool { return q.Number != 0 }, func(q *Query) { q.Number = 0 }},
	{"long_ns", false, []string{"{long}"}, nil, func(q Query) bool { return q.Long != 0 }, func(q *Query) { q.Long = 0 }},
	{"within_ns", false, []string{"{ahead}"}, nil, func(q Query) bool { return q.Within != 0 }, func(q *Query) { q.Within = 0 }},
	{"at", true, nil, []string{"time"}, func(q Query) bool { return q.At != 0 }, func(q *Query) { q.At = 0 }},
	{"from", true, nil, []string{"time"}, func(q Query) bool { return q.From != 0 }, func(q *Query) { q.From = 0 }},
	{"to", true, nil, []string{"time"}, func(q Query) bool { return q.To != 0 }, func(q *Query) { q.To = 0 }},
}

// takesField reports whether a question has a place for a field.
func (f question) takesField(x queryField) bool {
	return slices.ContainsFunc(x.slots, func(s string) bool { return strings.Contains(f.text, s) }) ||
		slices.ContainsFunc(x.parts, func(p string) bool { return slices.Contains(strings.Fields(f.parts), p) })
}

// withoutUnusedFields returns the query without the fields that its question has no place for.
func (q Query) withoutUnusedFields() Query {
	f := english.questions[q.Ask]
	for _, x := range queryFields {
		if !f.takesField(x) {
			x.clear(&q)
		}
	}
	return q
}

// withoutImpliedFields returns the query without the fields that follow from words which say
// nothing in its question. Names and times stay: without them it would be another.
func (q Query) withoutImpliedFields() Query {
	f := english.questions[q.Ask]
	for _, x := range queryFields {
		if !x.named && !f.takesField(x) {
			x.clear(&q)
		}
	}
	return q
}

// maxNumber bounds a number of a query, so that sums of it do not overflow. maxLength
// bounds durations.
const maxNumber = 1_000_000_000_000

// WithDefaults fills in what a question leaves out: the top five jobs by carbon, the next
// 24 hours.
func (q Query) WithDefaults() Query {
	switch q.Ask {
	case "top":
		q.Number = cmp.Or(q.Number, 5)
		q.Metric = cmp.Or(q.Metric, "carbon")
	case "best-hour", "best-price", "forecast":
		if q.To == 0 {
			q.Within = cmp.Or(q.Within, 24*time.Hour)
		}
	case "best-start":
		q.Within = cmp.Or(q.Within, 24*time.Hour)
	}
	return q
}

// Check returns why no run can answer a query: its question is not known, a field is missing
// or has no place in that question, or a value is not one that the field may hold.
// Invariant: a query that passes equals the query parsed from its String.
func (q Query) Check() error {
	f, ok := english.questions[q.Ask]
	if !ok {
		return fmt.Errorf("ask %q: no such question; docs/query.schema.json lists them", format.CleanText(q.Ask))
	}
	for _, x := range queryFields {
		if x.set(q) && !f.takesField(x) {
			return fmt.Errorf("ask %s: %s: this question has no place for it", q.Ask, x.name)
		}
	}
	if err := q.checkRequired(f); err != nil {
		return err
	}
	for _, x := range []struct{ name, value string }{{"metric", q.Metric}, {"by", q.By}, {"pick", q.Pick}} {
		if known := valuesOf(x.name, q.Ask); x.value != "" && !slices.Contains(known, x.value) {
			return fmt.Errorf("ask %s: %s %q: want %s", q.Ask, x.name, format.CleanText(x.value), strings.Join(known, ", "))
		}
	}
	return q.checkBounds()
}

// checkRequired returns which field is missing that the words of a question have a slot for.
func (q Query) checkRequired(f question) error {
	has := func(slot string) bool { return strings.Contains(f.text, slot) }
	switch {
	case q.Job != "" && q.Decision != 0:
		return fmt.Errorf("ask %s: job and decision: name one of the two", q.Ask)
	case has("{target}") && q.Job == "" && q.Decision == 0:
		return fmt.Errorf("ask %s: job or decision: name one of the two", q.Ask)
	case (has("{site}") || slices.Contains(f.is, "of-a-site")) && q.Site == "":
		return fmt.Errorf("ask %s: site: name one", q.Ask)
	case has("{other}") && q.Other == "":
		return fmt.Errorf("ask %s: other: name the second site", q.Ask)
	case q.Other != "" && q.Other == q.Site:
		return fmt.Errorf("ask %s: other: it is the same site as site", q.Ask)
	case has("{long}") && q.Long == 0:
		return fmt.Errorf("ask %s: long_ns: say how long", q.Ask)
	case q.Ask == "top" && q.Metric == "":
		return fmt.Errorf("ask %s: metric: say by which", q.Ask)
	case (q.Job != "" || q.Decision != 0) && !has("{target}") && (q.Site != "" || q.Tenant != "" || q.By != "" || q.Pick != "" || q.At != 0 || q.To != 0):
		return fmt.Errorf("ask %s: of one job it is asked without site, tenant, split and time", q.Ask)
	case (q.Ask == "top" || q.Ask == "fit") && q.Number == 0:
		return fmt.Errorf("ask %s: number: say how many", q.Ask)
	}
	return nil
}

// checkBounds returns which number, length or time of a query is out of range.
func (q Query) checkBounds() error {
	switch {
	case q.Number < 0 || q.Number > maxNumber:
		return fmt.Errorf("ask %s: number %d: want 0 to %d", q.Ask, q.Number, int64(maxNumber))
	case q.Long < 0 || q.Long > maxLength || q.Long%time.Minute != 0:
		return fmt.Errorf("ask %s: long_ns %d: want whole minutes, up to 280 years", q.Ask, q.Long)
	case q.Within < 0 || q.Within > maxLength || q.Within%time.Minute != 0:
		return fmt.Errorf("ask %s: within_ns %d: want whole minutes, up to 280 years", q.Ask, q.Within)
	case q.At != 0 && (q.From != 0 || q.To != 0):
		return fmt.Errorf("ask %s: at: give an instant, or from and to", q.Ask)
	case q.To <= q.From && (q.From != 0 || q.To != 0):
		return fmt.Errorf("ask %s: from and to: want from before to", q.Ask)
	}
	return nil
}
