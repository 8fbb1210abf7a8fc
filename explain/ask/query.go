package ask

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/protocol"
)

// A Query is a question in the form that package query evaluates. Which fields count depends
// on Ask; [Query.String] words it. A tag lists the places of a field: slots of the words of a question, and optional parts
// after them. "subject" marks a field that names the subject or the time, and not the quantity;
// "operator" one that is read from the words of an operator.
type Query struct {
	Ask      string         `json:"ask"` // "why", "why-not", "bill", ...: docs/ask.md lists them
	Job      protocol.JobID `json:"job,omitempty" ask:"subject {target} job"`
	Decision uint64         `json:"decision,omitempty" ask:"subject {target} job"` // instead of the job's last
	Site     string         `json:"site,omitempty" ask:"subject {site} site"`
	Other    string         `json:"other,omitempty" ask:"{other} {and}"` // a second site
	Tenant   string         `json:"tenant,omitempty" ask:"subject tenant"`
	Policies []string       `json:"policies,omitempty" ask:"subject policies"`
	Metric   string         `json:"metric,omitempty" ask:"{metric} {bill} {measure} metric"` // "carbon", "energy", "cost", "wait"; "" is all
	By       string         `json:"by,omitempty" ask:"operator {measure} by"`                // "site", "tenant", "job", "hour"
	Pick     string         `json:"pick,omitempty" ask:"operator {pick} {measure} pick"`     // "most", "least", "share", "mean", "p95", "median", "count"
	Then     string         `json:"then,omitempty" ask:"operator {measure} then"`            // a second split, as By
	Per      string         `json:"per,omitempty" ask:"operator {measure} per"`              // "job", "gpu-hour", "kwh", "dollar": a sum is divided by these

	ExceptSites   []string `json:"except_sites,omitempty" ask:"subject operator except"` // left out; sorted
	ExceptTenants []string `json:"except_tenants,omitempty" ask:"subject operator except"`
	Against       string   `json:"against,omitempty" ask:"subject operator against"` // a site, tenant or job to compare with the one of Site, Tenant or Job
	Bounded       string   `json:"bounded,omitempty" ask:"subject operator bounded"` // the quantity of each job that Bound is of; "": of what is listed
	Bound         string   `json:"bound,omitempty" ask:"subject operator bound"`     // "more", "less", "at-least", "at-most"
	Amount        string   `json:"amount,omitempty" ask:"subject operator bound"`    // than which: "2 h", "10 kWh"; see [ParseAmount]
	Size          string   `json:"size,omitempty" ask:"subject operator size"`       // a bound of the GPUs of each job beside another bound: "exactly 8 GPUs"
	State         string   `json:"state,omitempty" ask:"subject operator state"`     // of jobs: "running", "done", ...
	Model         string   `json:"model,omitempty" ask:"subject operator model"`     // of GPUs
	Where         []string `json:"where,omitempty" ask:"subject operator {measure}"` // what each job has to be; sorted
	Event         string   `json:"event,omitempty" ask:"operator {measure}"`         // that the time is of: "arrived", "started", "ended", "ran" of jobs; decisions on them: "awards", "holds", ...
	Statistic     string   `json:"statistic,omitempty" ask:"operator {measure}"`     // of Metric: "mean", "median", "p95", "total"
	Home          string   `json:"home,omitempty" ask:"subject operator home"`       // of jobs: the site that they name as theirs
	Only          string   `json:"only,omitempty" ask:"subject operator only"`       // "idle": of a sum, the idle draw of sites alone
	Term          string   `json:"term,omitempty" ask:"subject {term}"`              // of docs/glossary.md

	Number int64         `json:"number,omitempty" ask:"{number} {measure} number"` // of GPUs, of rows, or dollars per tonne
	Long   time.Duration `json:"long_ns,omitempty" ask:"{long}"`
	Within time.Duration `json:"within_ns,omitempty" ask:"{ahead}"`
	At     protocol.Time `json:"at,omitempty" ask:"subject time"` // zero: the end of the record
	From   protocol.Time `json:"from,omitempty" ask:"subject time"`
	To     protocol.Time `json:"to,omitempty" ask:"subject time"` // zero with From: the whole record
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
		"{number}", fmt.Sprint(q.Number), "{long}", minuteWords(q.Long), "{ahead}", wordsIf(q.Within != 0, " in the next ", minuteWords(q.Within)), "{and}", wordsIf(q.Other != "", " and site ", QuoteName(q.Other)),
		"{metric}", q.Metric, "{pick}", cmp.Or(q.Pick, "average"), "{bill}", cmp.Or(q.Metric, "bill"), "{term}", QuoteName(q.Term), "{measure}", q.measureWords(),
	).Replace(form.text))
	for _, part := range strings.Fields(form.parts) {
		b.WriteString(q.optionalWords(part))
	}
	return normalizeSpaces(b.String())
}

