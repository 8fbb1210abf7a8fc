package narrate

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// shortSiteName shortens a site's name for a table.
func shortSiteName(name string) string { return format.TruncateText(format.CleanText(name), 24) }

// A tableRow is one site in a table, with cells or a remark instead.
type tableRow struct {
	mark, site string
	cells      []string
	remark     string
}

// ShownOption returns the option by which a site is shown in a table or a chart: the awarded one,
// else its cheapest, which is its first; false if it has none that counts.
func ShownOption(h history.JobRound, a history.Answer) (p history.PricedOption, won, ok bool) {
	if d := h.Decision; d.Kind == "award" && d.Site == a.Site {
		return d.Option, true, true
	}
	if len(a.Options) == 0 || a.Late {
		return p, false, false
	}
	return a.Options[0], false, true
}

// missingBidRemark returns why a site has no figures.
func missingBidRemark(h history.JobRound, a history.Answer) string {
	switch {
	case a.Message == history.MessageRef{}:
		return "did not answer by " + tableTime(h.Closes)
	case a.Late:
		return "answered too late, at " + tableTime(a.Message.At)
	}
	return "no offer: " + ReasonWithNote(a.Why)
}

// A CostCause is one term of an option's cost.
type CostCause struct {
	Key   string // in a fact's name: "late"
	Label string // "lateness"
	Of    func(protocol.CostBreakdown) protocol.Microdollars

	InWords string // in a sentence: "keeping a node awake"

	head string // above a column
}

// CostCauses returns all terms of a cost, in the order in which tables and charts show them.
func CostCauses() []CostCause {
	return []CostCause{
		{"energy", "energy", func(t protocol.CostBreakdown) protocol.Microdollars { return t.Money }, "energy", "energy"},
		{"carbon", "carbon", func(t protocol.CostBreakdown) protocol.Microdollars { return t.Carbon }, "carbon", "carbon"},
		{"awake", "awake", func(t protocol.CostBreakdown) protocol.Microdollars { return t.NodeIdle }, "keeping a node awake", "awake"},
		{"transfer", "transfer", func(t protocol.CostBreakdown) protocol.Microdollars { return t.Transfer }, "moving its input", "transfer"},
		{"fragment", "fragments", func(t protocol.CostBreakdown) protocol.Microdollars { return t.Fragmentation }, "fragments", "frag."},
		{"delay", "delay", func(t protocol.CostBreakdown) protocol.Microdollars { return t.Delay }, "delay", "delay"},
		{"late", "lateness", func(t protocol.CostBreakdown) protocol.Microdollars { return t.Late }, "lateness", "late"},
		{"tariff", "tariff", func(t protocol.CostBreakdown) protocol.Microdollars { return t.Tariff }, "the site's tariff", "tariff"},
	}
}

// writeCostTable writes each site's option term by term and marks the winner. Columns with
// zeros only are left out.
func writeCostTable(out *bufio.Writer, h history.JobRound) {
	// A first pass over the offers finds the columns that are not zero everywhere.
	var offers []history.PricedOption
	for _, a := range h.Answers {
		if p, _, ok := ShownOption(h, a); ok {
			offers = append(offers, p)
		}
	}
	// The first two columns are always there; columns has one entry for each after them.
	head, columns := []string{"total", "more"}, []func(history.PricedOption) protocol.Microdollars(nil)
	add := func(name string, of func(history.PricedOption) protocol.Microdollars) {
		if slices.ContainsFunc(offers, func(p history.PricedOption) bool { return of(p) != 0 }) {
			head, columns = append(head, name), append(columns, of)
		}
	}
	for _, c := range CostCauses() {
		add(c.head, func(p history.PricedOption) protocol.Microdollars { return c.Of(p.Terms) })
	}
	add("(room)", func(p history.PricedOption) protocol.Microdollars { return p.Room })
	format.WrapText(out, costsTitle(h, head))
	fmt.Fprintln(out)
	base, named := referenceCost(h)
	var rows []tableRow
	for _, a := range h.Answers {
		p, won, ok := ShownOption(h, a)
		line := tableRow{site: a.Site, mark: marks[won]}
		if !ok {
			line.remark = missingBidRemark(h, a)
			rows = append(rows, line)
			continue
		}
		more := ""
		if named && !won {
			more = signedAmount(p.Terms.Total() - base)
		}
		line.cells = []string{format.FormatAmount(p.Terms.Total()), more}
		for _, of := range columns {
			line.cells = append(line.cells, format.FormatAmount(of(p)))
		}
		rows = append(rows, line)
	}
	writeTable(out, head, rows)
}

