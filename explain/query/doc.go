// Package query answers questions in plain words from the record of a run.
//
// Package question reads a question as a typed query; code here computes the
// [Answer]. No model takes part, and what was not understood is not answered.
//
// Promises: an answer says first how the question was read, with every default
// that was used; its figures are copied from messages or computed from them by
// integer sums, and carry the ids of the decisions they come from; what the
// record has no facts for is said to be absent. An answer can be had again word
// for word, by the query in words. Names come from outside and are shown as plain
// text.
//
// # Ids
//
// D-14 is the decision that the coordinator said as its fourteenth message: an
// award, a hold or a refusal of one job.
package query
