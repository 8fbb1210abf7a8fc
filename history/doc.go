// Package history turns messages into what happened. A [History] folds the
// event stream of a run once, in the order of its log, into jobs with their
// instances, rounds, awards and run segments, sites with what they reported of
// themselves, clearing rounds, and the operators' rules. Live job status, the
// page's timeline, the query engine and the reports are read-only views of it.
// A test in internal/arch checks that no other package folds the states of a job,
// but for a list of those that do so on purpose (docs/decisions/0240).
//
// Nothing in a History is its own opinion. A figure is copied from a message, or
// computed from figures of messages by a formula that the comment of its field
// states; a [MessageRef] says which message. So a decision explained from a History
// is explained from the record, in a replay as in a federation, and a ledger
// that is read years later explains it the same way.
//
// # How much is kept
//
// A job that waits a day is called in dozens of rounds, and every site answers
// each with several options. A History keeps the first round of a job and its
// last one in full, for those are what people ask about, and one [RoundSummary] for
// each round. Config.All keeps every round in full.
//
// A coordinator that runs keeps far less (Config.Live): jobs that are open, the
// newest of those that are over, and of sites the newest reports. Its memory does
// not grow with the age of the market.
//
// # What must add up
//
// [History.CheckInvariants] holds a run to its promises: every submitted job is placed,
// refused with a reason, or waiting, and only one of these; no device,
// processor or memory is given twice at any instant; energy, carbon and money
// agree by job, by site and in total, to the unit.
//
// Words for people are in explain/narrate; pictures in scenarios/report.
package history
