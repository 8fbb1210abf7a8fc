package protocol

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Encoding and decoding of the values of rows and jobs.

// putInt writes an integer in its shortest form, as msgpack's compact encoding does.
func (w *wire) putInt(n int64) { w.data = appendInt(w.data, n) }

// appendInt is putInt into any buffer.
func appendInt(data []byte, n int64) []byte {
	switch {
	case n >= 0:
		return appendUint(data, uint64(n))
	case n >= -32:
		return append(data, byte(n))
	case n >= math.MinInt8:
		return append(data, 0xd0, byte(n))
	case n >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(data, 0xd1), uint16(n))
	case n >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(data, 0xd2), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(data, 0xd3), uint64(n))
}

// putUint writes an unsigned integer in its shortest form.
func (w *wire) putUint(n uint64) { w.data = appendUint(w.data, n) }

// appendUint is putUint into any buffer.
func appendUint(data []byte, n uint64) []byte {
	switch {
	case n <= math.MaxInt8:
		return append(data, byte(n))
	case n <= math.MaxUint8:
		return append(data, 0xcc, byte(n))
	case n <= math.MaxUint16:
		return append(data, 0xcd, byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return append(data, 0xce, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return binary.BigEndian.AppendUint64(append(data, 0xcf), n)
}

// putText writes a string.
func (w *wire) putText(s string) {
	w.checkTextLength(len(s))
	switch n := len(s); {
	case n < 32:
		w.data = append(w.data, 0xa0|byte(n))
	case n <= math.MaxUint8:
		w.data = append(w.data, 0xd9, byte(n))
	case n <= math.MaxUint16:
		w.data = binary.BigEndian.AppendUint16(append(w.data, 0xda), uint16(n))
	default:
		w.data = binary.BigEndian.AppendUint32(append(w.data, 0xdb), uint32(n))
	}
	w.data = append(w.data, s...)
}

// putCount writes the length of an array (short form 0x90) or a map (0x80).
func (w *wire) putCount(n int, short byte) {
	long := byte(0xdc)
	if short == 0x80 {
		long = 0xde
	}
	switch {
	case n < 16:
		w.data = append(w.data, short|byte(n))
	case n <= math.MaxUint16:
		w.data = binary.BigEndian.AppendUint16(append(w.data, long), uint16(n))
	default:
		w.data = binary.BigEndian.AppendUint32(append(w.data, long+1), uint32(n))
	}
}

// expectForm reads the head of a value that must have form f. A nil counts as the zero value
// of f.
func (w *wire) expectForm(f form, what string) int {
	start := w.at
	got, n := w.readHead()
	if got != f && got != formNil {
		w.recordError(start, fmt.Errorf("want %s", what))
		return 0
	}
	return n
}

// readInt reads an integer. The fast path covers small ones, and times and energies of eight bytes.
func (w *wire) readInt() int64 {
	if rest := w.data[w.at:]; w.err == nil && len(rest) >= 9 {
		switch c := rest[0]; {
		case c < 0x80:
			w.at++
			return int64(c)
		case c == 0xce:
			w.at += 5
			return int64(binary.BigEndian.Uint32(rest[1:]))
		case c == 0xcf:
			w.at += 9
			return int64(binary.BigEndian.Uint64(rest[1:]))
		}
	}
	return int64(w.expectForm(formNumber, "an integer"))
}

func (w *wire) putBool(v bool) {
	if v {
		w.data = append(w.data, 0xc3)
	} else {
		w.data = append(w.data, 0xc2)
	}
}

func (w *wire) readBool() bool    { return w.expectForm(formBool, "true or false") == 1 }
func (w *wire) readListHead() int { return w.expectForm(formList, "a list") }

// readText reads a string. The same names occur many times, so short ones are shared.
func (w *wire) readText() string {
	at := w.at
	b := w.readBytes(w.expectForm(formText, "text"))
	switch {
	case len(b) > MaxText:
		w.recordError(at, fmt.Errorf("text of %d bytes; the limit is %d", len(b), MaxText))
		return ""
	case len(b) == 0:
		return ""
	case len(b) > maxShared || w.names == nil:
		return string(b)
	}
	return w.names.shareName(b)
}

// maxShared is the length up to which a string is shared.
const maxShared = 32

// A nameCache holds short strings that were read lately: of those with one hash the last two.
type nameCache [1 << nameBits][2]string

const nameBits = 9

// shareName returns b as a string, without memory of its own if it was read lately.
func (c *nameCache) shareName(b []byte) string {
	last := &c[nameHash(b)>>(64-nameBits)]
	switch string(b) {
	case last[0]:
		return last[0]
	case last[1]:
		return last[1]
	}
	last[0], last[1] = string(b), last[0]
	return last[0]
}

// nameHash hashes a short name. Many names with one hash cost memory that others would share, and nothing else.
func nameHash(b []byte) uint64 {
	const prime = 0x9e3779b97f4a7c15
	h := uint64(len(b))
	for ; len(b) >= 8; b = b[8:] {
		h = (h ^ binary.LittleEndian.Uint64(b)) * prime
		h ^= h >> 32
	}
	for _, c := range b {
		h = (h ^ uint64(c)) * prime
		h ^= h >> 32
	}
	return h * prime
}
