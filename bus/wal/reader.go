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

	"github.com/klauspost/compress/zstd"

	"github.com/gridbid/gridbid/protocol"
)

// Two ways in which a file is incomplete. What was read before either is valid.
var (
	// ErrTorn reports a file without an end: the run was interrupted.
	ErrTorn = errors.New("torn")
	// ErrDamaged reports a file that was changed after it was written.
	ErrDamaged = errors.New("damaged")
)

// errUnpack reports compressed data that cannot be unpacked.
var errUnpack = errors.New("the compressed data is not valid")

// A Reader reads a file from its beginning, plain or compressed; offsets are those in the plain
// file. It serves one goroutine.
type Reader struct {
	header   map[string]string
	name     string
	file     io.Closer // nil: the caller closes it
	in       *bufio.Reader
	at       int64 // bytes read
	chain    chain
	count    uint64
	length   []byte
	body     bytes.Buffer
	finalErr error // returned by every further ReadMessage
}

// OpenReader reads the header of the journal at path. The error is a *protocol.VersionError
// if its header names another protocol version than this program reads.
func OpenReader(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	r, err := NewReader(file, path)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	r.file = file
	return r, nil
}

// NewReader reads the header of in; errors refer to it by name.
func NewReader(in io.Reader, name string) (*Reader, error) {
	r := &Reader{name: name, in: bufio.NewReaderSize(in, 1<<16), chain: newChain()}
	if first, _ := r.in.Peek(len(zstdMagic)); string(first) == zstdMagic {
		u, err := newUnpacker(r.in)
		if err != nil {
			return nil, fmt.Errorf("wal: %s: %w", name, err)
		}
		r.in = bufio.NewReaderSize(u, 1<<16)
	}
	line := make([]byte, len(magic))
	n, err := io.ReadFull(r.in, line)
	r.at = int64(n)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, r.tornError(0, err) // a read error: the format is still unknown
	}
	if text := string(line[:n]); text != magic[:n] || n == 0 {
		const kin = len("gridbid journal ")
		if n > kin && text[:kin] == magic[:kin] {
			return nil, fmt.Errorf("wal: %s: format %q, want %q: use a gridbid of the version that wrote it", name, text, magic)
		}
		return nil, fmt.Errorf("wal: %s: not a ledger or event file: it does not begin with %q", name, magic)
	}
	if err != nil {
		return nil, r.tornError(0, err)
	}
	text, err := r.readFrame(maxHeader)
	if err == nil && len(text) == 0 {
		err = r.damagedError(r.at, "no header")
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &r.header); err != nil {
		return nil, fmt.Errorf("wal: %s: header: %w", name, err)
	}
	if err := protocol.CheckVersion(r.header["protocol"]); err != nil {
		return nil, fmt.Errorf("wal: %s: %w", name, err)
	}
	return r, nil
}

// Header returns the file's header: what is needed to repeat the run. The caller
// must not change it.
func (r *Reader) Header() map[string]string { return r.header }

// ReadMessage returns the next message, or io.EOF after the last one of a complete file.
// If errors.As finds a *protocol.UnknownKindError, the error is about one message
// of a newer writer, and ReadMessage may be called for the next. Any other error is
// final: ErrTorn, ErrDamaged, or an error of the file system.
func (r *Reader) ReadMessage() (protocol.Message, error) {
	if r.finalErr != nil {
		return protocol.Message{}, r.finalErr
	}
	from := r.at
	body, err := r.readFrame(protocol.MaxMessage)
	if err == nil && len(body) == 0 {
		err = r.readTrailer(from)
	}
	if err != nil {
		r.finalErr = err
		return protocol.Message{}, err
	}
	r.count++
	m, err := protocol.Decode(body)
	if err != nil {
		err = fmt.Errorf("wal: %s: byte %d: message %d: %w", r.name, from, r.count, err)
		if !errors.As(err, new(*protocol.UnknownKindError)) {
			r.finalErr = err
		}
	}
	return m, err
}

