package wal

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/gridbid/gridbid/protocol"
)

// A Writer appends messages to a file. It serves one goroutine. After an error it
// writes nothing more, and every call returns that error.
type Writer struct {
	name   string
	file   io.Closer // nil: the caller closes it
	out    *bufio.Writer
	chain  chain
	count  uint64
	length []byte
	body   []byte
	err    error
	closed bool
}

// CreateFile begins a new file at path. It refuses an existing file, so that no file is
// overwritten. The header must hold what is needed to repeat the run; put no time
// and no host name in it, so that a repeated run has the same bytes.
func CreateFile(path string, header map[string]string) (*Writer, error) {
	file, err := createNew(path)
	if err != nil {
		return nil, err
	}
	return beginFile(file, path, header)
}

// CreateCompressedFile is CreateFile for a file that nobody needs before it is closed: what is
// written last is lost if the process dies. Readers recognize the file; `zstd -d` unpacks it.
func CreateCompressedFile(path string, header map[string]string) (*Writer, error) {
	file, err := createNew(path)
	if err != nil {
		return nil, err
	}
	// One thread at a time, so that the same messages give the same bytes.
	z, err := zstd.NewWriter(file, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(compressionWindow))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wal: %s: %w", path, err), file.Close())
	}
	return beginFile(compressor{z, file}, path, header)
}

// compressionWindow is how far back the compression finds what repeats: some rounds of bids.
const compressionWindow = 8 << 20

func createNew(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("wal: %w: give another name, or remove that file", err)
	}
	if err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	return file, nil
}

// beginFile returns the writer of a file, which it closes.
func beginFile(file io.WriteCloser, path string, header map[string]string) (*Writer, error) {
	w, err := NewWriter(file, path, header)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	w.file = file
	return w, nil
}

// A compressor compresses a file as it is written.
type compressor struct {
	*zstd.Encoder
	file *os.File
}

func (c compressor) Close() error { return errors.Join(c.Encoder.Close(), c.file.Close()) }

// NewWriter begins a file on out; errors refer to it by name.
func NewWriter(out io.Writer, name string, header map[string]string) (*Writer, error) {
	w := &Writer{name: name, out: bufio.NewWriterSize(out, 1<<16), chain: newChain()}
	if header == nil {
		header = map[string]string{}
	}
	text, err := json.Marshal(header) // sorts the keys
	if err != nil {
		return nil, fmt.Errorf("wal: %s: header: %w", name, err)
	}
	if len(text) > maxHeader {
		return nil, fmt.Errorf("wal: %s: header of %d bytes; the limit is %d", name, len(text), maxHeader)
	}
	w.writeBytes([]byte(magic))
	w.writeFrame(text)
	return w, w.err
}

// maxHeader is the largest size of a header in bytes.
const maxHeader = 1 << 20

// AppendMessage writes m at the end. It may stay in a buffer: see Flush.
func (w *Writer) AppendMessage(m protocol.Message) error {
	if w.err != nil {
		return w.err
	}
	if w.closed {
		return fmt.Errorf("wal: %s: append after close", w.name)
	}
	body, err := protocol.AppendEncode(w.body[:0], m)
	if err != nil {
		return fmt.Errorf("wal: %s: message %d: %w", w.name, w.count+1, err)
	}
	w.body = body
	w.writeFrame(body)
	w.count++
	return w.err
}

// writeFrame writes a frame: its length, its bytes, and its link of the chain.
func (w *Writer) writeFrame(body []byte) {
	w.length = binary.AppendUvarint(w.length[:0], uint64(len(body)))
	link := w.chain.addFrame(w.length, body)
	w.writeBytes(w.length)
	w.writeBytes(body)
	w.writeBytes(link)
}

func (w *Writer) writeBytes(b []byte) {
	if w.err != nil {
		return
	}
	if _, err := w.out.Write(b); err != nil {
		w.err = fmt.Errorf("wal: %s: %w; the file is torn after about %d messages", w.name, err, w.count)
	}
}

// Flush writes buffered messages to the file; it does not sync the disk.
func (w *Writer) Flush() error {
	if err := w.out.Flush(); err != nil && w.err == nil {
		w.err = fmt.Errorf("wal: %s: %w", w.name, err)
	}
	if c, ok := w.file.(compressor); ok && w.err == nil {
		if err := c.Encoder.Flush(); err != nil {
			w.err = fmt.Errorf("wal: %s: %w", w.name, err)
		}
	}
	return w.err
}

// ChainDigest returns the chain so far, in hex: two files with the same digest hold the
// same header and messages.
func (w *Writer) ChainDigest() string { return w.chain.String() }

// Close writes the end, and closes the file if CreateFile opened it. A second call
// does nothing.
func (w *Writer) Close() error {
	if !w.closed {
		w.writeBytes(binary.AppendUvarint([]byte{0}, w.count))
		w.writeBytes(w.chain.sum[:])
	}
	return w.CloseWithoutEnd()
}

// CloseWithoutEnd closes the file without an end, for a run that was abandoned: readers get
// ErrTorn after its last message.
func (w *Writer) CloseWithoutEnd() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	if err := w.out.Flush(); err != nil && w.err == nil {
		w.err = fmt.Errorf("wal: %s: %w", w.name, err)
	}
	if w.file != nil {
		if err := w.file.Close(); err != nil && w.err == nil {
			w.err = fmt.Errorf("wal: %w", err)
		}
	}
	return w.err
}
