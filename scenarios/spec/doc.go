// Package spec reads scenario specifications: a scenario.yaml, or a bare window of
// grid data with a job trace, becomes a [Scenario].
//
// A scenario file is strict: an unknown key or value is an error with the file, the
// line and what to do. schema.json is the published form of the rules, and reading
// applies that same schema. Values that a source lacks are filled in by a seeded rule
// (package generate) and listed in the scenario's Notes.
//
// The same inputs, seed and options give the same Scenario to the byte, and Hash
// identifies it.
//
// Package trace reads the formats of external files; package scenarios builds and
// replays the testbed of a scenario.
package spec
