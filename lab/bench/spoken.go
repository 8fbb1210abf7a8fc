package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/protocol"
)

// judgeSpokenTruth judges an answer by a truth of the form
//
//	read(bill|top, metric=carbon, site=$S|site=$B, from=2026-03-11T12:00)
//
// which names the accepted queries and the values that the query must hold; or "none", if
// every answer with figures is wrong; or refuse(COMMAND), if the answer must be a refusal that names
// that command. The query must hold no site, tenant, job, decision,
// time or number that the truth does not name: an invented value is as wrong as a lost one.
func (n slotNames) judgeSpokenTruth(truth string, a query.Answer) string {
	answered := a.Kind == "answer" || a.Kind == "absent" || a.Query != nil // a query may be read but have no data
	switch {
	case truth == "none" && a.Kind == "answer":
		return "wrong"
	case truth == "none":
		return "right"
	case strings.HasPrefix(truth, "refuse("):
		command := n.fillSlots(strings.TrimSuffix(strings.TrimPrefix(truth, "refuse("), ")"))
		switch {
		case a.Kind == "refused" && strings.Contains(strings.Join(a.Text, " "), command):
			return "right"
		case a.Kind == "answer":
			return "wrong"
		}
		return "declined"
	case !answered && a.Kind == "refused":
		return "wrong"
	case !answered || a.Query == nil:
		return "declined"
	}
	want := strings.Split(strings.TrimSuffix(strings.TrimPrefix(truth, "read("), ")"), ", ")
	if !slices.Contains(strings.Split(want[0], "|"), a.Query.Ask) {
		return "wrong"
	}
	if a.Kind == "absent" {
		return "right"
	}
	q := *a.Query
	for _, part := range want[1:] {
		if !slices.ContainsFunc(strings.Split(part, "|"), func(p string) bool {
			key, value, _ := strings.Cut(n.fillSlots(p), "=")
			return takeQueryValue(&q, key, value)
		}) {
			return "wrong"
		}
	}
	if (q.Ask == "top" || q.Ask == "measure") && q.Number == 5 || q.Ask == "fit" { // 5 is the default of top; fit counts GPUs
		q.Number = 0
	}
	// An operator that the truth does not name makes it another question.
	if len(q.ExceptSites)+len(q.ExceptTenants)+len(q.Where) > 0 || q.Event+q.Statistic != "" || q.Then+q.Per+q.Against+q.Bounded+q.Bound+q.Amount+q.Model+q.State+q.Home+q.Only+q.Term != "" {
		return "wrong"
	}
	if q.Job != "" || q.Decision != 0 || q.Site != "" || q.Other != "" || q.Tenant != "" || q.Number != 0 {
		return "wrong"
	}
	named := strings.Contains(truth, "day=") || strings.Contains(truth, "at=") || strings.Contains(truth, "from=")
	if !named && (q.At != 0 || q.From != 0) {
		return "wrong"
	}
	return "right"
}

// takeQueryValue reports whether a query has a value under a key, and clears names and numbers
// that match, so that the caller finds values that the truth does not name.
func takeQueryValue(q *ask.Query, key, value string) bool {
	instant := func(at protocol.Time) bool { return at != 0 && at.StdTime().Format("2006-01-02T15:04") == value }
	switch key {
	case "job":
		ok := string(q.Job) == value
		q.Job = ""
		return ok
	case "decision":
		ok := fmt.Sprint("D-", q.Decision) == value
		q.Decision = 0
		return ok
	case "site":
		if q.Other == value {
			q.Other = ""
			return true
		}
		ok := q.Site == value
		if ok {
			q.Site = ""
		}
		return ok
	case "tenant":
		ok := q.Tenant == value
		q.Tenant = ""
		return ok
	case "number":
		ok := fmt.Sprint(q.Number) == value
		q.Number = 0
		return ok
	case "long":
		d, err := time.ParseDuration(value)
		return err == nil && (q.Long == d || q.Within == d)
	case "except":
		all := len(q.ExceptSites) + len(q.ExceptTenants)
		named := func(s string) bool { return s == value }
		q.ExceptSites, q.ExceptTenants = slices.DeleteFunc(q.ExceptSites, named), slices.DeleteFunc(q.ExceptTenants, named)
		return len(q.ExceptSites)+len(q.ExceptTenants) < all
	case "where":
		all := len(q.Where)
		q.Where = slices.DeleteFunc(slices.Clone(q.Where), func(s string) bool { return s == value })
		return len(q.Where) < all
	case "policy":
		return slices.Contains(q.Policies, value)
	case "event", "statistic", "then", "per", "against", "bounded", "bound", "amount", "model", "state", "home", "only", "term":
		field := map[string]*string{"event": &q.Event, "statistic": &q.Statistic, "then": &q.Then, "per": &q.Per, "against": &q.Against, "bounded": &q.Bounded, "bound": &q.Bound, "amount": &q.Amount, "model": &q.Model, "state": &q.State, "home": &q.Home, "only": &q.Only, "term": &q.Term}[key]
		ok := *field == value
		*field = ""
		return ok
	case "metric":
		return q.Metric == value
	case "by":
		return q.By == value
	case "pick":
		return q.Pick == value || value == "mean" && q.Pick == ""
	case "at":
		return instant(q.At)
	case "from":
		return instant(q.From)
	case "to":
		return instant(q.To)
	case "day":
		return value == "" || q.From != 0 && q.From.StdTime().Format("2006-01-02") == value
	}
	return false
}