// readFrame returns the bytes of the next frame, valid until the next call, or none if
// the end follows.
func (r *Reader) readFrame(limit uint64) ([]byte, error) {
	from := r.at
	size, err := r.readUvarint()
	if err != nil {
		return nil, r.tornError(from, err)
	}
	if size > limit {
		return nil, r.damagedError(from, fmt.Sprintf("a frame of %d bytes; the limit is %d", size, limit))
	}
	if size == 0 {
		return nil, nil
	}
	r.body.Reset() // it grows with the data that arrives, not with the size that a hostile file claims
	n, err := io.CopyN(&r.body, r.in, int64(size)+linkSize)
	r.at += n
	if err != nil {
		return nil, r.tornError(from, err)
	}
	body, link := r.body.Bytes()[:size], r.body.Bytes()[size:]
	if !bytes.Equal(r.chain.addFrame(r.length, body), link) {
		if link[linkSize-1] == 0 && r.onlyZerosFollow() {
			return nil, r.tornError(from, io.ErrUnexpectedEOF)
		}
		return nil, r.damagedError(from, "the frame does not fit the chain")
	}
	return body, nil
}

// readUvarint reads a number and stores its bytes in r.length, for the chain.
func (r *Reader) readUvarint() (uint64, error) {
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
				n = 1<<64 - 1 // overflow: above every limit
			}
			return n, nil
		}
	}
}

// readTrailer checks the end of the file, whose zero was read at from, and returns io.EOF
// if it is valid.
func (r *Reader) readTrailer(from int64) error {
	count, err := r.readUvarint()
	if err != nil {
		return r.tornError(from, err)
	}
	var sum [len(r.chain.sum)]byte
	n, err := io.ReadFull(r.in, sum[:])
	r.at += int64(n)
	switch {
	case err != nil:
		return r.tornError(from, err)
	case count == 0 && sum == [len(sum)]byte{} && r.onlyZerosFollow():
		return r.tornError(from, io.ErrUnexpectedEOF)
	case count != r.count:
		return r.damagedError(from, fmt.Sprintf("%d messages, but the end says %d", r.count, count))
	case sum != r.chain.sum:
		return r.damagedError(from, "the end does not fit the chain")
	}
	if _, err := r.in.ReadByte(); err != io.EOF {
		return r.damagedError(r.at, "bytes after the end")
	}
	return io.EOF
}

// onlyZerosFollow reports whether only zeros follow: space that the file system had
// allocated but not written when the power failed.
func (r *Reader) onlyZerosFollow() bool {
	for {
		if c, err := r.in.ReadByte(); err != nil || c != 0 {
			return err == io.EOF
		}
	}
}

// tornError returns ErrTorn for an early end of the file, ErrDamaged for what cannot be unpacked,
// or the error of the file system.
func (r *Reader) tornError(from int64, err error) error {
	if errors.Is(err, errUnpack) {
		return r.damagedError(from, err.Error())
	}
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return fmt.Errorf("wal: %s: byte %d: %w", r.name, r.at, err)
	}
	return fmt.Errorf("wal: %s: %w at byte %d, in what begins at byte %d: the run or the copy was interrupted; the %d messages before are valid: use them, or repeat the run",
		r.name, ErrTorn, r.at, from, r.count)
}

// damagedError returns ErrDamaged, with the offset and the number of valid messages.
func (r *Reader) damagedError(from int64, what string) error {
	return fmt.Errorf("wal: %s: %w at byte %d: %s; the %d messages before are valid: copy the file once more, or repeat the run",
		r.name, ErrDamaged, from, what, r.count)
}

// Close closes the file if OpenReader opened it.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// zstdMagic is how a compressed file begins.
const zstdMagic = "\x28\xb5\x2f\xfd"

// An unpacker unpacks a compressed file.
type unpacker struct {
	packed *errorKeeper
	zstd   *zstd.Decoder
}

func newUnpacker(packed io.Reader) (*unpacker, error) {
	u := &unpacker{packed: &errorKeeper{in: packed}}
	var err error
	// One thread at a time needs no Close; the limit is for files that claim a large window.
	u.zstd, err = zstd.NewReader(u.packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(2*compressionWindow))
	return u, err
}

// Read implements io.Reader. It tells data that cannot be unpacked from a file that cannot be read.
func (u *unpacker) Read(b []byte) (int, error) {
	n, err := u.zstd.Read(b)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF && u.packed.err == nil {
		err = fmt.Errorf("%w: %w", errUnpack, err)
	}
	return n, err
}

// An errorKeeper reads on, and keeps the error of a file that cannot be read.
type errorKeeper struct {
	in  io.Reader
	err error
}

func (k *errorKeeper) Read(b []byte) (int, error) {
	n, err := k.in.Read(b)
	if err != io.EOF {
		k.err = err
	}
	return n, err
}
