package main

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/bus/natsbus/federation"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/history/tables"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// completionTimeout bounds what a shell waits for after TAB. A coordinator on the same
// network answers in milliseconds; if none does, nothing is completed.
const completionTimeout = 2 * time.Second

// A completer returns the values that a word on the command line may have.
type completer func(cmd *cobra.Command) []string

// argumentCompleters are the completers of arguments, by the path of the command.
var argumentCompleters = map[string]completer{
	"gridbid job":                    liveJobs,
	"gridbid wait":                   openJobs,
	"gridbid cancel":                 openJobs,
	"gridbid drain":                  liveSites,
	"gridbid sites remove":           liveSites,
	"gridbid why":                    recordedJobs,
	"gridbid chart":                  chartNames,
	"gridbid replay":                 shippedScenarios,
	"gridbid up":                     shippedScenarios,
	"gridbid bound":                  shippedScenarios,
	"gridbid scenario check":         shippedScenarios,
	"gridbid scenario forecasts":     shippedScenarios,
	"gridbid bench days":             shippedScenarios,
	"gridbid bench chance":           shippedScenarios,
	"gridbid bench front":            shippedScenarios,
	"gridbid bench payments":         shippedScenarios,
	"gridbid config use-context":     contextNames,
	"gridbid config set-context":     contextNames,
	"gridbid config delete-context":  contextNames,
	"gridbid federation revoke-site": memberNames,
	"gridbid federation rotate":      memberNames,
	"gridbid policy second":          waitingChanges,
}

// flagCompleters are the completers of flags, by name: a name means the same everywhere.
var flagCompleters = map[string]completer{
	"output":  func(*cobra.Command) []string { return printer.Formats() },
	"context": contextNames,
	"state":   func(*cobra.Command) []string { return stateNames() },
	"tenant": func(cmd *cobra.Command) []string {
		return jobValues(cmd, func(j jobstatus.Job) string { return j.Tenant })
	},
	"site":     liveSites,
	"simulate": shippedScenarios,
	"kind":     func(*cobra.Command) []string { return protocol.KindNames() },
	"job":      recordedJobs,
	"policy":   func(*cobra.Command) []string { return scenarios.AllPolicyNames() },
	"policies": func(*cobra.Command) []string { return scenarios.AllPolicyNames() },
	"sort":     listedColumns,
	"for":      func(*cobra.Command) []string { return []string{"running", "done"} },
	"table": func(*cobra.Command) []string {
		return []string{"jobs", "sites", "bids", "rounds", "signals", "payments"}
	},
	"format": func(*cobra.Command) []string { return tables.Formats() },
	"carbon": func(*cobra.Command) []string { return []string{"average", spec.ByMarginal} },
}

// registerCompletions gives a command and its subcommands what shells complete. A command
// that completes its own words keeps them.
func registerCompletions(cmd *cobra.Command) {
	if complete := argumentCompleters[cmd.CommandPath()]; complete != nil && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = completionOf(complete)
	}
	for name, complete := range flagCompleters {
		if cmd.LocalNonPersistentFlags().Lookup(name) == nil {
			continue
		}
		if _, own := cmd.GetFlagCompletionFunc(name); !own {
			_ = cmd.RegisterFlagCompletionFunc(name, completionOf(complete)) // fails only for a flag that is not there
		}
	}
	for _, sub := range cmd.Commands() {
		registerCompletions(sub)
	}
}

