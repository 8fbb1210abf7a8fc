package wal

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gridbid/gridbid/protocol"
)

// Two ways in which a journal is not whole. What was read before either is good.
var (
	// ErrTorn is a file that stops before its end: the run was cut off.
	ErrTorn = errors.New("torn")
	// ErrDamaged is a file that is not as it was written.
	ErrDamaged = errors.New("damaged")
)

// A Reader reads a journal from its beginning. It is for one goroutine.
type Reader struct {
	header map[string]string
	name   string
	file   io.Closer // nil: not ours
	in     *bufio.Reader
	at     int64 // bytes read
	chain  chain
	count  uint64
	length []byte
	body   bytes.Buffer
	over   error // what every further Read returns
}

// Open reads the header of the journal at path. The error is a *protocol.VersionError
// if its header names another protocol version than this program reads.
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	r, err := NewReader(file, path)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	r.file = file
	return r, nil
}

// NewReader reads the header of the journal in in, which errors call name.
func NewReader(in io.Reader, name string) (*Reader, error) {
	r := &Reader{name: name, in: bufio.NewReaderSize(in, 1<<16), chain: newChain()}
	line := make([]byte, len(magic))
	n, err := io.ReadFull(r.in, line)
	r.at = int64(n)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, r.torn(0, err) // it is not known what it is
	}
	if text := string(line[:n]); text != magic[:n] || n == 0 {
		const kin = len("gridbid journal ")
		if n > kin && text[:kin] == magic[:kin] {
			return nil, fmt.Errorf("journal: %s: format %q is not %q, which this program reads: use one that is as new", name, text, magic)
		}
		return nil, fmt.Errorf("journal: %s: not a journal: it does not begin with %q", name, magic)
	}
	if err != nil {
		return nil, r.torn(0, err)
	}
	text, err := r.frame(maxHeader)
	if err == nil && len(text) == 0 {
		err = r.damaged(r.at, "no header")
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &r.header); err != nil {
		return nil, fmt.Errorf("journal: %s: header: %w", name, err)
	}
	if err := protocol.CheckVersion(r.header["protocol"]); err != nil {
		return nil, fmt.Errorf("journal: %s: %w", name, err)
	}
	return r, nil
}

// Header returns what the journal is about. It is the reader's own.
func (r *Reader) Header() map[string]string { return r.header }

// Read returns the next message, or io.EOF after the last one of a whole
// journal. An error for which errors.As finds a *protocol.UnknownKindError is
// about one message of a newer writer, and reading goes on after it; any other
// is the end: ErrTorn, ErrDamaged, or what the file system says.
func (r *Reader) Read() (protocol.Message, error) {
	if r.over != nil {
		return protocol.Message{}, r.over
	}
	from := r.at
	body, err := r.frame(protocol.MaxMessage)
	if err == nil && len(body) == 0 {
		err = r.end(from)
	}
	if err != nil {
		r.over = err
		return protocol.Message{}, err
	}
	r.count++
	m, err := protocol.Decode(body)
	if err != nil {
		err = fmt.Errorf("journal: %s: byte %d: message %d: %w", r.name, from, r.count, err)
		if !errors.As(err, new(*protocol.UnknownKindError)) {
			r.over = err
		}
	}
	return m, err
}

// frame returns the bytes of the next frame, which hold until the next call, or
// none if the end is here.
func (r *Reader) frame(limit uint64) ([]byte, error) {
	from := r.at
	size, err := r.uvarint()
	if err != nil {
		return nil, r.torn(from, err)
	}
	if size > limit {
		return nil, r.damaged(from, fmt.Sprintf("a length of %d; the limit is %d", size, limit))
	}
	if size == 0 {
		return nil, nil
	}
	r.body.Reset() // it grows with what comes, not with what size claims
	n, err := io.CopyN(&r.body, r.in, int64(size)+linkSize)
	r.at += n
	if err != nil {
		return nil, r.torn(from, err)
	}
	body, link := r.body.Bytes()[:size], r.body.Bytes()[size:]
	if !bytes.Equal(r.chain.add(r.length, body), link) {
		if link[linkSize-1] == 0 && r.blank() {
			return nil, r.torn(from, io.ErrUnexpectedEOF)
		}
		return nil, r.damaged(from, "the frame does not fit the chain")
	}
	return body, nil
}

// uvarint reads a number, whose bytes it leaves in r.length.
func (r *Reader) uvarint() (uint64, error) {
	r.length = r.length[:0]
	for {
		c, err := r.in.ReadByte()
		if err != nil {
			return 0, err
		}
		r.at++
		r.length = append(r.length, c)
		if c < 0x80 || len(r.length) == binary.MaxVarintLen64 {
			n, size := binary.Uvarint(r.length)
			if size <= 0 {
				n = 1<<64 - 1 // over every limit
			}
			return n, nil
		}
	}
}

// end reads the end of the journal, whose zero was read at from, and returns
// io.EOF if it is as it should be.
func (r *Reader) end(from int64) error {
	count, err := r.uvarint()
	if err != nil {
		return r.torn(from, err)
	}
	var sum [len(r.chain.sum)]byte
	n, err := io.ReadFull(r.in, sum[:])
	r.at += int64(n)
	switch {
	case err != nil:
		return r.torn(from, err)
	case count == 0 && sum == [len(sum)]byte{} && r.blank():
		return r.torn(from, io.ErrUnexpectedEOF)
	case count != r.count:
		return r.damaged(from, fmt.Sprintf("%d messages at an end that counts %d", r.count, count))
	case sum != r.chain.sum:
		return r.damaged(from, "the end does not fit the chain")
	}
	if _, err := r.in.ReadByte(); err != io.EOF {
		return r.damaged(r.at, "bytes after the end")
	}
	return io.EOF
}

// blank reports whether nothing but zeros follows: room that a file was given, and
// that was not written yet when the power failed.
func (r *Reader) blank() bool {
	for {
		if c, err := r.in.ReadByte(); err != nil || c != 0 {
			return err == io.EOF
		}
	}
}

func (r *Reader) torn(from int64, err error) error {
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return fmt.Errorf("journal: %s: byte %d: %w", r.name, r.at, err)
	}
	return fmt.Errorf("journal: %s: %w at byte %d, in what begins at byte %d: the run was cut off, or the file was; the %d messages before are good: use them, or repeat the run",
		r.name, ErrTorn, r.at, from, r.count)
}

func (r *Reader) damaged(from int64, what string) error {
	return fmt.Errorf("journal: %s: %w at byte %d: %s; the %d messages before are good: fetch the file again, or repeat the run",
		r.name, ErrDamaged, from, what, r.count)
}

// Close closes the file if Open opened it.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
