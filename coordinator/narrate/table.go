package narrate

import (
	"bufio"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gridbid/gridbid/coordinator/record"
	"github.com/gridbid/gridbid/protocol"
)

// short returns a site's name as a table has room for it.
func short(name string) string { return cut(clean(name), 24) }

// A row is one site in a table: cells, or a remark in place of them.
type row struct {
	mark, site string
	cells      []string
	remark     string
}

// shown returns what a site's row shows: the option that was awarded, or else
// its cheapest; false if it has none that counts.
func shown(h record.Hearing, a record.Answer) (p record.Priced, won, ok bool) {
	if d := h.Decision; d.Kind == "award" && d.Site == a.Site {
		return record.Priced{Option: d.Option, Terms: d.Terms}, true, true
	}
	if len(a.Options) == 0 || a.Late {
		return p, false, false
	}
	return a.Options[0], false, true
}

// remark says why a site has no figures.
func remark(h record.Hearing, a record.Answer) string {
	switch {
	case a.Said == record.Origin{}:
		return "did not answer by " + stamp(h.Closes)
	case a.Late:
		return "answered too late, at " + stamp(a.Said.At)
	}
	return "no offer: " + because(a.Why)
}

// costs tells each site's offer term by term, the winner marked.
func costs(out *bufio.Writer, h record.Hearing) {
	fmt.Fprintf(out, "What each site's best offer costs, in dollars; carbon counts %s per tonne.\n\n", perTonne(h.Weights))
	base, named := reference(h)
	head := []string{"total", "more", "energy", "carbon", "transfer", "fragments", "delay", "lateness"}
	var rows []row
	for _, a := range h.Answers {
		p, won, ok := shown(h, a)
		line := row{site: a.Site}
		if won {
			line.mark = ">"
		}
		if !ok {
			line.remark = remark(h, a)
			rows = append(rows, line)
			continue
		}
		t := p.Terms
		more := ""
		if named && !won {
			more = signed(t.Total() - base)
		}
		line.cells = []string{
			amount(t.Total()), more, amount(t.Money), amount(t.Carbon),
			amount(t.Transfer), amount(t.Fragment), amount(t.Delay), amount(t.Late),
		}
		rows = append(rows, line)
	}
	table(out, head, rows)
}

// reference returns the total that others are compared with: the award's, or
// else the cheapest offer's.
func reference(h record.Hearing) (protocol.Microdollars, bool) {
	if h.Decision.Kind == "award" {
		return h.Decision.Terms.Total(), true
	}
	return h.Line.Best, h.Line.Options > 0
}

// terms tells what those offers are.
func terms(out *bufio.Writer, h record.Hearing) {
	var rows []row
	for _, a := range h.Answers {
		p, won, ok := shown(h, a)
		if !ok {
			continue
		}
		line := row{site: a.Site}
		if won {
			line.mark = ">"
		}
		model := clean(p.Model)
		if model == "" {
			model = "no GPU"
		}
		line.cells = []string{
			stamp(p.Start), stamp(p.Finish), model, watts(p.Cap), kWh(p.Energy), kg(p.Carbon),
			count(len(a.Options), "option", "options"),
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
			line = cut(line+"  "+remark, 100)
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
	if s := amount(m); m > 0 && s != "0" {
		return "+" + s
	}
	return amount(m)
}

// perTonne returns the price of carbon as people know it.
func perTonne(w protocol.Weights) string {
	return fmt.Sprintf("$%d.%02d", int64(w.Carbon)/1000, int64(w.Carbon)%1000/10)
}
