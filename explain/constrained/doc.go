// Package constrained is what a model may make of a decision record, and the checks
// that hold it to that.
//
// There are two levels above the template of package narrate. At [SelectionRequest] a
// model chooses and orders sentences that are ready: it adds no word. At [ProseRequest]
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

// A ModelRequest is what to ask a model. Schema is the JSON Schema of its reply.
type ModelRequest struct {
	System, User, Name string
	Schema             json.RawMessage
}

// Bounds of a narration, those of its schema.
const (
	maxSentences     = 5
	maxSentenceRunes = 240
	maxReplyBytes    = 8 << 10
)

// siteOfFact returns which site a fact is about, or "".
func siteOfFact(d record.DecisionRecord, f record.Fact) string {
	i := slices.IndexFunc(d.Bids, func(b record.Bid) bool { return b.ID == f.Subject })
	if i < 0 {
		return ""
	}
	return d.Bids[i].Site
}

// sitesOfRecord returns the names of all sites of a record.
func sitesOfRecord(d record.DecisionRecord) (names []string) {
	for _, b := range d.Bids {
		if !slices.Contains(names, b.Site) {
			names = append(names, b.Site)
		}
	}
	return names
}

// winningSite returns the site that won, or "".
func winningSite(d record.DecisionRecord) string {
	if d.Winner == nil {
		return ""
	}
	return siteOfFact(d, record.Fact{Subject: *d.Winner})
}

// endsJob reports whether a decision ended its job, which no site was to run: it is not
// called again.
func endsJob(d record.DecisionRecord) bool {
	return d.Winner == nil && !slices.ContainsFunc(d.Facts, func(f record.Fact) bool { return f.Subject == "decision" && f.Metric == "until" })
}

func mustEncodeSchema(v any) json.RawMessage {
	s, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps and strings always marshal
	}
	return s
}
