package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
)

// A serviceRow is a service as `gridbid services` shows it.
type serviceRow struct {
	Service   protocol.ServiceID    `json:"service"`
	Decision  uint64                `json:"decision"`
	At        protocol.Time         `json:"decided"` // 0: not divided yet
	Why       protocol.Code         `json:"why"`
	Wanted    int                   `json:"wanted"`
	Running   int                   `json:"running"`
	Pending   int                   `json:"pending"`
	Lack      string                `json:"lack,omitempty"`
	Deleted   bool                  `json:"deleted,omitempty"`
	Sites     []serviceSite         `json:"sites"`
	CostHour  protocol.Microdollars `json:"microdollars_per_hour,omitempty"`
	BoundHour protocol.Microdollars `json:"microdollars_per_hour_at_least,omitempty"`
}

// A serviceSite is the replicas of a service at one site.
type serviceSite struct {
	Site        string `json:"site"`
	Wanted      int    `json:"wanted"`
	Running     int    `json:"running"`
	WithoutNode int    `json:"without_node,omitempty"`
}

// newServicesCommand is `gridbid services`.
func newServicesCommand() *cobra.Command {
	var f ledgerSelector
	var o outputFlags
	var list listFlags
	cmd := &cobra.Command{
		Use:   "services",
		Short: "list the services of a run: how many replicas are where, and what is pending",
		Long: `List the long-running services of a run as they stood at its end, or at --at: how many
replicas are wanted, run and find no room, and how many each site is to hold.
"gridbid why SERVICE" says why; docs/services.md says what happens to services.`,
		Example: `  gridbid services
  gridbid services --at 2026-01-05T00:15:00Z -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := f.source()
			if err != nil {
				return fmt.Errorf("services: %w", err)
			}
			book := history.New(history.Config{NoBids: true})
			if err := from.readMessages(nil, cmd.ErrOrStderr(), func(m protocol.Message) error {
				book.AddMessage(m)
				return nil
			}); err != nil {
				return fmt.Errorf("services: %w", err)
			}
			v, err := selectRows(&list, serviceListing(serviceRows(book, cmp.Or(from.at, book.Coverage().Last))))
			if err != nil {
				return err
			}
			return o.printView(cmd, v)
		},
	}
	f.registerFlags(cmd, "`FOLDER` of the run to read, written by gridbid replay")
	o.registerOutput(cmd)
	list.registerList(cmd, "services", 0)
	return cmd
}

// serviceRows returns all services of a run as they stand at an instant.
func serviceRows(book *history.History, at protocol.Time) (all []serviceRow) {
	for _, s := range book.Services() {
		v := s.StateAt(at)
		r := serviceRow{Service: s.Service.ID, Wanted: s.Service.Wanted, Running: v.Running, Sites: []serviceSite{}}
		if d := v.Decision; d != nil {
			x := &d.Division
			r.Decision, r.At, r.Why, r.Wanted, r.Pending, r.Lack, r.Deleted = x.Decision, d.From.At, x.Why.Code, x.Wanted, x.Pending, x.Lack.Note, x.Deleted
			r.CostHour, r.BoundHour = x.Cost, x.Bound
		}
		for _, x := range v.Sites {
			r.Sites = append(r.Sites, serviceSite{x.Site, x.Wanted, x.Running, x.Without})
		}
		all = append(all, r)
	}
	return all
}

// serviceListing returns services as a listing.
func serviceListing(all []serviceRow) printer.Listing[serviceRow] {
	return printer.Listing[serviceRow]{Rows: all, Columns: []printer.Column[serviceRow]{
		{Head: "SERVICE", Value: func(r serviceRow) any { return string(r.Service) }},
		{Head: "WANTED", Value: func(r serviceRow) any { return r.Wanted }},
		{Head: "RUNNING", Value: func(r serviceRow) any { return r.Running }},
		{Head: "PENDING", Value: func(r serviceRow) any { return r.Pending }},
		{Head: "SITES", Value: func(r serviceRow) any { return siteCounts(r.Sites) }},
		{Head: "DECIDED", Value: func(r serviceRow) any { return r.At }},
		{Head: "WHY", Value: func(r serviceRow) any { return string(r.Why) }},
	}}
}

// siteCounts says how many replicas each site is to hold, and how many of them run where that differs.
func siteCounts(sites []serviceSite) string {
	var parts []string
	for _, s := range sites {
		text := fmt.Sprintf("%s %d", s.Site, s.Wanted)
		if s.Running != s.Wanted {
			text += fmt.Sprintf(" (%d run)", s.Running)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// A whyService is `gridbid why SERVICE -o json`.
type whyService struct {
	Schema  int        `json:"schema"`
	Ledger  string     `json:"ledger"`
	Text    string     `json:"text"`
	Service serviceRow `json:"service"`
}

// explainService prints why the replicas of a service are where they are.
func explainService(cmd *cobra.Command, o *outputFlags, s *history.ServiceRecord, book *history.History, from recordSource) error {
	at := cmp.Or(from.at, book.Coverage().Last)
	var text bytes.Buffer
	if err := narrate.WriteService(&text, s, at); err != nil {
		return err
	}
	for _, r := range serviceRows(book, at) {
		if r.Service == s.Service.ID {
			l := serviceListing([]serviceRow{r})
			l.Data, l.Text = whyService{1, from.path, text.String(), r}, func(out io.Writer) { _, _ = text.WriteTo(out) }
			return o.printView(cmd, l)
		}
	}
	return nil
}
