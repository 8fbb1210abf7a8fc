package main

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
)

// quoteFiles prints what the jobs of files would cost now. It submits none of them.
func (f *apiFlags) quoteFiles(cmd *cobra.Command, files []string, id string) error {
	var all []api.Quote
	for _, file := range files {
		text, _, err := readJobFile(cmd, file)
		if err != nil {
			return err
		}
		path := "/v1/quotes"
		if id != "" {
			path += "?id=" + url.QueryEscape(id)
		}
		var q api.Quote
		if err := f.sendRequest(cmd.Context(), http.MethodPost, path, "application/yaml", text, &q); err != nil {
			return err
		}
		all = append(all, q)
	}
	if f.forPrograms() {
		if err := f.printView(cmd, quoteListing(all)); err != nil {
			return err
		}
	} else if err := f.printQuotes(cmd, all); err != nil {
		return err
	}
	for _, q := range all {
		if q.Verdict == "refuse" {
			return exitCode(exitFailed) // what was printed says why
		}
	}
	return nil
}

// printQuotes prints a table for each quote, and below it what the market would decide.
func (f *apiFlags) printQuotes(cmd *cobra.Command, all []api.Quote) error {
	for i := range all {
		if err := f.printView(cmd, quoteListing(all[i:i+1])); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n", format.CleanText(verdictText(all[i]))); err != nil {
			return err
		}
	}
	return nil
}

// A quoteRow is one start that a site offers, or why it offers none.
type quoteRow struct {
	job   protocol.JobID // of a job in parts: the part
	site  string
	which string // soonest, cheapest or both; chosen: neither, but what the market would take
	start *api.QuotedStart
	note  string
}

// quoteRows returns a row per start of interest that a site offers: its soonest, its cheapest,
// and that which the market would take; or why it offers none.
func quoteRows(job protocol.JobID, sites []api.SiteQuote, verdict string, takes *api.QuotedStart) (rows []quoteRow) {
	for _, s := range sites {
		add := func(which string, x *api.QuotedStart) {
			rows = append(rows, quoteRow{job, s.Site, which, x, startNote(verdict, takes, *x)})
		}
		switch {
		case s.Earliest == nil:
			rows = append(rows, quoteRow{job, s.Site, "none", nil, reasonInWords(s.Why, s.Note)})
		case *s.Earliest == *s.Cheapest:
			add("soonest and cheapest", s.Earliest)
		default:
			add("soonest", s.Earliest)
			add("cheapest", s.Cheapest)
		}
		if x := takes; x != nil && x.Site == s.Site && s.Earliest != nil && *x != *s.Earliest && *x != *s.Cheapest {
			add("chosen", x)
		}
	}
	return rows
}

// quoteListing returns the rows of quotes, those of a job in parts by part.
func quoteListing(all []api.Quote) printer.View {
	var rows []quoteRow
	inParts := false
	for _, q := range all {
		rows = append(rows, quoteRows(q.Job, q.Sites, q.Verdict, q.Takes)...)
		for _, p := range q.Parts {
			inParts = true
			rows = append(rows, quoteRows(p.Part, p.Sites, q.Verdict, p.Takes)...)
		}
	}
	// of returns a column of what is known of a start, nil where there is none.
	of := func(head, verb string, value func(*api.QuotedStart) any) printer.Column[quoteRow] {
		return printer.Column[quoteRow]{Head: head, Verb: verb, Value: func(r quoteRow) any {
			if r.start == nil {
				return nil
			}
			return value(r.start)
		}}
	}
	return printer.Listing[quoteRow]{Rows: rows, Data: all, Columns: []printer.Column[quoteRow]{
		{Head: "SITE", Value: func(r quoteRow) any { return r.site }},
		{Head: "JOB", Value: func(r quoteRow) any { return string(r.job) }, Wide: !inParts},
		{Head: "START", Value: func(r quoteRow) any { return r.which }},
		of("GPU", "", func(x *api.QuotedStart) any { return x.Model }),
		of("BEGINS", "", func(x *api.QuotedStart) any { return x.Start }),
		of("ENDS", "", func(x *api.QuotedStart) any { return x.Finish }),
		of("KWH", "%.3f", func(x *api.QuotedStart) any { return x.Energy }),
		of("KG CO2E", "%.3f", func(x *api.QuotedStart) any { return x.Carbon }),
		of("USD", "%.4f", func(x *api.QuotedStart) any { return x.Price }),
		{Head: "NOTE", Value: func(r quoteRow) any { return r.note }},
	}}
}

// startNote says that a start is late, and that the market would take or plan it.
func startNote(verdict string, takes *api.QuotedStart, x api.QuotedStart) string {
	note := ""
	if takes != nil && *takes == x {
		note = map[string]string{"award": "the market would take it", "wait": "the market would wait for it"}[verdict]
	}
	switch {
	case x.Late && note != "":
		return "ends after its deadline; " + note
	case x.Late:
		return "ends after its deadline"
	}
	return note
}

// verdictText says what the market would decide on a job.
func verdictText(q api.Quote) string {
	why := reasonInWords(q.Why, q.Note)
	switch x := q.Takes; {
	case len(q.Sites) == 0 && (len(q.Parts) == 0 || len(q.Parts[0].Sites) == 0):
		return "No site is registered: the job would wait."
	case q.Verdict == "award" && len(q.Parts) > 0:
		return partsAwardText(q)
	case q.Verdict == "award" && x != nil:
		return fmt.Sprintf("The market would award it to %s now, to begin at %s for $%.4f, or $%.4f with carbon and the rest of its objective: %s.", x.Site, timeOfDay(x.Start), x.Price, x.Cost, why)
	case q.Verdict == "wait" && x != nil:
		return fmt.Sprintf("The market would wait: it plans it for %s at %s, for $%.4f: %s.", timeOfDay(x.Start), x.Site, x.Price, why)
	case q.Verdict == "award":
		return "The market would award it now: " + why + "."
	case q.Verdict == "refuse":
		return "The market would refuse it: " + why + "."
	}
	return "The market would wait: " + why + "."
}

// partsAwardText says where the parts of a job would go, and what they would cost together.
func partsAwardText(q api.Quote) string {
	var where []string
	var price, cost, carbon float64
	for _, p := range q.Parts {
		if x := p.Takes; x != nil {
			where = append(where, fmt.Sprintf("%s to %s to begin at %s", p.Part, x.Site, timeOfDay(x.Start)))
			price, cost, carbon = price+x.Price, cost+x.Cost, carbon+x.Carbon
		}
	}
	text := fmt.Sprintf("The market would award all parts now, %s, for $%.4f and %.3f kg CO2e together, or $%.4f with carbon and the rest of its objective", format.JoinWithAnd(where), price, carbon, cost)
	if q.Note != "" {
		text += ": " + q.Note
	}
	return text + "."
}

// reasonInWords returns the words of a reason's code, with its note.
func reasonInWords(code, note string) string {
	return narrate.ReasonWithNote(protocol.Reason{Code: protocol.Code(code), Note: note})
}
