package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/history/tables"
)

// exportFlags are the flags of `gridbid export`.
type exportFlags struct {
	run, format, out string
	policies, tables []string
	selected         ledgerSelector // of the flags that all readers share, --live and --at
}

// newExportCommand is `gridbid export`: it writes the tables of a run.
func newExportCommand() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export",
		Short: "write a run's jobs, sites, bids, rounds, signals and payments as CSV, JSON or Parquet",
		Long: `Write tables of a run for pandas, DuckDB, R or a spreadsheet: jobs, sites, bids, rounds,
signals and payments, a row each, with units in the names of columns (docs/export.md). The rows of
several policies stand one after the other, with the policy in a column.

Energy, carbon and money of jobs and sites add up to the table of "gridbid replay".
With --live the tables are those of a running federation until now.`,
		Example: `  gridbid export > jobs.csv
  gridbid export --table jobs,sites,rounds --format parquet --out tables/
  gridbid export --policy auction --table bids --format json --out -
  gridbid export --live --table jobs,sites --out tables/`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.runExport(cmd) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.run, "run", lastRunFolder, "folder of the run's ledgers")
	fl.StringSliceVar(&f.policies, "policy", nil, "policies to export (default: all of the run)")
	fl.StringSliceVar(&f.tables, "table", []string{"jobs"}, "tables to write: jobs, sites, bids, rounds, signals, payments")
	fl.StringVar(&f.format, "format", "csv", "format: "+strings.Join(tables.Formats(), ", "))
	fl.StringVar(&f.out, "out", "-", "`FOLDER` for a file of each table; - writes one table to standard output")
	f.selected.record.registerFlags(cmd)
	f.selected.registerAt(cmd)
	return cmd
}

// runExport checks the flags, and writes the tables.
func (f *exportFlags) runExport(cmd *cobra.Command) error {
	e := tableExport{stderr: cmd.ErrOrStderr()}
	err := f.selectRecords(&e)
	if err != nil {
		return err
	}
	var chosen []tables.Table
	for _, name := range f.tables {
		t, err := tables.Named(name)
		if err != nil {
			return usageError{fmt.Errorf("--table: %w", err)}
		}
		chosen = append(chosen, t)
	}
	_, onTerminal := terminalOf(cmd.OutOrStdout())
	switch {
	case !slices.Contains(tables.Formats(), f.format):
		return usageError{fmt.Errorf("--format: no format %q: want %s", f.format, strings.Join(tables.Formats(), ", "))}
	case f.out == "-" && len(chosen) > 1:
		return usageError{errors.New("--out: standard output takes one table: name a folder for several")}
	case f.out == "-" && f.format == "parquet" && onTerminal:
		return usageError{errors.New("--out: Parquet is no text for a terminal: name a folder, or redirect it")}
	}
	if f.out == "-" {
		return e.writeTables(f.format, chosen, []io.Writer{cmd.OutOrStdout()})
	}
	if err := ensureWritableFolder(f.out); err != nil {
		return usageError{fmt.Errorf("--out: %w", err)}
	}
	var files []io.Writer
	for _, t := range chosen {
		file, err := os.Create(filepath.Join(f.out, t.Name+"."+f.format))
		if err != nil {
			return usageError{fmt.Errorf("--out: %w", err)}
		}
		defer file.Close() // a second time after success; then it fails without consequence
		files = append(files, file)
	}
	err = e.writeTables(f.format, chosen, files)
	for i, file := range files {
		err = errors.Join(err, file.(*os.File).Close())
		fmt.Fprintf(notesOf(cmd), "%s: %d rows\n", file.(*os.File).Name(), e.rows[i])
	}
	return err
}

// selectRecords sets what an export reads.
func (f *exportFlags) selectRecords(e *tableExport) error {
	at, err := parseAt(f.selected.at)
	if err != nil {
		return err
	}
	if url, err := f.selected.record.url(); err != nil || url != "" {
		e.from = []recordSource{{path: url, at: at}}
		return err
	}
	policies, err := chosenPolicies(f.run, f.policies)
	if err != nil {
		return err
	}
	for _, policy := range policies {
		path, err := findLedger(f.run, policy)
		if err != nil {
			return usageError{err}
		}
		e.from = append(e.from, recordSource{path: path, at: at})
	}
	if e.metas, err = readMetas(f.run); err != nil {
		return usageError{err}
	}
	return nil
}

// A tableExport writes tables of some records: of a run's policies, or of a running coordinator.
type tableExport struct {
	from   []recordSource
	metas  []history.Meta // of the run's policies, as far as known
	stderr io.Writer
	rows   []int // written of each table
}

// writeTables writes each table to its output. One record is in memory at a time.
func (e *tableExport) writeTables(format string, chosen []tables.Table, to []io.Writer) error {
	e.rows = make([]int, len(chosen))
	writers := make([]tables.Writer, len(chosen))
	for i, t := range chosen {
		w, err := tables.NewWriter(to[i], format, t)
		if err != nil {
			return err
		}
		writers[i] = w
	}
	all := slices.ContainsFunc(chosen, func(t tables.Table) bool { return t.NeedAll })
	for _, from := range e.from {
		run, err := from.readTables(e.metas, history.Config{All: all}, e.stderr)
		if err != nil {
			return err
		}
		for i, t := range chosen {
			for row := range t.Rows(run.Run) {
				if err := writers[i].WriteRow(row); err != nil {
					return err
				}
				e.rows[i]++
			}
		}
	}
	var err error
	for _, w := range writers {
		err = errors.Join(err, w.Close())
	}
	return err
}
