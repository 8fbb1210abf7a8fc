package ask

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// QuerySchema returns the JSON schema of a [Query], which docs/query.schema.json publishes.
// What it allows may still be refused by [Query.Check]: a schema does not say which
// question takes which field.
func QuerySchema() []byte {
	var list strings.Builder
	list.WriteString("What is asked. Each question, in words, and the fields that it may have:")
	for _, name := range english.asks {
		q := english.questions[name]
		var takes []string
		for _, x := range queryFields {
			if q.takesField(x) {
				takes = append(takes, x.name)
			}
		}
		fmt.Fprintf(&list, "\n%s: %s", name, q.text)
		if len(takes) > 0 {
			fmt.Fprintf(&list, " [%s]", strings.Join(takes, ", "))
		}
	}
	properties := map[string]any{"ask": map[string]any{"type": "string", "enum": english.asks, "description": list.String()}}
	for _, x := range queryFields {
		properties[x.name] = schemaOf(x.name)
	}
	raw, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A question to a Gridbid run",
		"type": "object", "additionalProperties": false, "required": []string{"ask"}, "properties": properties,
	}, "", "  ")
	if err != nil {
		panic(err) // maps of strings and numbers always marshal
	}
	return append(raw, '\n')
}

// schemaOf returns what one field may hold.
func schemaOf(name string) map[string]any {
	text := map[string]any{"type": "string", "maxLength": 256}
	lasting := func(of string) map[string]any {
		return map[string]any{"type": "integer", "minimum": 0, "maximum": int64(maxLength), "multipleOf": int64(60_000_000_000), "description": of + ", in nanoseconds: whole minutes. An hour is 3600000000000."}
	}
	instant := func(of string) map[string]any {
		return map[string]any{"type": "string", "format": "date-time", "description": of + ", RFC 3339 in UTC: 2026-03-11T13:45:00Z"}
	}
	switch name {
	case "decision":
		return map[string]any{"type": "integer", "minimum": 1, "description": "number of a decision, instead of a job: 14 is D-14"}
	case "policies", "except_sites", "except_tenants", "where":
		return map[string]any{"type": "array", "maxItems": 16, "items": text}
	case "metric", "by", "then", "pick", "per", "bounded", "bound", "state", "event", "statistic", "only":
		return map[string]any{"type": "string", "enum": allValues(name)}
	case "amount":
		text["description"] = "of a bound, with its unit: 2 h, 90 min, 5 kg, 10 kWh, 3 dollars, 300 g/kWh, 50 dollars/MWh, 2 kW, 80 %, 8 GPUs, 5 jobs"
	case "number":
		return map[string]any{"type": "integer", "minimum": 0, "maximum": int64(maxNumber), "description": "of GPUs, of rows, or dollars per tonne of CO2"}
	case "long_ns":
		return lasting("How long a job runs or may wait")
	case "within_ns":
		return lasting("How far ahead is looked")
	case "at":
		return instant("An instant, instead of from and to")
	case "from":
		return instant("The start of a window of time")
	case "to":
		return instant("The end of a window of time, which is not in it")
	}
	return text
}

// allValues returns what a field of words may hold in any question.
func allValues(field string) (all []string) {
	for _, name := range english.asks {
		all = append(all, valuesOf(field, name)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
