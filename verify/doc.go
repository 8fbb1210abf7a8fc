// Package verify reads the log of a coordinator as somebody who does not trust it. There are two
// readers (docs/proof.md):
//
//   - A site or a tenant ([CheckParty]) has what it said and was told, with the receipts and heads
//     that it got, and what the coordinator shows it of the log. It finds whether its own bids, jobs,
//     awards, payments and preemptions are there unaltered and follow the rules in force, and whether
//     all sites were shown one log.
//   - An auditor ([CheckRecord]) has the whole record, reads all bids and runs all clearings again.
//
// A [Finding] names its check, and what does not agree. No finding means that what was checked holds;
// [Report] says how much that was, and what could not be judged.
//
// The package shares no code with what answers questions about a record (history, explain): a fault
// there must not hide itself here.
package verify
