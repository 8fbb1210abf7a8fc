package ask

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/internal/format"
)

// fieldValues are what a field of words may hold, by the name of the field and then by the
// question; "" is the line for questions that have none of their own.
var fieldValues = map[string]map[string][]string{
	"metric":  {"": {"carbon", "energy", "cost"}, "bill": {"carbon", "energy", "cost", "paid"}, "measure": measureMetrics, "top": {"carbon", "energy", "cost", "wait", "run"}, "compare-jobs": {"carbon", "energy", "cost", "paid", "wait", "run", "late", "gpus"}, "policies": {"carbon", "energy", "cost", "wait", "late"}},
	"by":      {"": {"site", "tenant", "hour"}, "measure": measureSplits, "utilization": {"site", "model", "hour"}, "refusals": {"site"}},
	"then":    {"": {"site", "tenant", "hour"}, "measure": measureSplits},
	"pick":    {"": {"most", "least"}, "bill": {"most", "least", "share"}, "measure": {"most", "least", "share"}, "late": {"most", "least", "share"}, "waits": {"median", "p95"}},
	"per":     {"": {"job", "gpu-hour", "kwh", "dollar"}},
	"bounded": {"": {"wait", "run", "gpus", "carbon", "energy", "cost", "paid", "late", "slack", "holds"}, "pending": {"wait", "gpus"}},
	"bound":   {"": boundNames},
	"state":   {"": jobStates},
	"only":    {"": {"idle", "jobs"}},

	"event": {"": measureEvents}, "statistic": {"": measureStatistics},
}

var boundNames = []string{"more", "less", "at-least", "at-most", "exactly"}

// valuesOf returns what a field of words may hold in a question.
func valuesOf(field, ask string) []string {
	if own, ok := fieldValues[field][ask]; ok {
		return own
	}
	return fieldValues[field][""]
}

// A queryField is one field of a query that a question may take or need, by its tags.
type queryField struct {
	name              string // of its JSON
	index             int    // in Query
	subject, operator bool
	slots, parts      []string
}

// queryFields are all fields of a query except Ask.
var queryFields = func() (all []queryField) {
	t := reflect.TypeFor[Query]()
	for i := 1; i < t.NumField(); i++ {
		x := queryField{index: i}
		x.name, _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
		for word := range strings.FieldsSeq(t.Field(i).Tag.Get("ask")) {
			switch {
			case word == "subject":
				x.subject = true
			case word == "operator":
				x.operator = true
			case word[0] == '{':
				x.slots = append(x.slots, word)
			default:
				x.parts = append(x.parts, word)
			}
		}
		all = append(all, x)
	}
	return all
}()

// valueIn returns the field of a query.
func (x queryField) valueIn(q *Query) reflect.Value { return reflect.ValueOf(q).Elem().Field(x.index) }

// isSet reports whether a query has a value of the field; an empty list is none.
func (x queryField) isSet(q *Query) bool {
	v := x.valueIn(q)
	return !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0)
}

// takesField reports whether a question has a place for a field.
func (f question) takesField(x queryField) bool {
	return slices.ContainsFunc(x.slots, func(s string) bool { return strings.Contains(f.text, s) }) ||
		slices.ContainsFunc(x.parts, func(p string) bool { return slices.Contains(strings.Fields(f.parts), p) })
}

