package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
)

// newServicesCommand is `gridbid services`.
func newServicesCommand() *cobra.Command {
	var f apiFlags
	var list listFlags
	cmd := &cobra.Command{
		Use:   "services",
		Short: "list the services of a federation or a run, or change one",
		Long: `List long-running services: how many replicas are wanted, run and find no room, and how
many each site is to hold. With --run those of a recorded run as they stood at its end, or
at --at. "gridbid why SERVICE" says why; docs/services.md says what happens to services.`,
		Example: `  gridbid services --watch
  gridbid services --run runs/day --at 2026-01-05T00:15:00Z -o json
  gridbid services submit -f chat.yaml
  gridbid services scale chat 18`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.showOrWatch(cmd, func() (printer.View, error) {
				all, err := fetchStatus(&f, cmd, "/v1/services", func(v *jobstatus.View, now protocol.Time) ([]jobstatus.Service, error) {
					return v.AllServices(now), nil
				})
				if err != nil {
					return nil, err
				}
				return selectRows(&list, serviceListing(all))
			})
		},
	}
	f.registerFlags(cmd, true)
	f.registerRecord(cmd)
	list.registerList(cmd, "services", 0)
	cmd.AddCommand(newServicesSubmit(), newServicesScale(), newServicesRebalance(), newServicesDelete())
	return cmd
}

// serviceListing returns services as a listing.
func serviceListing(all []jobstatus.Service) printer.Listing[jobstatus.Service] {
	return printer.Listing[jobstatus.Service]{Rows: all, Columns: []printer.Column[jobstatus.Service]{
		{Head: "SERVICE", Value: func(r jobstatus.Service) any { return string(r.Service) }},
		{Head: "WANTED", Value: func(r jobstatus.Service) any { return r.Wanted }},
		{Head: "RUNNING", Value: func(r jobstatus.Service) any { return r.Running }},
		{Head: "PENDING", Value: func(r jobstatus.Service) any { return r.Pending }},
		{Head: "SITES", Value: func(r jobstatus.Service) any { return siteCounts(r.Sites) }},
		{Head: "DECIDED", Value: func(r jobstatus.Service) any { return r.At }},
		{Head: "WHY", Value: func(r jobstatus.Service) any { return string(r.Why) }},
	}}
}

// siteCounts says how many replicas each site is to hold, and how many of them run where that differs.
func siteCounts(sites []jobstatus.ServiceSite) string {
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
	Schema  int               `json:"schema"`
	Ledger  string            `json:"ledger"`
	Text    string            `json:"text"`
	Service jobstatus.Service `json:"service"`
}

// explainService prints why the replicas of a service are where they are.
func explainService(cmd *cobra.Command, o *outputFlags, s *history.ServiceRecord, book *history.History, from recordSource) error {
	at := cmp.Or(from.at, book.Coverage().Last)
	var text bytes.Buffer
	if err := narrate.WriteService(&text, s, at); err != nil {
		return err
	}
	r, _ := jobstatus.ViewOf(book).ServiceByID(s.Service.ID, at)
	l := serviceListing([]jobstatus.Service{r})
	l.Data, l.Text = whyService{1, from.path, text.String(), r}, func(out io.Writer) { _, _ = text.WriteTo(out) }
	return o.printView(cmd, l)
}
