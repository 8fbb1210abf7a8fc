package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
)

// confirmPolicy sends a confirmation of a person to the API. It prints the policy then in
// force or, if a second person is needed, the change that waits.
func confirmPolicy(cmd *cobra.Command, f *apiFlags, path string, body []byte) error {
	var raw json.RawMessage
	if err := f.sendRequest(cmd.Context(), http.MethodPost, path, "application/json", body, &raw); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	// A pending change has an id of its own; a policy has none in that field.
	var waiting api.PendingChange
	if err := json.Unmarshal(raw, &waiting); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	if waiting.ID != "" {
		return f.printValue(cmd, waiting, func(out io.Writer) { showWaiting(out, f, []api.PendingChange{waiting}) })
	}
	var p protocol.Policy
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	return f.printValue(cmd, p, func(out io.Writer) { showPolicy(out, p, *f) })
}

// showWaiting prints the changes that wait for a second person, with the command to approve
// each.
func showWaiting(out io.Writer, f *apiFlags, all []api.PendingChange) {
	if len(all) == 0 {
		fmt.Fprintln(out, "no change waits for a second person")
	}
	where := ""
	if f.api != defaultAPIAddress {
		where = " --api " + f.api
	}
	for _, x := range all {
		fmt.Fprintf(out, "%s  by %s: %q\n", format.CleanText(x.ID), format.CleanText(x.By), format.CleanText(x.Sentence))
		for _, t := range x.Descriptions {
			fmt.Fprintf(out, "  %s\n", format.CleanText(t))
		}
		fmt.Fprintf(out, "not in force yet.   to approve, another person runs with their own credential: gridbid policy second %s%s\n", format.CleanText(x.ID), where)
	}
}

// waitingListing returns the changes that wait for a second person as a listing.
func waitingListing(f *apiFlags, all []api.PendingChange) printer.View {
	return printer.Listing[api.PendingChange]{
		Rows: all, Text: func(out io.Writer) { showWaiting(out, f, all) },
		Columns: []printer.Column[api.PendingChange]{
			{Head: "ID", Value: func(x api.PendingChange) any { return x.ID }},
			{Head: "BY", Value: func(x api.PendingChange) any { return x.By }},
			{Head: "SENTENCE", Value: func(x api.PendingChange) any { return x.Sentence }},
		},
	}
}

// newPolicyApproveCommand is `gridbid policy second`.
func newPolicyApproveCommand() *cobra.Command {
	var f apiFlags
	cmd := &cobra.Command{
		Use:   "second [w-ID]",
		Short: "approve, as a second person, a change that loosens a hard rule",
		Long: `Without an id, list the changes that wait for a second person. With an id, approve
that change with your own credential in $GRIDBID_TOKEN; from then on it is in force. The
coordinator drops waiting changes when another coordinator takes over, or when
another policy comes into force: then propose them anew.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return confirmPolicy(cmd, &f, "/v1/policy/waiting/"+url.PathEscape(args[0]), nil)
			}
			var all []api.PendingChange
			if err := f.getJSON(cmd.Context(), "/v1/policy/waiting", &all); err != nil {
				return fmt.Errorf("policy: %w", err)
			}
			return f.printView(cmd, waitingListing(&f, all))
		},
	}
	f.registerFlags(cmd, false)
	return cmd
}
