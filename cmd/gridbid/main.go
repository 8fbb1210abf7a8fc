// Command gridbid replays days of a GPU federation, compares policies, and
// explains every decision from the ledger of a run.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/protocol"
)

// Exit codes. They are part of the interface: scripts read them.
const (
	exitFailed      = 1   // it was tried and did not work
	exitUsage       = 2   // a flag, a file or a scenario is wrong
	exitInterrupted = 130 // ctrl-C
)

// shutdownTimeout is how long a command has to end after a signal.
const shutdownTimeout = 10 * time.Second

// usageError marks an error that the user can mend by giving something else.
type usageError struct{ error }

func (b usageError) Unwrap() error { return b.error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- newRootCommand().ExecuteContext(ctx) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		stop() // the next signal ends it at once
		select {
		case err = <-ended:
		case <-time.After(shutdownTimeout):
			err = ctx.Err()
		}
	}
	if err == nil {
		return
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "gridbid: interrupted")
		os.Exit(exitInterrupted)
	}
	if code := exitCode(0); errors.As(err, &code) {
		os.Exit(int(code))
	}
	fmt.Fprintf(os.Stderr, "gridbid: %s\n", legibleError(err))
	if errors.As(err, new(usageError)) {
		os.Exit(exitUsage)
	}
	os.Exit(exitFailed)
}

// legibleError returns an error as a terminal may show it: it may hold names out of a
// ledger that somebody else made.
func legibleError(err error) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return format.LegibleRune(r)
	}, err.Error())
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "gridbid",
		Short: "sites bid for GPU jobs by carbon, price and fragmentation",
		Long: `Gridbid shares GPU jobs between sites that keep control of their own clusters.
Each site's agent bids what a job would really cost it: energy at the hour's
price, carbon at the hour's intensity, and the GPUs it would leave useless to
others. A coordinator clears the auctions and can explain each decision.

Start with a day at six made-up sites, over an embedded NATS server:

  gridbid replay

Exit codes: 0 done; 1 tried and failed; 2 a flag, file or scenario is wrong;
130 interrupted.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(asUsageError)
	root.AddCommand(newReplayCommand(), newWhyCommand(), newMessagesCommand(), newScenarioCommand(), newBoundCommand(), newPlacementCommand(), newBenchCommand(), newAskCommand(), newFederationCommand(), newChatCommand(), newPolicyCommand(), newPageCommand(), newMCPCommand(), newChartCommand(), newVersionCommand())
	root.AddCommand(newUpCommand(), newSiteCommand(), newSubmitCommand(), newJobsCommand(), newJobCommand(), newSitesCommand(), newAuctionsCommand(), newCancelCommand(), newDrainCommand(), newSiteLostCommand(), newTopCommand())
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		return asUsageError(cmd, cmd.ValidateRequiredFlags())
	}
	markArgumentErrors(root)
	return root
}

// asUsageError marks an error, if there is one, as one in how a command was called.
func asUsageError(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	return usageError{fmt.Errorf("%w; `%s --help` says what it takes", err, cmd.CommandPath())}
}

// markArgumentErrors marks what is wrong with the arguments of a command, and of those
// below it, as flags are.
func markArgumentErrors(cmd *cobra.Command) {
	if take := cmd.Args; take != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return asUsageError(cmd, take(cmd, args)) }
	}
	for _, below := range cmd.Commands() {
		markArgumentErrors(below)
	}
}

func newVersionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "say which build this is",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := struct {
				Version  string `json:"version"`
				Revision string `json:"revision,omitempty"`
				Protocol int    `json:"protocol"`
				Go       string `json:"go"`
			}{buildVersion(), "", int(protocol.Current), runtime.Version()}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						v.Revision = s.Value
					}
				}
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), v)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "gridbid %s %s protocol %d %s\n", v.Version, v.Revision, v.Protocol, v.Go)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}
