package main

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/lab/seat"
)

// newEnvCommand is `gridbid env`: it lets a learner take a seat over standard input and output.
func newEnvCommand() *cobra.Command {
	cfg := seat.Config{Version: buildVersion()}
	cmd := &cobra.Command{
		Use:   "env --seat SEAT",
		Short: "let a learner take a seat of a replay, by lines of JSON",
		Long: `Let a program that learns take one seat of a replay, over standard input and output:
one line of JSON in, one line out. At the seat "rule" it decides each called job in
place of the clearing, among the 64 cheapest options that sites bid; at "room" it prices
the room that the auction keeps for later jobs; at "site" it chooses for each site what
the site says of its costs. docs/learners.md has the lines, what an observation holds,
and a wrapper for Gymnasium and PettingZoo in Python.

With --envs N a line may name one of N environments, as "env":0 to "env":N-1, which
work side by side.

A learner that has been trained is judged by
"gridbid replay DAY --policy auction,outside --outside CMD".`,
		Example: `  gridbid env --seat rule < lines.jsonl
  echo '{"open":1,"seat":"site"}' | gridbid env --seat site --plain`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !slices.Contains(seat.Seats, cfg.Seat):
				return usageError{fmt.Errorf("--seat %s: want one of %s", cfg.Seat, strings.Join(seat.Seats, ", "))}
			case cfg.Envs < 1 || cfg.Envs > seat.MostEnvs:
				return usageError{fmt.Errorf("--envs %d: want 1 to %d", cfg.Envs, seat.MostEnvs)}
			}
			defer debug.SetGCPercent(debug.SetGCPercent(seat.CollectAt))
			ctx := cmd.Context()
			if err := seat.Serve(ctx, cancellableReader{ctx, cmd.InOrStdin()}, cmd.OutOrStdout(), cfg); err != nil {
				return fmt.Errorf("env: %w", err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Seat, "seat", seat.SeatRule, "`SEAT` to take: "+strings.Join(seat.Seats, ", "))
	f.BoolVar(&cfg.Plain, "plain", false, "write arrays as numbers, not as base64 of little-endian floats")
	f.IntVar(&cfg.Envs, "envs", 1, "`N` environments, which lines name as \"env\":0 to \"env\":N-1")
	f.StringVar(&cfg.Data, "data", dataFolder(), "folder of recorded series and traces, for scenarios that read them; also $GRIDBID_DATA")
	return cmd
}
