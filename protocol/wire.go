package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A wire is a MessagePack buffer that is written or read. The first error
// sticks, so a walk checks err once, at its end.
type wire struct {
	data           []byte
	at             int // next byte to read
	writing        bool
	err            error
	reservedMemory int        // memory in bytes of the rows read so far
	names          *nameCache // nil: strings are not shared
}

// A form is the kind of an encoded value.
type form int

const (
	formNil    form = iota
	formNumber      // its value is n
	formBool        // n is 0 or 1
	formText        // of n bytes; raw bytes too
	formList        // of n values
	formTable       // of n keys and n values
	formOther       // n bytes of a type that our messages do not use: a float or an extension
)

// MaxText is the largest size in bytes of a text in a message, a Task included.
const MaxText = 64 << 10

// Bounds of decoding. Valid messages stay far below them.
const (
	maxDepth = 16

	// A few hostile bytes can stand for many large rows: one byte for a Job. The widest
	// valid row takes less than 16 bytes of memory for each encoded byte.
	maxPerByte = 20
	freeMemory = 64 << 10
)

var errTruncated = errors.New("ends too early")

// recordError keeps the first error, with its position.
func (w *wire) recordError(at int, err error) {
	if w.err == nil {
		w.err = fmt.Errorf("byte %d: %w", at, err)
	}
}

// readHead reads the beginning of a value: a whole number, or the length of others.
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

// peekHead is readHead without advancing.
func (w *wire) peekHead() (form, int) {
	at := w.at
	f, n := w.readHead()
	w.at = at
	return f, n
}

// readLongHead reads the rest of a head of more than one byte; the cases follow MessagePack's
// format table.
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

// readBytes returns the next n bytes, which alias the buffer.
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

// skipValue skips one value.
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

// skipNumber skips a number, if one follows: the fast path of skipValue.
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
		return false // skipValue reports the error
	}
	w.at += size
	return true
}

// reserveMemory reserves memory for n values of size bytes, before they are allocated.
func (w *wire) reserveMemory(n int, size uintptr) bool {
	w.reservedMemory += n * int(size)
	if w.reservedMemory > maxPerByte*len(w.data)+freeMemory {
		w.recordError(w.at, fmt.Errorf("list of %d rows that take far more memory than bytes", n))
	}
	return w.err == nil
}

// checkTextLength fails on a text that readers would refuse, so that the sender finds out.
func (w *wire) checkTextLength(n int) {
	if n > MaxText {
		w.recordError(len(w.data), fmt.Errorf("text of %d bytes; the limit is %d", n, MaxText))
	}
}