// wordsIf joins words if they are to be said, and returns "" otherwise.
func wordsIf(said bool, words ...string) string {
	if !said {
		return ""
	}
	return strings.Join(words, "")
}

var severalSpaces = regexp.MustCompile(` +`)

// normalizeSpaces puts one space between words. What is in quotes stays as it is: two names
// may differ in their spaces alone.
func normalizeSpaces(s string) string {
	return strings.Trim(replaceOutsideQuotes(s, func(s string) string { return severalSpaces.ReplaceAllString(s, " ") }), " ")
}

// optionalWords returns an optional part of a question, or "".
func (q Query) optionalWords(name string) string {
	other := "tenant "
	switch {
	case q.Site != "":
		other = "site "
	case q.Job != "":
		other = "job "
	}
	return map[string]string{
		"site":     wordsIf(q.Site != "", " at site ", QuoteName(q.Site)),
		"tenant":   wordsIf(q.Tenant != "", " of tenant ", QuoteName(q.Tenant)),
		"job":      wordsIf(q.Job != "" || q.Decision != 0, " of ", q.targetWords()),
		"by":       wordsIf(q.By != "", " by ", q.By),
		"then":     wordsIf(q.Then != "", " by ", q.Then),
		"per":      wordsIf(q.Per != "", " per ", q.Per),
		"home":     wordsIf(q.Home != "", " with home ", QuoteName(q.Home)),
		"only":     wordsIf(q.Only == "idle", " of idle draw") + wordsIf(q.Only == "jobs", " of jobs alone"),
		"size":     wordsIf(q.Size != "", " with gpus ", boundName(q.sizeBound().Bound), " ", q.sizeBound().Amount),
		"state":    wordsIf(q.State != "", " in state ", q.State),
		"model":    wordsIf(q.Model != "", " of model ", QuoteName(q.Model)),
		"metric":   " " + q.Metric,
		"bound":    wordsIf(q.Bound != "", q.boundWords()),
		"except":   exceptWords("site", q.ExceptSites) + exceptWords("tenant", q.ExceptTenants),
		"against":  wordsIf(q.Against != "", " against ", other, QuoteName(q.Against)),
		"pick":     " " + q.Pick,
		"number":   wordsIf(q.Number != 0, " ", fmt.Sprint(q.Number)),
		"policies": joinNamed(q.Policies, " policy ", " policy "),
		"time":     wordsIf(q.To != 0, " from ", q.From.String(), " to ", q.To.String()) + wordsIf(q.To == 0 && q.At != 0, " at ", q.At.String()),
	}[name]
}

// exceptWords words the sites or tenants that are left out.
func exceptWords(kind string, names []string) string {
	return joinNamed(names, " except "+kind+" ", " and "+kind+" ")
}

// joinNamed joins names, with words before the first and before each other one.
func joinNamed(names []string, first, others string) (words string) {
	for i, n := range names {
		words += wordsIf(i == 0, first) + wordsIf(i > 0, others) + QuoteName(n)
	}
	return words
}

// boundWords words a bound: "of jobs with wait more than 2 h", "at least 8 GPUs". A bound of each
// job is read only beside jobs, so it names them where the question does not.
func (q Query) boundWords() string {
	words := wordsIf(q.Bounded != "" && !strings.Contains(english.questions[q.Ask].text, "jobs"), " of jobs")
	if q.Bounded != "" {
		words += " with " + strings.Replace(q.Bounded, "late", "lateness", 1)
	}
	return words + " " + q.BoundName() + " " + q.Amount
}

// BoundName words the direction of a bound: "more than", "at least".
func (q Query) BoundName() string { return boundName(q.Bound) }

func boundName(bound string) string {
	if bound == "more" || bound == "less" {
		return bound + " than"
	}
	return strings.ReplaceAll(bound, "-", " ")
}

// sizeBound returns the bound of Size as one that a query has alone.
func (q Query) sizeBound() Query {
	bound, amount, _ := strings.Cut(q.Size, " ")
	return Query{Bounded: "gpus", Bound: bound, Amount: amount}
}

// Bounds returns each bound of jobs of a query as that of a query that has it alone.
func (q Query) Bounds() (all []Query) {
	if q.Bounded != "" {
		all = append(all, Query{Ask: q.Ask, At: q.At, Bounded: q.Bounded, Bound: q.Bound, Amount: q.Amount})
	}
	if q.Size != "" {
		all = append(all, q.sizeBound())
	}
	return all
}

// setJobBound sets a bound of each job; of two, one is of their GPUs.
func (q *Query) setJobBound(quantity, bound, amount string) bool {
	switch {
	case q.Bound == "":
	case q.Size != "" || (q.Bounded == "gpus") == (quantity == "gpus"):
		return false
	case quantity == "gpus":
		q.Size = bound + " " + amount
		return true
	default:
		q.Size = q.Bound + " " + q.Amount
	}
	q.Bounded, q.Bound, q.Amount = quantity, bound, amount
	return true
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
