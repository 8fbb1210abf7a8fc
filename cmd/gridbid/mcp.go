package main

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/explain/mcp"
)

// newMCPCommand is `gridbid mcp`: a run for models and their programs.
func newMCPCommand() *cobra.Command {
	var f ledgerSelector
	var model modelFlags
	cmd := &cobra.Command{
		Use:   "mcp [LEDGER]",
		Short: "give a run to a model's program, by the Model Context Protocol",
		Long: `Answer a model's program on standard input and output, by the Model Context
Protocol: decisions and why, what if, totals, sites, forecasts, and charts as
pictures with their figures. Every tool only reads. LEDGER is a ledger; without it
the ledger of the last run is read. "gridbid page" offers the same over HTTP.
` + readsHelp,
		Example: `  gridbid mcp
  gridbid mcp --run runs/monday --policy auction`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := f.ledgerOfArgs(args)
			if err != nil {
				return fmt.Errorf("mcp: %w", err)
			}
			run, _, err := openRun(cmd.Context(), path, cmd.ErrOrStderr())
			if err != nil {
				return fmt.Errorf("mcp: %w", err)
			}
			reads, err := model.openTranslator()
			if err != nil {
				return fmt.Errorf("mcp: %w", err)
			}
			if err := mcp.ServeStdio(cmd.Context(), mcp.New(run, buildVersion(), reads)); err != nil && !errors.Is(err, io.EOF) {
				return fmt.Errorf("mcp: %w", err)
			}
			return nil
		},
	}
	model.registerFlags(cmd)
	f.registerFlags(cmd, "folder of the run, as replay wrote it")
	return cmd
}

// buildVersion returns the version that this program was built as.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
