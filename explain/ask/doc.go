// Package ask parses questions in plain words into typed queries.
//
// A grammar of known words, names and times turns a question into a [Query]; it never
// guesses. It refuses a question that holds an unknown word and names the word. It
// answers a question with several readings by a [Clarification] that lists them. The
// words are data: see lexicon/en.txt, and readLexicon for its format. No model takes
// part; package translate lets a model write the query where this grammar finds none.
//
// Promises:
//   - A query holds everything that its question asks for. Otherwise the caller gets a
//     [Clarification] that names what would be dropped.
//   - [Query.String] is itself a question, and parses to the same query.
//   - [Query.Check] validates a query from another source, such as a model or a JSON
//     client; [QuerySchema] publishes the fields.
//
// A [Parser] parses questions about one run, by the names in it. A [Conversation] also
// parses those that refer to earlier questions. Package query evaluates a query; this
// package never sees the record of a run.
package ask
