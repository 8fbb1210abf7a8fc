// Package ask reads questions in plain words.
//
// A question is translated, never guessed at: a grammar of known words, names
// and times turns it into a typed [Query]. A question with one word that the
// grammar does not know is refused, and the word is named; one that can be read
// in several ways is given back as readings to choose from. Its words are data: see
// lexicon/en.txt, and readLexicon for what a line of it may be. No model takes part;
// package translate has one write a query where this grammar reads none.
//
// Promises: a query says all that its question said, or the question is given
// back ([Clarification]) with what would be lost. [Query.String] is a question too, and is
// read as the same query. [Query.Check] holds a query that somebody else wrote to what
// its question may have; [QuerySchema] publishes that.
//
// A [Parser] reads questions about one run, by the names in it; a [Conversation] reads
// those that lean on the ones before them. What a query comes to is computed in
// package query, which alone knows the record.
package ask
