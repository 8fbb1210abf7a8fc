package journal

import (
	"errors"
	"io"

	"github.com/gridbid/gridbid/protocol"
)

// A Summary is what a journal holds.
type Summary struct {
	Header   map[string]string
	Messages uint64 // of kinds unknown to us, too
	Unknown  uint64 // of those, of unknown kinds
	Bytes    int64
	Digest   string // see [Writer.Digest]
}

// Verify reads the journal at path from beginning to end. On an error it
// returns what is good before that.
func Verify(path string) (Summary, error) {
	r, err := Open(path)
	if err != nil {
		return Summary{}, err
	}
	defer r.Close()
	return r.verify()
}

func (r *Reader) verify() (Summary, error) {
	s := Summary{Header: r.header}
	for {
		_, err := r.Read()
		switch {
		case errors.As(err, new(*protocol.UnknownKindError)):
			s.Unknown++
		case errors.Is(err, io.EOF):
			err = nil
			fallthrough
		case err != nil:
			s.Messages, s.Bytes, s.Digest = r.count, r.at, r.Digest()
			return s, err
		}
	}
}
