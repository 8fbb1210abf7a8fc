package ask

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/protocol"
)

// A Query is a question in the form that package query evaluates. Which fields count depends
// on Ask; [Query.String] words it.
type Query struct {
	Ask      string         `json:"ask"` // "why", "why-not", "bill", ...: docs/ask.md lists them
	Job      protocol.JobID `json:"job,omitempty"`
	Decision uint64         `json:"decision,omitempty"` // instead of the job's last
	Site     string         `json:"site,omitempty"`
	Other    string         `json:"other,omitempty"` // a second site
	Tenant   string         `json:"tenant,omitempty"`
	Policies []string       `json:"policies,omitempty"`
	Metric   string         `json:"metric,omitempty"` // "carbon", "energy", "cost", "wait"; "" is all
	By       string         `json:"by,omitempty"`     // "site", "tenant", "job", "hour"
	Pick     string         `json:"pick,omitempty"`   // "most", "least", "mean", "p95", "median", "count"
	Number   int64          `json:"number,omitempty"` // of GPUs, of rows, or dollars per tonne
	Long     time.Duration  `json:"long_ns,omitempty"`
	Within   time.Duration  `json:"within_ns,omitempty"`
	At       protocol.Time  `json:"at,omitempty"` // zero: the end of the record
	From     protocol.Time  `json:"from,omitempty"`
	To       protocol.Time  `json:"to,omitempty"` // zero with From: the whole record
}

// targetWords names what a query is about: a decision or a job.
func (q Query) targetWords() string {
	if q.Decision != 0 {
		return record.DecisionID(q.Decision)
	}
	return `job ` + QuoteName(string(q.Job))
}

// String returns the query as a question that is read as the same query.
func (q Query) String() string {
	form := english.questions[q.Ask]
	var b strings.Builder
	b.WriteString(strings.NewReplacer(
		"{target}", q.targetWords(), "{site}", QuoteName(q.Site), "{other}", QuoteName(q.Other), "{tenant}", QuoteName(q.Tenant),
		"{number}", fmt.Sprint(q.Number), "{long}", minuteWords(q.Long), "{ahead}", q.aheadWords(), "{and}", q.otherSiteWords(), "{metric}", q.Metric, "{pick}", cmp.Or(q.Pick, "average"), "{bill}", cmp.Or(q.Metric, "bill"),
	).Replace(form.text))
	for _, part := range strings.Fields(form.parts) {
		b.WriteString(q.optionalWords(part))
	}
	return normalizeSpaces(b.String())
}

// normalizeSpaces puts one space between words. What is in quotes stays as it is: two names
// may differ in their spaces alone.
func normalizeSpaces(s string) string {
	var b strings.Builder
	gap := false
	for i := 0; i < len(s); {
		n := 1
		if s[i] == '"' {
			if _, long, ok := readQuoted(s[i:]); ok {
				n = long
			}
		}
		if s[i] == ' ' {
			gap = b.Len() > 0
		} else {
			if gap {
				b.WriteByte(' ')
			}
			gap = false
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// aheadWords words how many hours ahead the query covers, if it has no window.
func (q Query) aheadWords() string {
	if q.Within == 0 {
		return ""
	}
	return " in the next " + minuteWords(q.Within)
}

// otherSiteWords words the second site of the query, "" without one.
func (q Query) otherSiteWords() string {
	if q.Other == "" {
		return ""
	}
	return " and site " + QuoteName(q.Other)
}

// optionalWords returns an optional part of a question, or "".
func (q Query) optionalWords(name string) string {
	switch {
	case name == "site" && q.Site != "":
		return " at site " + QuoteName(q.Site)
	case name == "tenant" && q.Tenant != "":
		return " of tenant " + QuoteName(q.Tenant)
	case name == "job" && (q.Job != "" || q.Decision != 0):
		return " of " + q.targetWords()
	case name == "by" && q.By != "":
		return " by " + q.By
	case name == "pick" && q.Pick != "":
		return " " + q.Pick
	case name == "number" && q.Number != 0:
		return fmt.Sprintf(" %d", q.Number)
	case name == "policies" && len(q.Policies) > 0:
		var all []string
		for _, p := range q.Policies {
			all = append(all, QuoteName(p))
		}
		return " policy " + strings.Join(all, " policy ")
	case name == "time" && q.To != 0:
		return " from " + q.From.String() + " to " + q.To.String()
	case name == "time" && q.At != 0:
		return " at " + q.At.String()
	}
	return ""
}

// QuoteName returns a name as a question may hold it: bare if it is one plain word.
func QuoteName(name string) string {
	plain := name != "" && len(english.phrases[strings.ToLower(name)]) == 0
	for _, c := range name {
		plain = plain && (c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c)) || c == '-' || c == '_')
	}
	if plain {
		return name
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}

// minuteWords words a duration in whole minutes, the precision that Check requires.
func minuteWords(d time.Duration) string {
	return fmt.Sprintf("%d minutes", d/time.Minute)
}
