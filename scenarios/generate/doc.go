// Package generate makes synthetic input: grid signals of a region, a day of jobs,
// and job traits that real traces do not record.
//
// The output is calibrated: its daily statistics are those that docs/scenarios.md
// states with their sources, and a test measures them over many seeds. The package
// contains published statistics and no recorded data.
//
// Every value is drawn from a random source that is keyed by the seed and by the
// value's owner (a region, a job, a trait). So results do not depend on the order of
// generation, and a new trait leaves existing ones unchanged.
package generate
