package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/internal/atomicfile"
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
		fmt.Fprintf(out, "not in force yet.   to approve, another person runs with their own token: gridbid policy second %s%s\n", format.CleanText(x.ID), where)
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
that change with your own token in $GRIDBID_TOKEN; from then on it is in force. The
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

// newPolicyPersonCommand is `gridbid policy person`. The token is printed once; the file keeps its
// hash.
func newPolicyPersonCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "person NAME",
		Short: "create a token with which a person confirms policies",
		Long: `Create a token for a person, print it once, and add its hash to the file that the
coordinator's configuration names as people_file. The coordinator reads that file when
it starts: restart it to let the person confirm.`,
		Example: `  gridbid policy person ada --file fed/people.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			token, err := addPerson(file, args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
			return err
		},
	}
	cmd.Flags().StringVar(&file, "file", "people.json", "people `FILE` of the coordinator")
	return cmd
}

// addPerson adds a person to a people file and returns the token. A lock on the folder keeps
// two processes from losing each other's additions. If writing fails, the file is unchanged.
func addPerson(file, name string) (token string, err error) {
	token, p, err := api.NewPerson(name)
	if err != nil {
		return "", usageError{err}
	}
	folder, err := os.Open(filepath.Dir(file)) // lock the folder: each write replaces the file, so a lock on it would be lost
	if err != nil {
		return "", usageError{fmt.Errorf("policy: %w", err)}
	}
	defer folder.Close()
	_ = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX) // best effort: some file systems have no locks
	// A missing or empty file is the first person's.
	was, err := os.ReadFile(file)
	var all []api.Person
	switch {
	case err == nil && len(was) > 0:
		all, err = api.ReadPeople(file, was)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	var text []byte
	if err == nil {
		text, err = json.MarshalIndent(append(all, p), "", "  ")
	}
	if err == nil {
		// Check the result as the coordinator will read it: a name may be in the file already.
		_, err = api.ReadPeople(file, text)
	}
	if err != nil {
		return "", usageError{fmt.Errorf("policy: %w", err)}
	}
	if err := atomicfile.ReplaceFile(file, append(text, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("policy: %w", err)
	}
	return token, nil
}
