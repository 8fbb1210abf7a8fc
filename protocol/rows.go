package protocol

import (
	"errors"
	"reflect"
	"unsafe"

	"github.com/vmihailenco/msgpack/v5"
)

// Rows and jobs are walked by hand. For rows there is no other way: msgpack
// refuses a row of another length than its own, and ours may grow. For jobs it
// is speed: reflection takes several times as long, and they are most of a Call.
//
// Each has one walk for both ways. Invariant, held by a test: a walk writes
// what msgpack would by the struct tags.

// columns is the rest of a row.
type columns struct {
	w    *wire
	left int // not read yet
}

func (w *wire) row(width int) columns {
	if w.writing {
		w.putCount(width, 0x90)
		return columns{w, 0}
	}
	return columns{w, w.list()}
}

// more reports whether the speaker, who may be older, sent another column.
func (c *columns) more() bool {
	if c.left == 0 || c.w.err != nil {
		return false
	}
	c.left--
	return true
}

// end skips the columns of a newer speaker.
func (c *columns) end() {
	for c.more() {
		c.w.skip(0)
	}
}

func integer[T ~int | ~int64](c *columns, p *T) {
	if c.w.writing {
		c.w.putInt(int64(*p))
	} else if c.more() {
		*p = T(c.w.int())
	}
}

func count(c *columns, p *uint64) {
	if c.w.writing {
		c.w.putUint(*p)
	} else if c.more() {
		*p = uint64(c.w.int())
	}
}

func name[T ~string](c *columns, p *T) {
	if c.w.writing {
		c.w.putText(string(*p))
	} else if c.more() {
		*p = T(c.w.text())
	}
}

func boolean(c *columns, p *bool) {
	if c.w.writing {
		c.w.putBool(*p)
	} else if c.more() {
		*p = c.w.bool()
	}
}

// A walker is the pointer to a row.
type walker[T any] interface {
	*T
	walk(*wire)
}

func rows[T any, P walker[T]](c *columns, p *[]T) {
	if c.w.writing || c.more() {
		listOf[T, P](c.w, p)
	}
}

// listOf walks a list of rows. An empty list is read as none.
func listOf[T any, P walker[T]](w *wire, p *[]T) {
	if w.writing {
		w.putCount(len(*p), 0x90)
	} else {
		*p = room[T](w, w.list())
	}
	for i := range *p {
		P(&(*p)[i]).walk(w)
	}
}

func integers[T ~int64](c *columns, p *[]T) {
	switch {
	case c.w.writing:
		c.w.putCount(len(*p), 0x90)
		for _, n := range *p {
			c.w.putInt(int64(n))
		}
	case c.more():
		*p = room[T](c.w, c.w.list())
		for i := range *p {
			(*p)[i] = T(c.w.int())
		}
	}
}

// room makes a list of n values, or none if that is more than w may take.
func room[T any](w *wire, n int) []T {
	var zero T
	if n == 0 || !w.take(n, unsafe.Sizeof(zero)) {
		return nil
	}
	return make([]T, n)
}

// learn has msgpack call the walk of T wherever it meets one, or a list.
func learn[T any, P walker[T]]() {
	register(func(w *wire, p *T) { P(p).walk(w) })
	register(listOf[T, P])
}

func register[T any](walk func(*wire, *T)) {
	var zero T
	msgpack.Register(zero,
		func(e *msgpack.Encoder, v reflect.Value) error {
			w, ok := e.Writer().(*wire)
			if !ok || !v.CanAddr() {
				return errors.New("protocol: rows travel in a message only; see Encode")
			}
			walk(w, v.Addr().Interface().(*T))
			return w.err
		},
		func(d *msgpack.Decoder, v reflect.Value) error {
			w, ok := d.Buffered().(*wire)
			if !ok {
				return errors.New("protocol: rows travel in a message only; see Decode")
			}
			walk(w, v.Addr().Interface().(*T))
			return w.err
		})
}

// bound has a list of T take memory as rows do. msgpack walks its elements, but
// would make room for as many as their number claims: a byte each.
func bound[T any]() {
	msgpack.Register([]T(nil), nil, func(d *msgpack.Decoder, v reflect.Value) error {
		w, ok := d.Buffered().(*wire)
		if !ok {
			return errors.New("protocol: lists travel in a message only; see Decode")
		}
		all := reflect.ValueOf(room[T](w, w.list()))
		for i := range all.Len() {
			if err := d.DecodeValue(all.Index(i)); err != nil {
				return err
			}
		}
		v.Set(all)
		return w.err
	})
}