// completionOf returns a completer as a function of package cobra. Files are never offered in
// place of names.
func completionOf(complete completer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if applyContext(cmd) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// A list of names, as in --policy auction,home: the last one is completed.
		done := ""
		if i := strings.LastIndex(begun, ","); i >= 0 {
			done, begun = begun[:i+1], begun[i+1:]
		}
		var out []string
		for _, name := range complete(cmd) {
			if strings.HasPrefix(name, begun) && !slices.Contains(args, name) {
				out = append(out, done+name)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// askForCompletion asks the coordinator of a command's flags. What fails completes nothing:
// a shell has no place for an error.
func askForCompletion[T any](cmd *cobra.Command, path string) (out T) {
	f := apiFlags{api: defaultAPIAddress, timeout: completionTimeout}
	if at := cmd.Flags().Lookup("api"); at != nil && at.Value.String() != "" {
		f.api = at.Value.String()
	}
	_ = f.getJSON(cmd.Context(), path, &out)
	return out
}

// liveSites returns the sites of a live federation.
func liveSites(cmd *cobra.Command) (names []string) {
	for _, s := range askForCompletion[[]jobstatus.Site](cmd, "/v1/sites") {
		names = append(names, s.Name)
	}
	return names
}

// jobValues returns what the jobs of a live federation say, each value once.
func jobValues(cmd *cobra.Command, value func(jobstatus.Job) string) (values []string) {
	for _, j := range askForCompletion[[]jobstatus.Job](cmd, "/v1/jobs?limit=1000") {
		if v := value(j); v != "" {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// liveJobs returns the ids of the latest jobs of a live federation.
func liveJobs(cmd *cobra.Command) []string {
	return jobValues(cmd, func(j jobstatus.Job) string { return string(j.ID) })
}

// openJobs returns the ids of jobs that have not ended.
func openJobs(cmd *cobra.Command) []string {
	return jobValues(cmd, func(j jobstatus.Job) string {
		if j.HasEnded() {
			return ""
		}
		return string(j.ID)
	})
}

// waitingChanges returns the changes of the policy that wait for a second person.
func waitingChanges(cmd *cobra.Command) (ids []string) {
	for _, x := range askForCompletion[[]struct {
		ID string `json:"waiting"`
	}](cmd, "/v1/policy/waiting") {
		ids = append(ids, x.ID)
	}
	return ids
}

// shippedScenarios returns the names of the scenarios that ship with gridbid.
func shippedScenarios(*cobra.Command) []string { return spec.ShippedNames() }

// chartNames returns the charts of a run.
func chartNames(*cobra.Command) (names []string) {
	for _, c := range timeline.ChartNames() {
		names = append(names, c[0])
	}
	return names
}

// contextNames returns the contexts of the configuration file.
func contextNames(*cobra.Command) []string {
	c, err := readConfig()
	if err != nil {
		return nil
	}
	return c.names()
}

// memberNames returns the members of the federation in the folder of --dir.
func memberNames(cmd *cobra.Command) (names []string) {
	dir, err := cmd.Flags().GetString("dir")
	if err != nil {
		return nil
	}
	f, err := federation.Open(dir)
	if err != nil {
		return nil
	}
	for _, m := range slices.Concat(f.Sites, f.Market) {
		names = append(names, m.Name)
	}
	return names
}

// mostRecorded bounds the messages that are read of a ledger to complete the id of a job.
const mostRecorded = 100_000

// recordedJobs returns the jobs of the run that the flags --run and --policy select, or those of
// the coordinator whose record is read.
func recordedJobs(cmd *cobra.Command) (ids []string) {
	if live := cmd.Flags().Lookup("live"); live != nil && (live.Value.String() == "true" || cmd.Flags().Changed("api") || cmd.Flags().Changed("context")) {
		return liveJobs(cmd)
	}
	selected := ledgerSelector{run: lastRunFolder}
	if run := cmd.Flags().Lookup("run"); run != nil {
		selected.run = run.Value.String()
	}
	if policy := cmd.Flags().Lookup("policy"); policy != nil {
		selected.policy = policy.Value.String()
	}
	path, err := selected.ledgerPath()
	if err != nil {
		return nil
	}
	read := 0
	_ = recordSource{path: path}.readMessages(os.Stdin, io.Discard, func(m protocol.Message) error {
		if b, ok := m.Body.(protocol.Submit); ok {
			ids = append(ids, string(b.Job.ID))
		}
		if read++; read > mostRecorded {
			return errEnough
		}
		return nil
	})
	return ids
}

// errEnough ends the reading of a ledger.
var errEnough = errors.New("enough")

// listedColumns returns the columns of the listing that a command prints.
func listedColumns(cmd *cobra.Command) []string {
	switch cmd.CommandPath() {
	case "gridbid jobs":
		return jobListing(nil).ColumnKeys()
	case "gridbid sites":
		return siteListing(nil).ColumnKeys()
	case "gridbid auctions":
		return roundListing(nil).ColumnKeys()
	case "gridbid scenario list":
		return scenarioListing(nil).ColumnKeys()
	}
	return nil
}
