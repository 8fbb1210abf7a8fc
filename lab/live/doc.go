// Package live is tests of a whole federation that lives in one process: over a
// real server, by a clock, with coordinators that come and go. What is asked of
// its ledgers has to hold as it does of a replay's.
package live
