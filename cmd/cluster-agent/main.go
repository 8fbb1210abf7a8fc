// Command cluster-agent bids for one site of a live federation, and runs the jobs that
// the site wins on its Kubernetes cluster.
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
  cluster-agent signals --help    read the configured sources of grid signals once
  cluster-agent profiles --help   print the learned profiles of jobs that ran
  cluster-agent gpus              print this machine's GPUs, limits and sensors
  cluster-agent powercal --help   measure a command under several power limits
  cluster-agent node --help       cap and measure the GPUs of one Kubernetes node
  cluster-agent health --help     say whether the agent in this pod is well, for a kubelet

SIGTERM and SIGINT end it: its jobs continue in their cluster, and it adopts them
when it is started again. Exit codes: 0 done; 1 failed; 2 a flag or the
configuration is wrong.`

const name = "cluster-agent"

func main() { os.Exit(runCommand(os.Args[1:], os.Stderr)) }

// subcommands maps names to functions, which get the remaining arguments and where to
// write help.
var subcommands = map[string]func([]string, io.Writer) error{"signals": runSignals, "profiles": runProfilesCommand, "gpus": runGPUsCommand, "powercal": runPowercalCommand, "guard": runGuardCommand, "node": runNode, "health": runHealth}

// runCommand runs a subcommand, or the agent itself. It returns the exit code.
func runCommand(args []string, out io.Writer) int {
	if len(args) > 0 && subcommands[args[0]] != nil {
		return runSubcommand(args, out)
	}
	return program.Program{Name: name, About: commandHelp, Prepare: prepareSetup}.Run(args, out)
}

// prepareSetup builds the site, which checks the rest of its configuration. Building
// has no effect outside of the process: the parties only start when they are run.
func prepareSetup(c program.Config, log *slog.Logger, feed *signals.Poller) (program.Builder, error) {
	if c.Simulate != nil {
		return nil, c.FaultAt([]string{"simulate"}, "cluster-agent runs jobs on real clusters only: for a simulated site run `gridbid site --config FILE` with this file")
	}
	cfg, err := buildSite(c, log, feed)
	return func() (runtime.Config, error) { return cfg, nil }, err
}

// runSubcommand runs a subcommand and returns its exit code; asking for help is no error.
func runSubcommand(args []string, out io.Writer) int {
	err := subcommands[args[0]](args[1:], out)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(out, "cluster-agent %s: %v\n", args[0], err)
	return 1
}

// parseFlags parses a tool's flags and refuses further arguments: package flag stops
// at the first one, and would ignore flags behind it.
func parseFlags(fs *flag.FlagSet, args []string) error {
	err := fs.Parse(args)
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("unknown argument %q; see %s --help", fs.Arg(0), fs.Name())
	}
	return err
}
