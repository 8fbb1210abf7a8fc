package constrained

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gridbid/gridbid/explain/record"
)

// A claim is one figure, number word or id in a text, and whether the record
// bears it out.
type claim struct {
	Text string
	OK   bool
	Why  string // what is wrong; "" if nothing
}

// claimsOf finds every figure of a free text and holds it to a record: an amount
// with its unit must be a fact, to the precision it is printed with, and of the
// site that was named last before it; an id must be one of the record; a number
// in words, or a direction ("less than"), must be borne out by facts too.
func claimsOf(d record.DecisionRecord, text string) (all []claim) {
	for _, s := range sentence.Split(text, -1) {
		all = append(all, claims(d, s)...)
	}
	return all
}

var (
	sentence = regexp.MustCompile(`[.!?](?:\s+|$)|\n`)
	instant  = regexp.MustCompile(`\b\d{1,2} [A-Z][a-z]{2} \d{2}:\d{2}(?::\d{2})?\b`)
	span     = regexp.MustCompile(`-?\b\d+ (?:d|h|min|s)\b(?: \d+ (?:h|min|s)\b)?`)
	amount   = regexp.MustCompile(`(?i)(-?)(\$|€)? ?(-?\d[\d,]*(?:\.\d+)?)\s?(kWh|MWh|Wh|kg|g|t|GPUs?|jobs?|options?|%)?`)
	ident    = regexp.MustCompile(`\b[A-Z]-\d+(?:-\d+)?\b`)
	counting = regexp.MustCompile(`(?i)\b(zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|half|third|quarter|twice|double|triple|thrice|\w+fold)\b`)
	less     = regexp.MustCompile(`(?i)\b(less|lower|fewer|cheaper|cleaner|below)\b`)
	more     = regexp.MustCompile(`(?i)\b(more|higher|dearer|dirtier|above)\b`)
)

// units are the units of facts, and what one of a printed unit is in them.
var units = map[string]struct {
	of  string
	per float64
}{
	"$": {"microdollars", 1e6}, "kwh": {"millijoules", 3.6e9}, "mwh": {"millijoules", 3.6e12}, "wh": {"millijoules", 3.6e6},
	"kg": {"milligrams", 1e6}, "g": {"milligrams", 1e3}, "t": {"milligrams", 1e9}, "gpu": {"thousandths", 1000}, "gpus": {"thousandths", 1000},
	"job": {"count", 1}, "jobs": {"count", 1}, "option": {"count", 1}, "options": {"count", 1}, "": {"count", 1},
}

func claims(d record.DecisionRecord, s string) (all []claim) {
	add := func(text, why string) { all = append(all, claim{strings.TrimSpace(text), why == "", why}) }
	for _, id := range ident.FindAllString(s, -1) {
		why := ""
		if id != d.ID && id != d.Job.ID && !slices.ContainsFunc(d.Bids, func(b record.Bid) bool { return b.ID == id }) {
			why = "no such id in the record"
		}
		add(id, why)
	}
	s = ident.ReplaceAllString(s, " ")
	marks := s // sites as marks without digits, where they stand
	names := sitesOfRecord(d)
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	for i, name := range names {
		marks = strings.ReplaceAll(marks, name, "\x00"+string(rune(0xE000+i))+"\x00")
	}
	near := func(at int) string {
		last := ""
		for i, name := range names {
			mark := string(rune(0xE000 + i))
			if k := strings.LastIndex(marks[:at], mark); k >= 0 && (last == "" || k > strings.LastIndex(marks[:at], string(rune(0xE000+slices.Index(names, last))))) {
				last = name
			}
		}
		return last
	}
	for _, exact := range []*regexp.Regexp{instant, span} {
		for _, at := range exact.FindAllStringIndex(marks, -1) {
			add(marks[at[0]:at[1]], bornOutExactly(d, marks[at[0]:at[1]], near(at[0])))
		}
		marks = exact.ReplaceAllStringFunc(marks, func(m string) string { return strings.Repeat(" ", len(m)) })
	}
	for _, m := range amount.FindAllStringSubmatchIndex(marks, -1) {
		group := func(k int) string {
			if m[2*k] < 0 {
				return ""
			}
			return marks[m[2*k]:m[2*k+1]]
		}
		add(marks[m[0]:m[1]], bornOut(d, group(1)+group(3), group(2)+group(4), near(m[0])))
	}
	for _, w := range counting.FindAllString(marks, -1) {
		add(w, "a number in words")
	}
	return append(all, direction(d, marks, names)...)
}