// costsTitle introduces the table of costs.
func costsTitle(h history.JobRound, head []string) string {
	s := fmt.Sprintf("What each site's best offer costs, in dollars; carbon counts %s per tonne. Terms that are zero everywhere are left out.", carbonPricePerTonne(h.Weights))
	if slices.Contains(head, "lateness") {
		s += fmt.Sprintf(" Lateness counts %s per GPU-hour here, and a quarter of an hour at least, whatever its owner is charged, so that deadlines are kept first.", format.FormatDollars(h.Weights.ForRanking().Late))
	}
	if head[len(head)-1] == "(room)" {
		s += " Room is not in the total: it is what the GPU-hours are worth to other jobs, by the prices that the round was called with."
	}
	return s
}

// marks are the signs of rows: of the winner's, and of others.
var marks = map[bool]string{true: ">"}

// referenceCost returns the cost with which others are compared: that of the award, else
// of the cheapest option.
func referenceCost(h history.JobRound) (protocol.Microdollars, bool) {
	if h.Decision.Kind == "award" {
		return h.Decision.Option.Terms.Total(), true
	}
	return h.Summary.Best, h.Summary.Options > 0
}

// writeTermsTable writes the properties of those options.
func writeTermsTable(out *bufio.Writer, h history.JobRound) {
	var rows []tableRow
	for _, a := range h.Answers {
		p, won, ok := ShownOption(h, a)
		if !ok {
			continue
		}
		line := tableRow{site: a.Site, mark: marks[won]}
		line.cells = []string{
			tableTime(p.Start), tableTime(p.Finish), cmp.Or(format.CleanText(p.Model), "no GPU"), wattsText(p.Cap), format.FormatKWh(p.Energy), format.FormatKilograms(p.Carbon),
			format.CountWithNoun(len(a.Options), "option", "options"),
		}
		rows = append(rows, line)
	}
	if len(rows) == 0 {
		fmt.Fprintln(out, "No site made an offer that counts.")
		return
	}
	fmt.Fprint(out, "What those offers are; times are UTC.\n\n")
	writeTable(out, []string{"start", "finish", "GPU", "cap", "kWh", "kg CO2e", "of"}, rows)
}

// writeTable writes rows with right-aligned cells under their heads.
func writeTable(out *bufio.Writer, head []string, rows []tableRow) {
	// Widths count characters, not bytes. A table of remarks alone has no head.
	site, figures := len("site"), false
	wide := make([]int, len(head))
	for i, h := range head {
		wide[i] = utf8.RuneCountInString(h)
	}
	for _, r := range rows {
		site = max(site, utf8.RuneCountInString(shortSiteName(r.site)))
		figures = figures || len(r.cells) > 0
		for i, c := range r.cells {
			wide[i] = max(wide[i], utf8.RuneCountInString(c))
		}
	}
	write := func(mark, name string, cells []string, remark string) {
		line := fmt.Sprintf("%1s %-*s", mark, site, shortSiteName(name))
		for i, c := range cells {
			line += fmt.Sprintf("  %*s", wide[i], c)
		}
		if remark != "" {
			line = format.TruncateText(line+"  "+remark, 100)
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
	if figures {
		write("", "site", head, "")
	}
	for _, r := range rows {
		write(r.mark, r.site, r.cells, r.remark)
	}
}

// signedAmount formats a difference with its sign.
func signedAmount(m protocol.Microdollars) string {
	if s := format.FormatAmount(m); m > 0 && s != "0" {
		return "+" + s
	}
	return format.FormatAmount(m)
}

// carbonPricePerTonne formats the weight of carbon, in microdollars per kilogram, as dollars per
// tonne with cents.
func carbonPricePerTonne(w protocol.Weights) string {
	return fmt.Sprintf("$%d.%02d", int64(w.Carbon)/1000, int64(w.Carbon)%1000/10)
}

// wattsText formats a power cap; without one it is "none".
func wattsText(p protocol.Milliwatts) string {
	if p == 0 {
		return "none"
	}
	return strconv.FormatInt(int64(p+500)/1000, 10) + " W"
}

// tableTime formats an instant for a table: "13 Apr 12:05:07".
func tableTime(t protocol.Time) string { return t.StdTime().Format("02 Jan 15:04:05") }

// sentenceTime formats an instant for a sentence, without seconds.
func sentenceTime(t protocol.Time) string { return format.FormatInstant(t.Floor(time.Minute)) }
