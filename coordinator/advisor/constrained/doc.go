// Package constrained limits what a language model may write about a decision record,
// and checks it.
//
// There are two levels above the template of package narrate. At [SelectionRequest] a model
// chooses and orders prepared sentences and adds no word. At [ProseRequest] it writes
// sentences from a closed vocabulary, in which every figure and reason is a reference
// to a fact, {{F3}} or {{R1}}; code inserts the facts. A reply that breaks a rule is
// rejected as a whole, and the caller falls back.
//
// A record contains tenants' texts in two fields only, and no request includes those.
package constrained

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/explain/record"
)

// A ModelRequest is a prompt for a model. Schema is the JSON Schema of the reply.
type ModelRequest struct {
	System, User, Name string
	Schema             json.RawMessage
}

// Limits of a narration; its schema has the same.
const (
	maxSentences     = 5
	maxSentenceRunes = 240
	maxReplyBytes    = 8 << 10
)

// siteOfFact returns the site that a fact is about, or "".
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

// endsJob reports whether a decision ended its job without a site: it will not be called
// for bids again.
func endsJob(d record.DecisionRecord) bool {
	return d.Winner == nil && !slices.ContainsFunc(d.Facts, func(f record.Fact) bool { return f.Subject == "decision" && f.Metric == "until" })
}

// sentencesSchema returns the JSON Schema of a reply of one to maxSentences sentences.
func sentencesSchema(items map[string]any) json.RawMessage {
	s, err := json.Marshal(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"sentences"},
		"properties": map[string]any{"sentences": map[string]any{"type": "array", "minItems": 1, "maxItems": maxSentences, "items": items}},
	})
	if err != nil {
		panic(err) // maps and strings can always be marshalled
	}
	return s
}

// decodeSentences reads a reply by that schema, with nothing after it.
func decodeSentences[S any](reply string) ([]S, error) {
	if len(reply) > maxReplyBytes {
		return nil, fmt.Errorf("constrained: reply of %d bytes: the limit is %d", len(reply), maxReplyBytes)
	}
	var said struct {
		Sentences []S `json:"sentences"`
	}
	d := json.NewDecoder(strings.NewReader(reply))
	d.DisallowUnknownFields()
	if err := d.Decode(&said); err != nil {
		return nil, errors.New("constrained: the reply does not match the schema")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("constrained: the reply continues after its object")
	}
	if n := len(said.Sentences); n == 0 || n > maxSentences {
		return nil, fmt.Errorf("constrained: %d sentences: want 1 to %d", n, maxSentences)
	}
	return said.Sentences, nil
}
