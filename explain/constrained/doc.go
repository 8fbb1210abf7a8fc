// Package constrained is what a model may make of a decision record, and the checks
// that hold it to that.
//
// There are two levels above the template of package narrate. At [Select] a
// model chooses and orders sentences that are ready: it adds no word. At [Prose]
// it writes sentences in which every figure and every reason is a reference to a
// fact, {{F3}} or {{R1}}, from a closed list of words; code prints the facts.
// What breaks a rule is refused as a whole, and the caller falls back.
//
// A record holds what tenants wrote in two fields only, and no request shows
// them.
package constrained

import (
	"encoding/json"
	"slices"

	"github.com/gridbid/gridbid/explain/record"
)

// A Request is what to ask a model. Schema is the JSON Schema of its reply.
type Request struct {
	System, User, Name string
	Schema             json.RawMessage
}

// Bounds of a narration, those of its schema.
const (
	mostSentences = 5
	mostRunes     = 240
	mostReply     = 8 << 10
)

// siteOf returns which site a fact is about, or "".
func siteOf(d record.Record, f record.Fact) string {
	i := slices.IndexFunc(d.Bids, func(b record.Bid) bool { return b.ID == f.Subject })
	if i < 0 {
		return ""
	}
	return d.Bids[i].Site
}

// sites returns the names of all sites of a record.
func sites(d record.Record) (names []string) {
	for _, b := range d.Bids {
		if !slices.Contains(names, b.Site) {
			names = append(names, b.Site)
		}
	}
	return names
}

// winner returns the site that won, or "".
func winner(d record.Record) string {
	if d.Winner == nil {
		return ""
	}
	return siteOf(d, record.Fact{Subject: *d.Winner})
}

// over reports whether a decision ended its job, which no site was to run: it is not
// called again.
func over(d record.Record) bool {
	return d.Winner == nil && !slices.ContainsFunc(d.Facts, func(f record.Fact) bool { return f.Subject == "decision" && f.Metric == "until" })
}

func schemaOf(v any) json.RawMessage {
	s, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps and strings always marshal
	}
	return s
}
