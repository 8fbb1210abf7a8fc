// Package generate makes up what no source gives: the grid of a region that does
// not exist, a day of jobs, and what a real trace does not say of its jobs.
//
// What it makes is calibrated: its daily statistics are those that
// docs/scenarios.md states with their sources, and a test measures them over
// many seeds. No recorded data is in here, only figures about some.
//
// Every value is drawn from dice that are named by the seed and by what the
// value belongs to (a region, a job, a trait), so nothing depends on the order
// in which things are made, and a new trait leaves the old ones as they were.
package generate
