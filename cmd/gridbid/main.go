// Command gridbid replays days of a GPU federation, compares policies, and
// explains every decision from the ledger of a run.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/plainerror"
	"github.com/gridbid/gridbid/protocol"
)

// Exit codes. They are part of the interface: scripts read them.
const (
	exitFailed      = 1   // the command ran and failed
	exitUsage       = 2   // a flag, a file or a scenario is wrong: a repeat fails, too
	exitInterrupted = 130 // ctrl-C: 128 and SIGINT, as shells count
)

// shutdownTimeout is how long a command may take to end after a signal. Then the process
// exits whatever still runs, so that a stuck disk or peer cannot keep a terminal.
const shutdownTimeout = 10 * time.Second

// usageError marks an error that the user can mend with other flags or files: exit code 2.
type usageError struct{ error }

func (b usageError) Unwrap() error { return b.error }

// main runs the command of the arguments, and maps how it ended to an exit code.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- newRootCommand().ExecuteContext(ctx) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		stop() // restores the default handler: a second signal kills the process
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
	// The command has printed what failed.
	if code := exitCode(0); errors.As(err, &code) {
		os.Exit(int(code))
	}
	fmt.Fprintf(os.Stderr, "gridbid: %s\n", legibleError(err))
	if errors.As(err, new(usageError)) {
		os.Exit(exitUsage)
	}
	os.Exit(exitFailed)
}

// legibleError returns the text of an error for a user: without names of packages, and with
// control characters replaced. An error may quote names from a ledger that another party
// wrote, which must not move the cursor.
func legibleError(err error) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return format.LegibleRune(r)
	}, plainerror.Text(err))
}

// newRootCommand returns the command `gridbid` with all its subcommands.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "gridbid",
		Short: "sites bid for GPU jobs by carbon, price and fragmentation",
		Long: `Gridbid schedules GPU jobs over sites that keep control of their own clusters.
Each site's agent bids what a job would cost there: energy at the price of the
hour, carbon at the intensity of the hour, and the GPUs that it would fragment. A
coordinator clears the auctions; every decision can be explained from its ledger.

Start with a day at six invented sites, over an embedded NATS server:

  gridbid replay

Exit codes: 0 success; 1 the command failed; 2 a flag, file or scenario is wrong;
130 interrupted.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(flagError)
	root.Version = currentBuild().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.PersistentFlags().BoolP("quiet", "q", false, "print no notes and no progress; warnings and errors stay")
	root.AddCommand(newReplayCommand(), newWhyCommand(), newMessagesCommand(), newScenarioCommand(), newBoundCommand(), newPlacementCommand(), newBenchCommand(), newAskCommand(), newFederationCommand(), newChatCommand(), newPolicyCommand(), newPageCommand(), newMCPCommand(), newChartCommand(), newVersionCommand())
	root.AddCommand(newUpCommand(), newSiteCommand(), newSubmitCommand(), newWaitCommand(), newJobsCommand(), newJobCommand(), newSitesCommand(), newAuctionsCommand(), newCancelCommand(), newLogsCommand(), newDrainCommand(), newTopCommand(), newConfigCommand(), newManCommand(), newBriefCommand())
	root.AddCommand(newExportCommand(), newCompareCommand(), newEventsCommand(), newEnvCommand(), newImportCommand(), newStatementCommand(), newSavingsCommand(), newServicesCommand(), newLearnCommand(), newShadowCommand(), newVerifyCommand(), newCredentialsCommand(), newWhoamiCommand(), newLoginCommand(), newLogoutCommand(), newQuotasCommand())
	// cobra checks required flags after this hook, with an error that would exit with 1.
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := applyContext(cmd); err != nil {
			return err
		}
		return asUsageError(cmd, cmd.ValidateRequiredFlags())
	}
	markArgumentErrors(root)
	registerCompletions(root)
	return root
}

// commit is the commit of this build where the linker was told it (make build), as Go does
// not know it in every checkout.
var commit string

// A buildInfo says which build this is.
type buildInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from files that were not committed
	Protocol int    `json:"protocol"`
	Go       string `json:"go"`
}

// currentBuild returns what is known of this build.
func currentBuild() buildInfo {
	v := buildInfo{Version: buildVersion(), Revision: commit, Protocol: int(protocol.Current), Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Revision = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	return v
}

// String returns the line that --version prints.
func (v buildInfo) String() string {
	at := "unknown commit"
	if v.Revision != "" {
		at = "commit " + v.Revision[:min(12, len(v.Revision))]
	}
	if v.Modified {
		at += " with changes"
	}
	return fmt.Sprintf("gridbid %s, %s, protocol %d, %s", v.Version, at, v.Protocol, v.Go)
}

// newVersionCommand is `gridbid version`, which --version prints, too.
func newVersionCommand() *cobra.Command {
	var f outputFlags
	cmd := &cobra.Command{
		Use:   "version",
		Short: "print the version of this build and of the protocol",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := currentBuild()
			return f.printValue(cmd, v, func(out io.Writer) { fmt.Fprintln(out, v) })
		},
	}
	f.registerOutput(cmd)
	return cmd
}