// withoutUnusedFields returns the query without the fields that its question has no place for. Those
// that name its subject or its time go only if subjects do: without them it would be another.
func (q Query) withoutUnusedFields(subjects bool) Query {
	f := english.questions[q.Ask]
	for _, x := range queryFields {
		if (subjects || !x.subject) && !f.takesField(x) {
			x.valueIn(&q).SetZero()
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
	q.Amount = normalizeAmount(q.Amount)
	switch q.Ask {
	case "price", "cheapest", "intensity", "greenest", "dirtiest":
		if q.To != 0 && q.Against == "" { // of a window, its hours
			q.Ask = map[bool]string{true: "price-hours", false: "intensity-hours"}[q.Ask == "price" || q.Ask == "cheapest"]
		}
	case "top":
		q.Number = cmp.Or(q.Number, 5)
		q.Metric = cmp.Or(q.Metric, "carbon")
	case "best-hour", "best-price", "forecast":
		if q.To == 0 {
			q.Within = cmp.Or(q.Within, 24*time.Hour)
		}
	case "jobs":
		if q.At != 0 {
			q.State = cmp.Or(q.State, "running") // "jobs that ran at 13:00"
		}
	case "utilization":
		if q.By == "site" {
			q.By = "" // it is by site unless another split is asked for
		}
	case "measure":
		return q.withMeasureDefaults()
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
		if x.isSet(&q) && !f.takesField(x) {
			return fmt.Errorf("ask %s: %s: this question has no place for it", q.Ask, x.name)
		}
	}
	if err := q.checkRequired(f); err != nil {
		return err
	}
	for _, x := range queryFields {
		known, value := valuesOf(x.name, q.Ask), x.valueIn(&q)
		if known != nil && x.isSet(&q) && !slices.Contains(known, value.String()) {
			return fmt.Errorf("ask %s: %s %q: want %s", q.Ask, x.name, format.CleanText(value.String()), strings.Join(known, ", "))
		}
	}
	if err := q.checkOperators(); err != nil {
		return err
	}
	if q.Ask == "measure" {
		if err := q.checkMeasure(); err != nil {
			return err
		}
	}
	return q.checkBounds()
}

// listedKinds are what a bound measures of what a question lists; "" is what its metric measures.
var listedKinds = map[string]string{"intensity": "intensity", "price": "price", "price-hours": "price", "intensity-hours": "intensity", "power": "power", "utilization": "share", "free": "gpus", "jobs": "jobs", "late": "jobs"}

// checkOperators returns which operators of a query do not go together.
func (q Query) checkOperators() error {
	listed := listedKinds[q.Ask]
	if q.Ask == "bill" {
		listed = kindOfQuantity[q.Metric]
	}
	_, kind, err := ParseAmount(q.Amount)
	sorted := func(all []string) bool {
		return slices.IsSorted(all) && len(slices.Compact(slices.Clone(all))) == len(all) && !slices.Contains(all, "")
	}
	switch {
	case (q.Bound == "") != (q.Amount == "") || q.Bounded != "" && q.Bound == "":
		return fmt.Errorf("ask %s: bound and amount: give both, or neither", q.Ask)
	case q.Amount != "" && err != nil:
		return fmt.Errorf("ask %s: %w", q.Ask, err)
	case q.Amount != normalizeAmount(q.Amount):
		return fmt.Errorf("ask %s: amount %q: want %q", q.Ask, format.CleanText(q.Amount), normalizeAmount(q.Amount))
	case q.Bounded != "" && kind != kindOfQuantity[q.Bounded] || q.Bound != "" && q.Bounded == "" && kind != listed:
		return fmt.Errorf("ask %s: amount %q: its unit is not that of what is bounded", q.Ask, format.CleanText(q.Amount))
	case q.Bound != "" && q.Bounded == "" && q.By == "" && listed == "jobs":
		return fmt.Errorf("ask %s: bounded: say which quantity of each job, or split", q.Ask)
	case q.Only != "" && (q.Job != "" || q.Decision != 0) || q.Only == "idle" && (q.By == "tenant" || q.Then == "tenant" || q.Tenant+q.Bounded != "" || len(q.ExceptTenants) > 0 || q.Per != "" || q.Metric == "paid"):
		return fmt.Errorf("ask %s: only %s: idle draw belongs to no tenant and no job", q.Ask, q.Only)
	case q.Size != "" && (q.Bounded == "" || q.Bounded == "gpus" || !slices.Contains(boundNames, q.sizeBound().Bound) || q.sizeBound().Amount != normalizeAmount(q.sizeBound().Amount) || kindOfAmount(q.sizeBound().Amount) != "gpus"):
		return fmt.Errorf("ask %s: size: say a bound of GPUs beside another bound: exactly 8 GPUs", q.Ask)
	case q.Ask == "utilization" && q.By != "" && q.Bound+q.Against != "":
		return fmt.Errorf("ask utilization: by %s: without bound and comparison", q.By)
	case q.Then != "" && (q.By == "" || q.By == q.Then):
		return fmt.Errorf("ask %s: then: give another split in by first", q.Ask)
	case q.Against != "" && (countSet(q.Site, q.Tenant, string(q.Job)) != 1 || slices.Contains([]string{q.Site, q.Tenant, string(q.Job)}, q.Against)):
		return fmt.Errorf("ask %s: against: name one site, tenant or job, and here another", q.Ask)
	case q.Against != "" && (q.By != "" || q.Pick == "share" || q.Bound != "" && q.Bounded == ""):
		return fmt.Errorf("ask %s: against: two are compared without split, share and bound", q.Ask)
	case q.Pick == "share" && q.Per != "" || q.Pick != "" && q.Then != "":
		return fmt.Errorf("ask %s: pick %s: not together with per or then", q.Ask, q.Pick)
	case q.Per != "" && q.Metric == "" || q.Per == "kwh" && q.Metric == "energy":
		return fmt.Errorf("ask %s: per: name a metric, for kwh one other than energy", q.Ask)
	case !sorted(q.ExceptSites) || !sorted(q.ExceptTenants):
		return fmt.Errorf("ask %s: except_sites and except_tenants: name each once, in order", q.Ask)
	case q.Site != "" && len(q.ExceptSites) > 0 || q.Tenant != "" && len(q.ExceptTenants) > 0:
		return fmt.Errorf("ask %s: except: it is about one alone", q.Ask)
	case q.Ask == "pending" && (q.To != 0 || q.Pick != "" && q.By == ""):
		return fmt.Errorf("ask pending: give an instant, and a split where one is picked")
	case q.State != "" && q.To != 0 && !q.CountsAtOnce() && slices.Contains([]string{"pending", "planned", "running"}, q.State):
		return fmt.Errorf("ask %s: state %s: give an instant", q.Ask, q.State)
	}
	return nil
}

// countSet returns how many of some names are given.
func countSet(names ...string) (n int) {
	for _, name := range names {
		if name != "" {
			n++
		}
	}
	return n
}

// kindOfAmount returns what an amount measures.
func kindOfAmount(amount string) string {
	_, kind, _ := ParseAmount(amount)
	return kind
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
	case q.Ask == "compare-jobs" && q.Against == "":
		return fmt.Errorf("ask %s: against: name the second job", q.Ask)
	case q.Other != "" && q.Other == q.Site:
		return fmt.Errorf("ask %s: other: it is the same site as site", q.Ask)
	case has("{long}") && q.Long == 0:
		return fmt.Errorf("ask %s: long_ns: say how long", q.Ask)
	case q.Ask == "top" && q.Metric == "":
		return fmt.Errorf("ask %s: metric: say by which", q.Ask)
	case (q.Job != "" || q.Decision != 0) && !has("{target}") && (q.Site != "" || q.Tenant != "" || q.By != "" || q.Pick != "" || q.At != 0 || q.To != 0 || q.Per != "" || q.Bound != "" || len(q.ExceptSites)+len(q.ExceptTenants) > 0):
		return fmt.Errorf("ask %s: of one job it is asked without site, tenant, split, operators and time", q.Ask)
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
	case q.At != 0 && (q.Ask == "day-without" || q.Ask == "day-drained"):
		return fmt.Errorf("ask %s: at: give from and to", q.Ask)
	case q.At != 0 && (q.From != 0 || q.To != 0):
		return fmt.Errorf("ask %s: at: give an instant, or from and to", q.Ask)
	case q.To <= q.From && (q.From != 0 || q.To != 0):
		return fmt.Errorf("ask %s: from and to: want from before to", q.Ask)
	}
	return nil
}
