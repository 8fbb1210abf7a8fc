package snapshot

import (
	"github.com/gridbid/gridbid/coordinator/notary"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
)

// A logSnapshot compacts the entries of the coordinator's log. Of those that a head covers it keeps
// the edge of their tree, from which the log goes on; later ones it keeps whole, so that the next
// head is proved to go on from the last.
type logSnapshot struct {
	tree    proof.Tree // of the entries that the last head covers
	last    protocol.Message
	entries []protocol.Message // later ones
	broken  bool               // events are missing: all that came is kept, and whoever restores it says what is wrong
}

func (s *logSnapshot) addEntries(m protocol.Message, b protocol.LogEntries) {
	s.entries = append(s.entries, m)
	if !b.Head || s.broken {
		return
	}
	for _, m := range s.entries {
		if _, err := notary.ExtendTree(&s.tree, m.Body.(protocol.LogEntries)); err != nil {
			s.broken = true
			return
		}
	}
	s.tree.Prune()
	s.last, s.entries = m, nil
}

// messages returns what is kept of the log.
func (s *logSnapshot) messages() []protocol.Message {
	if s.tree.Size() == 0 {
		return s.entries
	}
	edge := s.last
	edge.Body = protocol.LogEntries{First: s.tree.Size(), Edge: s.tree.Edge(), Head: true}
	return append([]protocol.Message{edge}, s.entries...)
}
