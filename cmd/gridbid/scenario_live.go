package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/acceptance"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// liveFlags say whether `gridbid scenario test` plays its cases live, and how.
type liveFlags struct {
	live     bool
	speed    float64
	parallel int
}

// register adds the flags to a command.
func (f *liveFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.live, "live", false, "run the parties live over NATS instead of replaying")
	fl.Float64Var(&f.speed, "speed", 60, "with --live: simulated seconds per second, 1 to 600")
	fl.IntVar(&f.parallel, "parallel", 16, "with --live: cases that run at a time, 1 to 64")
}

// check returns what is wrong with the flags.
func (f *liveFlags) check(cmd *cobra.Command) error {
	switch {
	case !f.live && (cmd.Flags().Changed("speed") || cmd.Flags().Changed("parallel")):
		return fmt.Errorf("--speed and --parallel are for --live: add it, or drop them")
	case !(f.speed >= 1 && f.speed <= 600):
		return fmt.Errorf("--speed %g: want 1 to 600, as rounds take seconds of the simulated clock", f.speed)
	case f.parallel < 1 || f.parallel > 64:
		return fmt.Errorf("--parallel %d: want 1 to 64", f.parallel)
	}
	return nil
}

// atOnce returns how many cases are played at a time: replays one after the other, as each uses all cores.
func (f *liveFlags) atOnce() int {
	if f.live {
		return f.parallel
	}
	return 1
}

// play plays a case under a policy, and judges it.
func (f *liveFlags) play(ctx context.Context, s spec.Scenario, policy string) ([]acceptance.Verdict, *history.History, error) {
	if !f.live {
		return scenarios.JudgeReplay(ctx, s, policy)
	}
	server, err := natsbus.StartServer(natsbus.Config{})
	if err != nil {
		return nil, nil, err
	}
	defer server.Close()
	return scenarios.JudgeLive(ctx, s, policy, server, f.speed)
}
