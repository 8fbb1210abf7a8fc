package main

import (
	"io"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/scenarios/report"
)

// totalsListing returns the figures of a replay as a listing: for people the table, whose blocks
// are all printed if wide is set, for programs a row per policy with the keys of --json.
func totalsListing(all []history.Totals, wide bool) (printer.View, error) {
	// WriteTable never fails, as out is a buffer in memory.
	return objectListing(all, "policy", all, func(out io.Writer) { _ = report.WriteTable(out, all, wide) })
}
