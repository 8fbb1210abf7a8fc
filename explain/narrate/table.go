package narrate

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// short returns a site's name as a table has room for it.
func short(name string) string { return format.Cut(format.Clean(name), 24) }

// A row is one site in a table: cells, or a remark in place of them.
type row struct {
	mark, site string
	cells      []string
	remark     string
}

// shown returns what a site's row shows: the option that was awarded, or else
// its cheapest; false if it has none that counts.
func shown(h history.Hearing, a history.Answer) (p history.Priced, won, ok bool) {
	if d := h.Decision; d.Kind == "award" && d.Site == a.Site {
		return d.Option, true, true
	}
	if len(a.Options) == 0 || a.Late {
		return p, false, false
	}
	return a.Options[0], false, true
}

// remark says why a site has no figures.
func remark(h history.Hearing, a history.Answer) string {
	switch {
	case a.Said == history.Origin{}:
		return "did not answer by " + stamp(h.Closes)
	case a.Late:
		return "answered too late, at " + stamp(a.Said.At)
	}
	return "no offer: " + Because(a.Why)
}

// A Cause is one term of what an option costs.
type Cause struct {
	Key  string // in a fact: "late"
	Word string // "lateness"
	Of   func(protocol.Terms) protocol.Microdollars

	name, head string // in a sentence, above a column
}

// Causes returns all terms of a total.
func Causes() []Cause {
	return []Cause{
		{"energy", "energy", func(t protocol.Terms) protocol.Microdollars { return t.Money }, "energy", "energy"},
		{"carbon", "carbon", func(t protocol.Terms) protocol.Microdollars { return t.Carbon }, "carbon", "carbon"},
		{"awake", "awake", func(t protocol.Terms) protocol.Microdollars { return t.Awake }, "keeping a node awake", "awake"},
		{"transfer", "transfer", func(t protocol.Terms) protocol.Microdollars { return t.Transfer }, "moving its input", "transfer"},
		{"fragment", "fragments", func(t protocol.Terms) protocol.Microdollars { return t.Fragment }, "fragments", "frag."},
		{"delay", "delay", func(t protocol.Terms) protocol.Microdollars { return t.Delay }, "delay", "delay"},
		{"late", "lateness", func(t protocol.Terms) protocol.Microdollars { return t.Late }, "lateness", "late"},
	}
}

// costs tells each site's offer term by term, the winner marked. Columns that
// would hold nothing but zeros are left out.
func costs(out *bufio.Writer, h history.Hearing) {
	var offers []history.Priced
	for _, a := range h.Answers {
		if p, _, ok := shown(h, a); ok {
			offers = append(offers, p)
		}
	}
	head, columns := []string{"total", "more"}, []func(history.Priced) protocol.Microdollars(nil)
	add := func(name string, of func(history.Priced) protocol.Microdollars) {
		if slices.ContainsFunc(offers, func(p history.Priced) bool { return of(p) != 0 }) {
			head, columns = append(head, name), append(columns, of)
		}
	}
	for _, c := range Causes() {
		add(c.head, func(p history.Priced) protocol.Microdollars { return c.Of(p.Terms) })
	}
	add("(room)", func(p history.Priced) protocol.Microdollars { return p.Room })
	format.Wrap(out, costsTitle(h, head))
	fmt.Fprintln(out)
	base, named := reference(h)
	var rows []row
	for _, a := range h.Answers {
		p, won, ok := shown(h, a)
		line := row{site: a.Site, mark: mark(won)}
		if !ok {
			line.remark = remark(h, a)
			rows = append(rows, line)
			continue
		}
		more := ""
		if named && !won {
			more = signed(p.Terms.Total() - base)
		}
		line.cells = []string{format.Amount(p.Terms.Total()), more}
		for _, of := range columns {
			line.cells = append(line.cells, format.Amount(of(p)))
		}
		rows = append(rows, line)
	}
	table(out, head, rows)
}

func costsTitle(h history.Hearing, head []string) string {
	s := fmt.Sprintf("What each site's best offer costs, in dollars; carbon counts %s per tonne. Terms that are zero everywhere are left out.", perTonne(h.Weights))
	if head[len(head)-1] == "(room)" {
		s += " Room is not in the total: it is what the GPU-hours are worth to other jobs, by the prices that the round was called with."
	}
	return s
}

func mark(won bool) string {
	if won {
		return ">"
	}
	return ""
}

// reference returns the total that others are compared with: the award's, or
// else the cheapest offer's.
func reference(h history.Hearing) (protocol.Microdollars, bool) {
	if h.Decision.Kind == "award" {
		return h.Decision.Option.Terms.Total(), true
	}
	return h.Line.Best, h.Line.Options > 0
}

// terms tells what those offers are.
func terms(out *bufio.Writer, h history.Hearing) {
	var rows []row
	for _, a := range h.Answers {
		p, won, ok := shown(h, a)
		if !ok {
			continue
		}
		line := row{site: a.Site, mark: mark(won)}
		model := format.Clean(p.Model)
		if model == "" {
			model = "no GPU"
		}
		line.cells = []string{
			stamp(p.Start), stamp(p.Finish), model, watts(p.Cap), format.KWh(p.Energy), format.Kg(p.Carbon),
			format.Count(len(a.Options), "option", "options"),
		}
		rows = append(rows, line)
	}
	if len(rows) == 0 {
		fmt.Fprintln(out, "No site made an offer that counts.")
		return
	}
	fmt.Fprint(out, "What those offers are; times are UTC.\n\n")
	table(out, []string{"start", "finish", "GPU", "cap", "kWh", "kg CO2e", "of"}, rows)
}

// table writes rows with right-aligned cells under their heads.
func table(out *bufio.Writer, head []string, rows []row) {
	site, figures := len("site"), false
	wide := make([]int, len(head))
	for i, h := range head {
		wide[i] = utf8.RuneCountInString(h)
	}
	for _, r := range rows {
		site = max(site, utf8.RuneCountInString(short(r.site)))
		figures = figures || len(r.cells) > 0
		for i, c := range r.cells {
			wide[i] = max(wide[i], utf8.RuneCountInString(c))
		}
	}
	write := func(mark, name string, cells []string, remark string) {
		line := fmt.Sprintf("%1s %-*s", mark, site, short(name))
		for i, c := range cells {
			line += fmt.Sprintf("  %*s", wide[i], c)
		}
		if remark != "" {
			line = format.Cut(line+"  "+remark, 100)
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

func signed(m protocol.Microdollars) string {
	if s := format.Amount(m); m > 0 && s != "0" {
		return "+" + s
	}
	return format.Amount(m)
}

// perTonne returns the price of carbon as people know it.
func perTonne(w protocol.Weights) string {
	return fmt.Sprintf("$%d.%02d", int64(w.Carbon)/1000, int64(w.Carbon)%1000/10)
}
