package protocol

import (
	"encoding/binary"
	"errors"
	"reflect"
	"unsafe"

	"github.com/vmihailenco/msgpack/v5"
)

// Rows and jobs are encoded by walks of our own. Rows need that: msgpack refuses a row of
// another length than its struct, and our rows may grow. For jobs it is faster:
// reflection takes several times as long, and jobs are most of a CallForBids.
//
// One walk serves both directions. Invariant, held by a test: a walk writes the same
// bytes as msgpack would by the struct tags.

// A rowCursor is the position in a row that is written or read.
type rowCursor struct {
	w    *wire
	left int // columns not read yet
}

// beginRow begins a row of width columns, or reads the width of one.
func (w *wire) beginRow(width int) rowCursor {
	if w.writing {
		w.putCount(width, 0x90)
		return rowCursor{w, 0}
	}
	return rowCursor{w, w.readListHead()}
}

// hasMoreColumns reports whether another column follows; an older sender may send fewer.
func (c *rowCursor) hasMoreColumns() bool {
	if c.left == 0 || c.w.err != nil {
		return false
	}
	c.left--
	return true
}

// skipNewerColumns skips the columns that a newer sender added.
func (c *rowCursor) skipNewerColumns() {
	for c.hasMoreColumns() {
		c.w.skipValue(0)
	}
}

// walkInt visits an integer column.
func walkInt[T ~int | ~int64](c *rowCursor, p *T) {
	if c.w.writing {
		c.w.putInt(int64(*p))
	} else if c.hasMoreColumns() {
		*p = T(c.w.readInt())
	}
}

// walkCount visits an unsigned column.
func walkCount(c *rowCursor, p *uint64) {
	if c.w.writing {
		c.w.putUint(*p)
	} else if c.hasMoreColumns() {
		*p = uint64(c.w.readInt())
	}
}

// walkName visits a string column.
func walkName[T ~string](c *rowCursor, p *T) {
	if c.w.writing {
		c.w.putText(string(*p))
	} else if c.hasMoreColumns() {
		*p = T(c.w.readText())
	}
}

// walkBool visits a boolean column.
func walkBool(c *rowCursor, p *bool) {
	if c.w.writing {
		c.w.putBool(*p)
	} else if c.hasMoreColumns() {
		*p = c.w.readBool()
	}
}

// A rowWalker is a pointer to a row type with a walk.
type rowWalker[T any] interface {
	*T
	walkWire(*wire)
}

// walkRows visits a column that is a list of rows.
func walkRows[T any, P rowWalker[T]](c *rowCursor, p *[]T) {
	if c.w.writing || c.hasMoreColumns() {
		walkRowList[T, P](c.w, p)
	}
}

// walkRowList encodes or decodes a list of rows. An empty list is decoded as nil.
func walkRowList[T any, P rowWalker[T]](w *wire, p *[]T) {
	if w.writing {
		w.putCount(len(*p), 0x90)
	} else {
		*p = allocateList[T](w, w.readListHead())
	}
	for i := range *p {
		P(&(*p)[i]).walkWire(w)
	}
}

// walkInts visits a column that is a list of integers.
func walkInts[T ~int | ~int64](c *rowCursor, p *[]T) {
	switch {
	case c.w.writing:
		c.w.putCount(len(*p), 0x90)
		data := c.w.data // thousands of numbers: the buffer stays in registers
		for _, n := range *p {
			data = appendInt(data, int64(n))
		}
		c.w.data = data
	case c.hasMoreColumns():
		*p = allocateList[T](c.w, c.w.readListHead())
		readInts(c.w, *p)
	}
}

// walkNames visits a column that is a list of strings.
func walkNames[T ~string](c *rowCursor, p *[]T) {
	switch {
	case c.w.writing:
		c.w.putCount(len(*p), 0x90)
		for _, s := range *p {
			c.w.putText(string(s))
		}
	case c.hasMoreColumns():
		*p = allocateList[T](c.w, c.w.readListHead())
		for i := range *p {
			(*p)[i] = T(c.w.readText())
		}
	}
}

// readInts fills all with the integers that follow. Offers hold hundreds of them, so the position
// stays in a register and the common forms are read here; readInt reads the others, and whatever is
// no integer or is cut off.
func readInts[T ~int | ~int64](w *wire, all []T) {
	data, at := w.data, w.at
	for i := range all {
		if w.err != nil {
			return
		}
		if rest := data[at:]; len(rest) >= 9 {
			switch c := rest[0]; {
			case c < 0x80:
				all[i], at = T(c), at+1
				continue
			case c == 0xcd:
				all[i], at = T(binary.BigEndian.Uint16(rest[1:])), at+3
				continue
			case c == 0xce:
				all[i], at = T(binary.BigEndian.Uint32(rest[1:])), at+5
				continue
			case c == 0xcf:
				all[i], at = T(binary.BigEndian.Uint64(rest[1:])), at+9
				continue
			}
		}
		w.at = at
		all[i] = T(w.readInt())
		at = w.at
	}
	w.at = at
}

// allocateList makes a list of n values, or nil if they would exceed the memory bound of w.
func allocateList[T any](w *wire, n int) []T {
	var zero T
	if n == 0 || !w.reserveMemory(n, unsafe.Sizeof(zero)) {
		return nil
	}
	return make([]T, n)
}

// registerRow registers the walk of T, and of lists of it, with msgpack.
func registerRow[T any, P rowWalker[T]]() {
	registerWalk(func(w *wire, p *T) { P(p).walkWire(w) })
	registerWalk(walkRowList[T, P])
}

// registerWalk registers a walk with msgpack. It works only within Encode and Decode, whose buffer
// is a wire.
func registerWalk[T any](walk func(*wire, *T)) {
	var zero T
	msgpack.Register(zero,
		func(e *msgpack.Encoder, v reflect.Value) error {
			w, ok := e.Writer().(*wire)
			if !ok || !v.CanAddr() {
				return errors.New("protocol: rows can be encoded only within a message: use Encode")
			}
			walk(w, v.Addr().Interface().(*T))
			return w.err
		},
		func(d *msgpack.Decoder, v reflect.Value) error {
			w, ok := d.Buffered().(*wire)
			if !ok {
				return errors.New("protocol: rows can be decoded only within a message: use Decode")
			}
			walk(w, v.Addr().Interface().(*T))
			return w.err
		})
}

// registerBoundedList registers a decoder for lists of T that obeys the memory bound of rows. msgpack
// alone would allocate as many elements as a hostile length claims, at a byte each.
func registerBoundedList[T any]() {
	msgpack.Register([]T(nil), nil, func(d *msgpack.Decoder, v reflect.Value) error {
		w, ok := d.Buffered().(*wire)
		if !ok {
			return errors.New("protocol: lists can be decoded only within a message: use Decode")
		}
		all := reflect.ValueOf(allocateList[T](w, w.readListHead()))
		for i := range all.Len() {
			if err := d.DecodeValue(all.Index(i)); err != nil {
				return err
			}
		}
		v.Set(all)
		return w.err
	})
}
