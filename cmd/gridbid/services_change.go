package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/internal/servicefile"
)

// newServicesSubmit is `gridbid services submit`.
func newServicesSubmit() *cobra.Command {
	var f apiFlags
	var files []string
	cmd := &cobra.Command{
		Use:   "submit -f SERVICE.yaml",
		Short: "submit a service to a live federation, or what is to change of one",
		Long: `Submit the service of a file. The same id once more replaces what was asked for; replicas
that run stay where they are unless they no longer may. When the command returns, the
service is in the coordinator's event log; the market divides it a second later.

  id: chat
  replicas: 12             # wanted; min and max bound what it may be scaled to
  gpus: 1                  # of each replica, on one node
  models: [A100, H100]
  tiers: [[oslo], [lyon]]  # sites to fill first, then those to spill over to
  division: cost           # default: each replica where it costs least

docs/services.md has all keys.`,
		Example: `  gridbid services submit -f chat.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(files) == 0 {
				return usageError{errors.New("services submit: no service file: add -f FILE, or -f - for standard input")}
			}
			for _, file := range files {
				name, text, err := readTextFile(cmd, file)
				if err != nil {
					return usageError{err}
				}
				if _, err := servicefile.Parse(name, text); err != nil { // names file and line of this machine
					return usageError{err}
				}
				if err := f.changeService(cmd, http.MethodPost, "/v1/services", text); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f.registerFlags(cmd, false)
	cmd.Flags().StringArrayVarP(&files, "file", "f", nil, "service `FILE`, YAML or JSON; - is standard input; repeatable")
	return cmd
}

// newServicesScale is `gridbid services scale`.
func newServicesScale() *cobra.Command {
	return newServiceChange(&cobra.Command{
		Use:   "scale SERVICE REPLICAS",
		Short: "set how many replicas of a service are wanted",
		Long: `Set how many replicas of a service are wanted, within its min and max. Replicas that run
stay where they are: only what is added or removed is divided.`,
		Example: `  gridbid services scale chat 18`,
		Args:    cobra.ExactArgs(2),
	}, http.MethodPost, func(args []string) string { return "/scale?replicas=" + url.QueryEscape(args[1]) })
}

// newServicesRebalance is `gridbid services rebalance`.
func newServicesRebalance() *cobra.Command {
	var f apiFlags
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "rebalance SERVICE",
		Short: "divide all replicas of a service anew",
		Long: `Divide all replicas of a service anew, as sites bid now. By cost a replica moves only if
that saves a fifth more than the move costs. New replicas run before old ones stop. With
--dry-run nothing moves: the sites bid, and what would move and save is printed.`,
		Example: `  gridbid services rebalance chat --dry-run`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "/v1/services/" + url.PathEscape(args[0]) + "/rebalance"
			if !dryRun {
				return f.changeService(cmd, http.MethodPost, path, nil)
			}
			var p jobstatus.ServicePreview
			if err := f.sendRequest(cmd.Context(), http.MethodPost, path+"/preview", "", nil, &p); err != nil {
				return err
			}
			l := printer.Listing[jobstatus.ServiceMove]{Rows: p.Sites, Data: p, Columns: []printer.Column[jobstatus.ServiceMove]{
				{Head: "SITE", Value: func(m jobstatus.ServiceMove) any { return m.Site }},
				{Head: "NOW", Value: func(m jobstatus.ServiceMove) any { return m.Before }},
				{Head: "THEN", Value: func(m jobstatus.ServiceMove) any { return m.After }},
			}}
			if err := f.printView(cmd, l); err != nil || f.forPrograms() {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), describePreview(p))
			return err
		},
	}
	f.registerFlags(cmd, false)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "move nothing: print what would move, and what that saves")
	return cmd
}

// describePreview says in a line what a rebalance would do.
func describePreview(p jobstatus.ServicePreview) string {
	what := format.CountWithNoun(p.Moves, "replica", "replicas") + " would move"
	if p.StayHour == 0 && p.CostHour == 0 {
		return what // not divided by cost
	}
	what += fmt.Sprintf("; they cost $%.4f an hour now, and $%.4f then", p.StayHour.InDollars(), p.CostHour.InDollars())
	if p.Starts != 0 {
		what += fmt.Sprintf("; the moves cost $%.4f, once", p.Starts.InDollars())
	}
	return what
}

// newServicesDelete is `gridbid services delete`.
func newServicesDelete() *cobra.Command {
	return newServiceChange(&cobra.Command{
		Use:   "delete SERVICE",
		Short: "remove a service from all sites",
		Args:  cobra.ExactArgs(1),
	}, http.MethodDelete, func([]string) string { return "" })
}

// newServiceChange completes a command that changes the service of its first argument.
func newServiceChange(cmd *cobra.Command, method string, path func(args []string) string) *cobra.Command {
	var f apiFlags
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.changeService(cmd, method, "/v1/services/"+url.PathEscape(args[0])+path(args), nil)
	}
	f.registerFlags(cmd, false)
	return cmd
}

// changeService asks for a change of a service, and prints how it stands.
func (f *apiFlags) changeService(cmd *cobra.Command, method, path string, body []byte) error {
	var s jobstatus.Service
	if err := f.sendRequest(cmd.Context(), method, path, "application/yaml", body, &s); err != nil {
		return err
	}
	if f.forPrograms() {
		l := serviceListing([]jobstatus.Service{s})
		l.Data = s
		return f.printView(cmd, l)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %d wanted, %d run\n", s.Service, s.Wanted, s.Running)
	return err
}
