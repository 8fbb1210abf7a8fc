// Package query answers questions about a run from its record.
//
// Package ask parses a question into a typed query; an evaluator here computes a
// [Result], and fillAnswer renders it as an [Answer]. No model takes part, and a question
// that was not understood is not answered.
//
// Promises:
//   - An answer first says how the question was read, with every default that was used.
//   - Its figures are copied from messages or computed from them by integer sums, and
//     cite the decisions they come from.
//   - Where the record lacks the facts, the answer says that they are absent.
//   - The query in words repeats the answer word for word.
//   - Names from outside are shown as plain text, without control characters.
//
// A [Dataset] holds the run. A [Session] answers questions that refer to earlier ones.
//
// # Decision ids
//
// D-14 is the decision in the coordinator's fourteenth message: an award, a hold or a
// refusal of one job.
package query
