package chat

import "github.com/gridbid/gridbid/coordinator/record"

// Book returns the record of the run, with every round of every job in full.
// It is the Log's own: read it, and add to the Log.
func (l *Log) Book() *record.Book { return l.book }
