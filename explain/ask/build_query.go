package ask

import (
	"cmp"
	"slices"
	"strings"
)

// buildQuery returns the query that rule f makes of the reading.
func (r *reading) buildQuery(f rule) Query {
	q := r.query
	q.Ask = f.ask
	mine := make(map[string]bool)
	for _, c := range f.concepts() {
		mine[c] = r.concepts.hasConcept(c)
	}
	if q.Metric = r.metricOf(mine); q.Metric == "energy" && q.Per == "" && (mine["greenest"] || mine["dirtiest"]) { // "the dirtiest kWh"
		q.Metric, q.Per = "carbon", "kwh"
	}
	for _, by := range []string{"site", "tenant", "hour", "model"} {
		if mine["by"+by] && r.query.By == "" {
			q.By = by
		}
	}
	switch {
	case r.query.Pick == "share":
	case mine["most"] || mine["dirtiest"]:
		q.Pick = "most"
	case mine["least"] || mine["cheapest"] || mine["greenest"]:
		q.Pick = "least"
	}
	picks := valuesOf("pick", f.ask)
	if !slices.Contains(picks, q.Pick) {
		q.Pick = ""
	}
	for _, pick := range picks {
		if mine[pick] && q.Pick == "" {
			q.Pick = pick
		}
	}
	if n := len(r.numbers); n > 0 {
		q.Number = r.numbers[n-1]
	}
	q = q.normalizeFields(mine, r)
	if f.allowsAll() { // the rule has one answer, so other words do not count
		q = q.withoutUnusedFields(true)
	}
	return q
}

// metricOf returns the metric that the matched concepts ask for; "" if they name several or none.
func (r *reading) metricOf(mine map[string]bool) string {
	var all []string
	for _, m := range []string{"carbon", "energy", "cost"} {
		if mine[m] {
			all = append(all, m)
		}
	}
	switch {
	case mine["paidto"] && mine["energy"] && len(all) == 1: // paid for energy
		return "cost"
	case len(all) == 1 && all[0] == "cost" && r.asksPayment():
		return "paid"
	case len(all) == 2 && !mine["carbon"] && !r.hasAnd: // the cost of energy
		return "cost"
	case len(all) == 1:
		return all[0]
	case len(all) > 1:
		return ""
	case mine["power"]:
		return "energy"
	case mine["emit"] || mine["dirtiest"]:
		return "carbon"
	case mine["cheapest"]:
		return "cost"
	case mine["paidto"]:
		return "paid"
	case mine["wait"]:
		return "wait"
	case mine["late"]:
		return "late"
	}
	return ""
}

// asksPayment reports whether a question asks what a site is paid: "what did we pay oslo",
// "how much money did oslo make", but not "what did we pay oslo for power".
func (r *reading) asksPayment() bool {
	costs := 0
	for _, word := range r.concepts {
		if slices.Contains(word, "cost") {
			costs++
		}
	}
	toSites := r.query.Site == "" && slices.ContainsFunc(r.tokens, func(t token) bool { return slices.Contains(listed("pay-verbs"), t.low) }) && (r.concepts.hasConcept("bysite") || r.query.By == "site")
	return costs == 1 && (toSites || slices.Contains(listed("pay-verbs"), r.verb) || slices.Contains(listed("earn-verbs"), r.next))
}

// saysPast reports whether a question is about what was, and not about what a forecast says.
func (r *reading) saysPast() bool {
	return slices.ContainsFunc(r.tokens, func(t token) bool { return slices.Contains(listed("past-verbs"), t.low) }) && r.concepts.countConcepts(strings.Fields("future forecast next")) == 0
}

// normalizeFields sets the fields that follow from the question and clears those that do not
// belong to it, so that equal questions have equal queries.
func (q Query) normalizeFields(mine map[string]bool, r *reading) Query {
	switch {
	case english.isOfKind(q, "about-the-other") && r.rejected == q.Site && q.Other != "":
		q.Site = q.Other
	case english.isOfKind(q, "about-the-rejected") && r.rejected != "" && r.rejected != q.Site:
		q.Site, q.Other = r.rejected, q.Site
	case slices.Contains(english.questions[q.Ask].holds, "SITE"): // its answer says which
		q.Site = ""
	}
	switch q.Ask {
	case "bill":
		switch { // a sum of "the sites" or "which team" is one of each
		case q.By != "":
		case mine["course"] || q.Pick != "" && (mine["hourword"] || mine["when"]):
			q.By = "hour"
		case q.Tenant == "" && mine["tenants"]:
			q.By = "tenant"
		case q.Site == "" && mine["sites"]:
			q.By = "site"
		}
		if q.Pick != "" && q.Pick != "share" && q.By == "" {
			q.By = "site"
			if mine["tenants"] {
				q.By = "tenant"
			}
		}
	case "utilization":
		if q.By == "" && (mine["when"] || mine["hourword"]) {
			q.By = "hour"
		}
	case "best-hour", "best-price", "forecast":
		if hours := map[string]string{"best-hour": "intensity-hours", "best-price": "price-hours"}[q.Ask]; hours != "" && q.At == 0 && r.saysPast() {
			q.Ask, q.Long, q.Within = hours, 0, 0
			break
		}
		if q.To == 0 {
			q.Within = cmp.Or(q.Within, q.Long)
		}
		q.Long = 0
	}
	q = q.WithDefaults()
	if english.questions[q.Ask].text != "" && (q.By == "hour" || q.By == "model") && !slices.Contains(valuesOf("by", q.Ask), "hour") {
		q.By = ""
	}
	if q.Decision != 0 {
		q.Job = ""
	}
	return q.withoutUnusedFields(false)
}
