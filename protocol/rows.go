package protocol

import (
	"encoding/binary"
	"reflect"
	"unsafe"
)

// Rows are structs that are encoded as arrays, and may grow at their end. Each has a walk, which serves both
// directions: thousands of rows in a message cost no reflection. Invariant, held by a test: a walk writes the
// same bytes as msgpack would by the struct tags.

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

// registerRow gives a planner the walk of T, and of lists of it.
func registerRow[T any, P rowWalker[T]](p *planner) {
	p.walks[reflect.TypeFor[T]()] = func(w *wire, v reflect.Value) { v.Addr().Interface().(P).walkWire(w) }
	p.walks[reflect.TypeFor[[]T]()] = func(w *wire, v reflect.Value) { walkRowList[T, P](w, v.Addr().Interface().(*[]T)) }
}
