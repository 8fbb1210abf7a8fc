package main

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/explain/mcp"
)

// newMCPCommand is `gridbid mcp`: it serves a run to language models over standard input and
// output.
func newMCPCommand() *cobra.Command {
	var f ledgerSelector
	var model modelFlags
	cmd := &cobra.Command{
		Use:   "mcp [LEDGER]",
		Short: "serve a run to language models by the Model Context Protocol",
		Long: `Serve the Model Context Protocol on standard input and output. Its tools return
decisions and their reasons, what-ifs, totals, sites, forecasts, and charts as
pictures with their figures. Every tool is read-only. LEDGER is a ledger file;
without it the ledger of the last run is read, and with --live the record of a
running coordinator, which is followed. "gridbid page" serves the same
protocol over HTTP.
` + readsHelp,
		Example: `  gridbid mcp
  gridbid mcp --run runs/monday --policy auction
  gridbid mcp --live`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := f.sourceOfArgs(args)
			if err != nil {
				return fmt.Errorf("mcp: %w", err)
			}
			reads, err := model.openTranslator()
			if err != nil {
				return fmt.Errorf("mcp: %w", err)
			}
			run, _, err := openRun(cmd.Context(), from.followed(), cmd.ErrOrStderr())
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
	f.registerFlags(cmd, "`FOLDER` of the run, written by gridbid replay")
	return cmd
}

// buildVersion returns the module version of this build; "devel" for a build from a working
// tree.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
