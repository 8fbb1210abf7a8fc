// Package live tests a live federation in one process: over a
// real NATS server, by a clock, with coordinators that take over from each other. Its
// ledgers must answer questions as those of a replay do.
package live
