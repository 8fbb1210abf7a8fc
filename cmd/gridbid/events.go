package main

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
)

// newEventsCommand is `gridbid events`: what operators did, and what broke.
func newEventsCommand() *cobra.Command {
	var f apiFlags
	var list listFlags
	var since, site string
	cmd := &cobra.Command{
		Use:   "events",
		Short: "list who did what, and what broke: sites, operators' acts, leaders",
		Long: `List what changed in a federation, oldest first: sites that became silent and came
back, drains, removals and revocations with the operator and the reason, policies, and
coordinators that took over. What became of jobs is in "gridbid jobs" and "gridbid job".

It asks the coordinator, which keeps the newest 1,000; after a restart, those that its
event log still holds. With --run it reads a ledger, and with --at the coordinator's
record until then; both have all.`,
		Example: `  gridbid events --since 2h
  gridbid events --site oslo --watch
  gridbid events --run .gridbid/up`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.showOrWatch(cmd, func() (printer.View, error) {
				path := "/v1/events?" + url.Values{"since": {since}, "site": {site}}.Encode()
				all, err := fetchStatus(&f, cmd, path, func(v *jobstatus.View, now protocol.Time) ([]jobstatus.SiteEvent, error) {
					from, err := sinceBefore(now, since)
					return v.Events(from, site), err
				})
				if err != nil {
					return nil, err
				}
				return selectRows(&list, eventListing(all))
			})
		},
	}
	f.registerFlags(cmd, true)
	f.registerRecord(cmd)
	list.registerList(cmd, "events", 0)
	cmd.Flags().StringVar(&since, "since", "", "only events since a `TIME`: a duration before now (before the end of a ledger) such as 2h, or 2026-03-11T14:00:00Z")
	cmd.Flags().StringVar(&site, "site", "", "only events of this `SITE`, and those that concern all")
	return cmd
}

// sinceBefore returns the instant of --since: a duration before now, or a time; 0 for "".
func sinceBefore(now protocol.Time, since string) (protocol.Time, error) {
	if since == "" {
		return 0, nil
	}
	if ago, err := time.ParseDuration(since); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, since)
	if err != nil {
		return 0, usageError{fmt.Errorf("--since %q: want a duration such as 2h, or a time such as 2026-03-11T14:00:00Z", since)}
	}
	return protocol.FromStdTime(at), nil
}

// eventListing returns events as a listing.
func eventListing(all []jobstatus.SiteEvent) printer.Listing[jobstatus.SiteEvent] {
	type event = jobstatus.SiteEvent
	return printer.Listing[event]{Rows: all, Columns: []printer.Column[event]{
		{Head: "TIME", Value: func(e event) any { return e.At }},
		{Head: "KIND", Value: func(e event) any { return string(e.Kind) }},
		{Head: "SITE", Value: func(e event) any { return e.Site }},
		{Head: "BY", Value: func(e event) any { return e.By }},
		{Head: "EVENT", Value: func(e event) any { return describeEvent(e) }},
	}}
}

// describeEvent says what happened, and why.
func describeEvent(e jobstatus.SiteEvent) string {
	what := map[history.EventKind]string{
		history.EventState:      "is " + string(e.State),
		history.EventRegistered: "takes part",
		history.EventDrain:      "drained",
		history.EventUndrain:    "drain ended",
		history.EventRemove:     "removed as lost",
		history.EventRevoke:     "keys revoked",
		history.EventPolicy:     fmt.Sprintf("policy %d in force", e.Policy),
		history.EventLeader:     fmt.Sprintf("another coordinator leads (term %d)", e.Term),
	}[e.Kind]
	if what == "" {
		what = string(e.Kind)
	}
	c := e.Record()
	c.By = "" // it has a column
	if e.Kind != history.EventState {
		c.Why.Code = "" // the kind says it
	}
	parts := []string{what}
	if e.Kind == history.EventState && e.Since != 0 && e.State != protocol.SiteOK {
		parts[0] += " since " + timeOfDay(e.Since)
	}
	if why := narrate.ConditionReason(c); why != "" {
		parts = append(parts, why)
	}
	return strings.Join(parts, ": ")
}
