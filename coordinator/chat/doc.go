// Package chat answers questions in plain words from the record of a run.
//
// A question is translated, never guessed at: a grammar of known words, names
// and times turns it into a typed [Query], and code computes the [Answer]. A
// question with one word that the grammar does not know is refused, and the
// word is named; one that can be read in several ways is given back as
// readings to choose from. No model takes part.
//
// Promises: an answer says first how the question was read, with every default
// that was used; its figures are copied from messages or computed from them by
// integer sums, and carry the ids of the decisions they come from; what the
// record has no facts for is said to be absent. [Query.String] is a question
// too, and is read as the same query, so an answer can be had again word for
// word. Names come from outside and are shown as plain text.
//
// # Ids
//
// D-14 is the decision that the coordinator said as its fourteenth message: an
// award, a hold or a refusal of one job.
package chat
