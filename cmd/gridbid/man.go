package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newManCommand is `gridbid man`, which `make man` and packagers call.
func newManCommand() *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "man",
		Short: "write the manual pages of all commands",
		Long: `Write a manual page for each command, in section 1. To read them without an
installation: man -M FOLDER gridbid-replay.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := writeManual(cmd.Root(), filepath.Join(folder, "man1")); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "manual pages are in %s: man -M %s gridbid\n", folder, shellWord(folder))
			return err
		},
	}
	cmd.Flags().StringVar(&folder, "folder", "man", "`FOLDER` to write into; the pages are in its subfolder man1")
	return cmd
}

// writeManual writes the pages. They bear the date of the commit, so that the same build
// writes the same bytes.
func writeManual(root *cobra.Command, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return usageError{fmt.Errorf("--folder: %w", err)}
	}
	built := time.Unix(0, 0).UTC()
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if at, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
				built = at
			}
		}
	}
	prepareForManual(root)
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "gridbid " + buildVersion(), Manual: "Gridbid", Date: &built}, folder)
}

// prepareForManual takes out of a command and its subcommands what depends on the machine and
// the hour.
func prepareForManual(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	if by := cmd.Flags().Lookup("by"); by != nil {
		by.DefValue = "" // who runs this
	}
	if api := cmd.Flags().Lookup("api"); api != nil && api.DefValue == os.Getenv("GRIDBID_API") && api.DefValue != "" {
		api.DefValue = defaultAPIAddress
	}
	for _, sub := range cmd.Commands() {
		prepareForManual(sub)
	}
}
