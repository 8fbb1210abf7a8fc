// Package spec reads what is to be played: a scenario.yaml, or a bare window
// of grid data with a trace of jobs, becomes a [Scenario].
//
// A scenario file is strict. What it does not know, it refuses, with the file,
// the line and what to do; schema.json is the published form of the rules, and
// the same one that reading applies. What a source lacks is filled in by a
// seeded rule (package invent) and said in the scenario's Notes, never in
// silence.
//
// The same inputs, seed and options give the same Scenario to the byte, and
// Hash names them.
//
// Formats of outside files are read by package trace; the stage on which a
// scenario is played is package scenarios.
package spec
