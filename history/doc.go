// Package history turns what was said into what happened. A [Book] reads the
// messages of a run, in the order of the run's ledger, and holds for each job
// what was asked, what every site answered, what was decided and why, and what
// came of it.
//
// Nothing in a Book is its own opinion. A figure is copied from a message, or
// computed from figures of messages by a formula that the comment of its field
// states; an [Origin] says which message. So a decision explained from a Book
// is explained from the record, in a replay as in a federation, and a ledger
// read years later tells the same story.
//
// # How much is kept
//
// A job that waits a day is called in dozens of rounds, and every site answers
// each with several options. A Book keeps the first round of a job and its
// last one in full, for those are what people ask about, and one [Line] for
// each round. Config.All keeps every round in full.
//
// # What must add up
//
// [Book.Check] holds a run to its promises: every submitted job is placed,
// refused with a reason, or waiting, and only one of these; no device,
// processor or memory is given twice at any instant; energy, carbon and money
// agree by job, by site and in total, to the unit.
//
// Words for people are in explain/narrate; pictures in scenarios/report.
package history
