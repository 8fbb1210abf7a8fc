package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A wire is MessagePack being written or read. It is the writer under an
// msgpack encoder and the reader under an msgpack decoder, which walk the
// bodies; rows and jobs, of which a message may hold thousands, are walked
// here. Errors stick, so a walk looks at err once, at its end.
type wire struct {
	data           []byte
	at             int // next byte to read
	writing        bool
	err            error
	reservedMemory int               // bytes of memory that the rows read take
	names          map[string]string // short strings read before, to hand out again
}

// A form is what a value looks like on the wire.
type form int

const (
	formNil    form = iota
	formNumber      // its value is n
	formBool        // n is 0 or 1
	formText        // of n bytes; raw bytes too
	formList        // of n values
	formTable       // of n keys and n values
	formOther       // n bytes that no message of ours holds: a float or an extension
)

// MaxText is the most bytes that a text of a message may have, a Task too.
const MaxText = 64 << 10

// Bounds of what is read. An honest message stays far inside them.
const (
	maxDepth = 16

	// Short hostile bytes can stand for many large rows: one byte for a Job.
	// The widest honest row is under 16 bytes of memory for each of its own.
	maxPerByte = 20
	freeMemory = 64 << 10
)

var errTruncated = errors.New("ends too early")

func (w *wire) recordError(at int, err error) {
	if w.err == nil {
		w.err = fmt.Errorf("byte %d: %w", at, err)
	}
}

// readHead reads the first bytes of a value: all of a number, the length of others.
func (w *wire) readHead() (form, int) {
	if w.err != nil {
		return formNil, 0
	}
	if w.at >= len(w.data) {
		w.recordError(w.at, errTruncated)
		return formNil, 0
	}
	c := w.data[w.at]
	w.at++
	switch {
	case c < 0x80:
		return formNumber, int(c)
	case c < 0x90:
		return formTable, int(c & 0x0f)
	case c < 0xa0:
		return formList, int(c & 0x0f)
	case c < 0xc0:
		return formText, int(c & 0x1f)
	case c >= 0xe0:
		return formNumber, int(int8(c))
	}
	return w.readLongHead(c)
}

// peekHead is head without going on.
func (w *wire) peekHead() (form, int) {
	at := w.at
	f, n := w.readHead()
	w.at = at
	return f, n
}

func (w *wire) readLongHead(c byte) (form, int) {
	switch c {
	case 0xc0:
		return formNil, 0
	case 0xc2, 0xc3:
		return formBool, int(c & 1)
	case 0xc4, 0xc5, 0xc6:
		return formText, int(w.readBigEndian(1 << (c - 0xc4)))
	case 0xc7, 0xc8, 0xc9:
		return formOther, int(w.readBigEndian(1<<(c-0xc7))) + 1
	case 0xca, 0xcb:
		return formOther, 4 << (c - 0xca)
	case 0xcc, 0xcd, 0xce, 0xcf:
		return formNumber, int(w.readBigEndian(1 << (c - 0xcc)))
	case 0xd0:
		return formNumber, int(int8(w.readBigEndian(1)))
	case 0xd1:
		return formNumber, int(int16(w.readBigEndian(2)))
	case 0xd2:
		return formNumber, int(int32(w.readBigEndian(4)))
	case 0xd3:
		return formNumber, int(w.readBigEndian(8))
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return formOther, 1<<(c-0xd4) + 1
	case 0xd9, 0xda, 0xdb:
		return formText, int(w.readBigEndian(1 << (c - 0xd9)))
	case 0xdc, 0xdd:
		return formList, int(w.readBigEndian(2 << (c - 0xdc)))
	case 0xde, 0xdf:
		return formTable, int(w.readBigEndian(2 << (c - 0xde)))
	}
	w.recordError(w.at-1, fmt.Errorf("%#x begins no value", c))
	return formNil, 0
}

// readBigEndian reads a big-endian unsigned integer of size bytes.
func (w *wire) readBigEndian(size int) uint64 {
	if len(w.data)-w.at < size {
		w.recordError(w.at, errTruncated)
		return 0
	}
	b := w.data[w.at:]
	w.at += size
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	}
	return binary.BigEndian.Uint64(b)
}

// readBytes reads n bytes, which stay part of the wire.
func (w *wire) readBytes(n int) []byte {
	if w.err != nil {
		return nil
	}
	if n < 0 || len(w.data)-w.at < n {
		w.recordError(w.at, errTruncated)
		return nil
	}
	w.at += n
	return w.data[w.at-n : w.at]
}

// skipValue reads one value and forgets it.
func (w *wire) skipValue(depth int) {
	start := w.at
	f, n := w.readHead()
	if w.err != nil {
		return
	}
	switch f {
	case formText, formOther:
		if n > MaxText {
			w.recordError(start, fmt.Errorf("text of %d bytes; the limit is %d", n, MaxText))
		}
		w.readBytes(n)
	case formList, formTable:
		if depth >= maxDepth {
			w.recordError(start, fmt.Errorf("nested more than %d deep", maxDepth))
			return
		}
		for range n {
			if w.err != nil {
				return
			}
			if f == formTable && !w.skipNumber() {
				w.skipValue(depth + 1)
			}
			if !w.skipNumber() {
				w.skipValue(depth + 1)
			}
		}
	}
}

// skipNumber skips a whole number, if that is what comes: most values are.
func (w *wire) skipNumber() bool {
	rest := w.data[w.at:]
	if len(rest) == 0 {
		return false
	}
	size := 1
	switch c := rest[0]; {
	case c >= 0xcc && c <= 0xd3:
		size += 1 << (c & 3)
	case c >= 0x80 && c < 0xe0:
		return false
	}
	if len(rest) < size {
		return false // skip will complain
	}
	w.at += size
	return true
}

// reserveMemory asks for memory for n values of size bytes, before it is made.
func (w *wire) reserveMemory(n int, size uintptr) bool {
	w.reservedMemory += n * int(size)
	if w.reservedMemory > maxPerByte*len(w.data)+freeMemory {
		w.recordError(w.at, fmt.Errorf("list of %d rows that take far more memory than bytes", n))
	}
	return w.err == nil
}

// Read implements io.Reader for an msgpack decoder.
func (w *wire) Read(p []byte) (int, error) {
	if w.at >= len(w.data) {
		return 0, io.EOF
	}
	n := copy(p, w.data[w.at:])
	w.at += n
	return n, nil
}

// ReadByte implements io.ByteReader.
func (w *wire) ReadByte() (byte, error) {
	if w.at >= len(w.data) {
		return 0, io.EOF
	}
	w.at++
	return w.data[w.at-1], nil
}

// UnreadByte implements io.ByteScanner.
func (w *wire) UnreadByte() error { w.at--; return nil }

// Write implements io.Writer for an msgpack encoder, which writes a text at once.
func (w *wire) Write(p []byte) (int, error) {
	w.checkTextLength(len(p))
	w.data = append(w.data, p...)
	return len(p), nil
}

// WriteByte implements io.ByteWriter.
func (w *wire) WriteByte(c byte) error { w.data = append(w.data, c); return nil }

// checkTextLength notes a text that nobody would read, lest it be written where it must be.
func (w *wire) checkTextLength(n int) {
	if n > MaxText {
		w.recordError(len(w.data), fmt.Errorf("text of %d bytes; the limit is %d", n, MaxText))
	}
}
