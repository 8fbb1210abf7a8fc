// Package bench runs the benchmark: scenario by policy by seed, each row with
// its distance to what nobody can beat.
//
// A row that was run is kept in a file of its own, named by all that it depends
// on: the scenario's hash, policy, signals, seed, weights and the program. A
// second run into the same folder runs only what is missing. Tables and the
// page are written from the rows that there are, so an interrupted run leaves
// a table of what it did.
//
// The figures are those of history, the bounds those of package
// bound; here they are only gathered, compared and shown.
package bench
