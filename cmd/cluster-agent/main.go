// Command cluster-agent bids for one site of a live federation, and runs what it
// wins.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/gridbid/gridbid/cluster-agent/program"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/cluster-agent/signals"
)

const commandHelp = `cluster-agent bids for one site of a live federation, and runs what it wins.

  cluster-agent --config oslo.yaml
  cluster-agent --config oslo.yaml --check
  gridbid site --help             run a simulated site in its place
  cluster-agent signals --help    read what the configured sources tell of the grid
  cluster-agent profiles --help   what is remembered of jobs that ran
  cluster-agent gpus              what this machine's GPUs say of themselves
  cluster-agent powercal --help   measure a command under several power limits
  cluster-agent node --help       keep and measure the cards of one Kubernetes node

SIGTERM and SIGINT end it: its jobs run on in their cluster, and it takes them up
again when it is started. Exit codes: 0 done; 1 failed; 2 a flag or the
configuration is wrong.`

const name = "cluster-agent"

func main() { os.Exit(runCommand(os.Args[1:], os.Stderr)) }

// subcommands are the subcommands.
var subcommands = map[string]func([]string, io.Writer) error{"signals": runSignals, "profiles": runProfilesCommand, "gpus": runGPUsCommand, "powercal": runPowercalCommand, "guard": runGuardCommand, "node": runNode}

func runCommand(args []string, out io.Writer) int {
	if len(args) > 0 && subcommands[args[0]] != nil {
		return runSubcommand(args, out)
	}
	return program.Program{Name: name, About: commandHelp, Prepare: prepareSetup}.Run(args, out)
}

// prepareSetup builds the site, which checks the rest of its configuration: a real
// cluster's parties start nothing before they run.
func prepareSetup(c program.Config, log *slog.Logger, feed *signals.Poller) (program.Builder, error) {
	if c.Simulate != nil {
		return nil, c.FaultAt([]string{"simulate"}, "cluster-agent runs jobs on real clusters only: for a simulated site run `gridbid site --config FILE` with this file")
	}
	cfg, err := buildSite(c, log, feed)
	return func() (runtime.Config, error) { return cfg, nil }, err
}

func runSubcommand(args []string, out io.Writer) int {
	err := subcommands[args[0]](args[1:], out)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(out, "cluster-agent %s: %v\n", args[0], err)
	return 1
}

// parseFlags reads the flags of a tool. Those behind a word that is none would be passed over.
func parseFlags(fs *flag.FlagSet, args []string) error {
	err := fs.Parse(args)
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("unknown argument %q; see %s --help", fs.Arg(0), fs.Name())
	}
	return err
}