// bornOutExactly holds an instant or a length of time to the facts' own print.
func bornOutExactly(d record.DecisionRecord, text, site string) string {
	why := "no such time in the record"
	for _, f := range d.Facts {
		if strings.TrimSuffix(f.Text, " UTC") != text {
			continue
		}
		if of := siteOfFact(d, f); site == "" || of == "" || of == site {
			return ""
		}
		why = "it is of another site"
	}
	return why
}

// bornOut holds an amount to the facts.
func bornOut(d record.DecisionRecord, digits, unit, site string) string {
	u, ok := units[strings.ToLower(unit)]
	digits = strings.ReplaceAll(digits, ",", "")
	v, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil {
		return "no such unit in the record"
	}
	places := 0
	if i := strings.IndexByte(digits, '.'); i >= 0 {
		places = len(digits) - i - 1
	}
	tolerance := float64(0.5*math.Pow10(-places)*u.per) + 1e-6
	why := "no such figure in the record"
	for _, f := range d.Facts {
		n, is := f.Value.(int64)
		of, per, within := u.of, u.per, tolerance
		if unit == "" && f.Unit == "thousandths" { // GPUs may be printed without their unit
			of, per, within = f.Unit, 1000, 1000*tolerance
		}
		if !is || f.Unit != of || math.Abs(float64(n)-float64(v*per)) > within {
			continue
		}
		if of := siteOfFact(d, f); site == "" || of == "" || of == site || f.Metric == "cost-difference" {
			return ""
		}
		why = "it is of another site"
	}
	return why
}

// direction holds "A ... less ... than B" to the total cost, or the carbon or
// energy if the sentence names that, of the two sites' best bids.
func direction(d record.DecisionRecord, marks string, names []string) []claim {
	i := strings.Index(marks, " than ")
	if i < 0 {
		return nil
	}
	down, up := less.MatchString(marks[:i]), more.MatchString(marks[:i])
	a, b := last(marks[:i], names), first(marks[i:], names)
	if down == up || a == "" || b == "" {
		return nil
	}
	metric := "total-cost"
	for _, m := range []string{"carbon", "energy"} {
		if strings.Contains(strings.ToLower(marks), m) {
			metric = m
		}
	}
	va, okA := best(d, a, metric)
	vb, okB := best(d, b, metric)
	c := claim{Text: a + " than " + b, OK: true}
	if !okA || !okB || down && va >= vb || up && va <= vb {
		c.OK, c.Why = false, "the record does not say so"
	}
	return []claim{c}
}

func last(marks string, names []string) (name string) {
	at := -1
	for i, n := range names {
		if k := strings.LastIndex(marks, string(rune(0xE000+i))); k > at {
			at, name = k, n
		}
	}
	return name
}

func first(marks string, names []string) (name string) {
	at := len(marks)
	for i, n := range names {
		if k := strings.Index(marks, string(rune(0xE000+i))); k >= 0 && k < at {
			at, name = k, n
		}
	}
	return name
}

// best returns a metric of a site's winning bid, or else of its cheapest.
func best(d record.DecisionRecord, site, metric string) (v int64, ok bool) {
	var bid *record.Bid
	for i := range d.Bids {
		b := &d.Bids[i]
		if b.Site != site || b.Cost == nil {
			continue
		}
		if d.Winner != nil && b.ID == *d.Winner {
			bid = b
			break
		}
		if bid == nil || *b.Cost < *bid.Cost {
			bid = b
		}
	}
	if bid == nil {
		return 0, false
	}
	for _, f := range d.Facts {
		if n, is := f.Value.(int64); is && f.Subject == bid.ID && f.Metric == metric {
			return n, true
		}
	}
	return 0, false
}
