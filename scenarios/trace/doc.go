// Package trace reads what others recorded: hourly windows of grid data, series
// of one quantity, traces of jobs and lists of nodes, as CSV, plain or gzipped.
//
// It believes nothing. A line that cannot be true is an error that names file,
// line and field, and says what to do; nothing is skipped in silence. What a
// source has and Gridbid does not take (a job over eight GPUs, a pod that never
// ran) is counted and returned. Files may be hostile: a line has at most 64
// KiB, a file a million rows and half a gigabyte unpacked.
//
// What a source lacks is not invented here: see packages script and invent.
package trace
