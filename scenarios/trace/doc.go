// Package trace reads recorded input data from CSV, plain or gzipped: hourly windows
// of grid data, series of one quantity, service forecasts, job traces, node lists and
// requests to inference services, also as JSON lines; and makes a day of a short trace of requests.
//
// Input is untrusted. A value out of range is an error that names file, line and
// field and what to do; no row is skipped silently. Rows that are valid in the source
// and that Gridbid cannot run (a job with more than eight GPUs, a pod that never ran)
// are counted and returned. Limits against hostile files: 64 KiB a line, a million
// rows, half a gigabyte unpacked.
//
// This package does not fill in values that a source lacks: packages spec and
// generate do.
package trace
