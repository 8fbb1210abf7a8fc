// Package tables shows a recorded run as tables: its jobs, sites, bids, clearing rounds and
// published signals, one row each, with units in the names of columns. They are views of a history
// and hold nothing that it does not; the figures of jobs and sites add up to the totals of
// [history.History.ComputeTotals].
//
// A table is written as CSV, JSON or Parquet. docs/export.md lists all columns; package
// scenarios/report writes the comparison of policies, for people.
package tables
