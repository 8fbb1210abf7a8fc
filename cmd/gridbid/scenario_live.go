package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/acceptance"
)

// liveFlags say whether `gridbid scenario test` plays its cases live, and how.
type liveFlags struct {
	live     string // "" replays, else liveLoops or liveProcesses
	data     string
	speed    float64
	parallel int
}

// Ways to play a case live.
const (
	liveLoops     = "loops"     // all parties in this process
	liveProcesses = "processes" // coordinator and sites in processes of their own
)

// register adds the flags to a command.
func (f *liveFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.live, "live", "", "run the parties live over NATS instead of replaying; `WAY` is loops (of this process) or processes")
	fl.Lookup("live").NoOptDefVal = liveLoops
	fl.Float64Var(&f.speed, "speed", 60, "with --live: simulated seconds per second, 1 to 600")
	fl.IntVar(&f.parallel, "parallel", 16, "with --live: cases that run at a time, 1 to 64")
}

// check returns what is wrong with the flags.
func (f *liveFlags) check(cmd *cobra.Command) error {
	switch {
	case f.live != "" && f.live != liveLoops && f.live != liveProcesses:
		return fmt.Errorf("--live=%s: want --live, or --live=processes", f.live)
	case f.live == "" && (cmd.Flags().Changed("speed") || cmd.Flags().Changed("parallel")):
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
	if f.live != "" {
		return f.parallel
	}
	return 1
}

// play plays a case under a policy, and judges it.
func (f *liveFlags) play(ctx context.Context, c testCase, policy string) ([]acceptance.Verdict, *history.History, error) {
	var cfg natsbus.Config
	switch f.live {
	case "":
		return scenarios.JudgeReplay(ctx, c.scenario, policy)
	case liveProcesses:
		cfg.Listen = "127.0.0.1:0"
	}
	server, err := natsbus.StartServer(cfg)
	if err != nil {
		return nil, nil, err
	}
	defer server.Close()
	if f.live == liveLoops {
		return scenarios.JudgeLive(ctx, c.scenario, policy, server, f.speed, nil)
	}
	tap, err := server.OpenTap(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = tap.Close() }()
	return scenarios.JudgeLive(ctx, c.scenario, policy, server, f.speed, &scenarios.Apart{Tap: tap, Start: func(ctx context.Context, parties []protocol.Party) (scenarios.PartyProcess, error) {
		return startPartyProcess(ctx, server, partySetup{File: c.file, Data: f.data, Policy: policy}, parties)
	}})
}
