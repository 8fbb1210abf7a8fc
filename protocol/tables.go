package protocol

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Bodies and jobs are encoded as maps, by the struct tags of their fields. A plan is made of the tags
// once, when the program starts; a message then costs no look at them. Invariant, held by a test: a plan
// writes the same bytes as msgpack would.

// A valueWalk writes or reads a value, which is addressable.
type valueWalk func(*wire, reflect.Value)

// A tableField is one field of a struct that is encoded as a map.
type tableField struct {
	key   string // as encoded, without its head
	head  []byte // the encoded key
	index int
	omit  func(reflect.Value) bool // whether the value is left out; nil: it never is
	walk  valueWalk
}

// A tablePlan is the fields of such a struct, in the order in which they are written.
type tablePlan []tableField

// maxTableFields is how many fields a plan may have.
const maxTableFields = 64

// walkTable visits a struct that is encoded as a map.
func (p tablePlan) walkTable(w *wire, v reflect.Value) {
	if w.writing {
		p.writeTable(w, v)
		return
	}
	next := 0
	for range w.expectForm(formTable, "a map") {
		key := w.readBytes(w.expectForm(formText, "a key"))
		if w.err != nil {
			return
		}
		i := p.indexOf(key, next)
		if i < 0 {
			w.skipValue(0) // of a newer version
			continue
		}
		p[i].walk(w, v.Field(p[i].index))
		next = i + 1
	}
}

// indexOf returns the position of the field under key, or -1. Fields come in the order of the plan, so
// it begins at next; other writers may use another order.
func (p tablePlan) indexOf(key []byte, next int) int {
	for i := next; i < len(p); i++ {
		if p[i].key == string(key) {
			return i
		}
	}
	for i := range next {
		if p[i].key == string(key) {
			return i
		}
	}
	return -1
}

// writeTable writes the fields that are not left out.
func (p tablePlan) writeTable(w *wire, v reflect.Value) {
	var left uint64 // out, by position
	n := len(p)
	for i := range p {
		if f := &p[i]; f.omit != nil && f.omit(v.Field(f.index)) {
			left |= 1 << i
			n--
		}
	}
	w.putCount(n, 0x80)
	for i := range p {
		if f := &p[i]; left&(1<<i) == 0 {
			w.data = append(w.data, f.head...)
			f.walk(w, v.Field(f.index))
		}
	}
}

// areAllOmitted reports whether no field of a struct is written.
func (p tablePlan) areAllOmitted(v reflect.Value) bool {
	for i := range p {
		if f := &p[i]; f.omit == nil || !f.omit(v.Field(f.index)) {
			return false
		}
	}
	return true
}

// A planner makes the walks of types.
type planner struct {
	walks map[reflect.Type]valueWalk
	plans map[reflect.Type]tablePlan
}

// walkOf returns the walk of the values of a type. A type that no message can have is a mistake in this
// package.
func (p *planner) walkOf(t reflect.Type) valueWalk {
	if walk := p.walks[t]; walk != nil {
		return walk
	}
	walk := p.newWalk(t)
	p.walks[t] = walk
	return walk
}

func (p *planner) newWalk(t reflect.Type) valueWalk {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return walkIntValue
	case reflect.Uint64:
		return walkUintValue
	case reflect.String:
		return walkTextValue
	case reflect.Bool:
		return walkBoolValue
	case reflect.Slice:
		return p.listWalk(t)
	case reflect.Struct:
		if _, row := t.FieldByName("_msgpack"); row {
			panic(fmt.Sprintf("protocol: the row %s is not registered", t))
		}
		return p.planOf(t).walkTable
	}
	panic(fmt.Sprintf("protocol: a message cannot have a %s", t))
}

// planOf returns the plan of a struct.
func (p *planner) planOf(t reflect.Type) tablePlan {
	if plan, ok := p.plans[t]; ok {
		return plan
	}
	var plan tablePlan
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("msgpack")
		if !f.IsExported() || f.Anonymous || !tagged || len(plan) == maxTableFields {
			panic(fmt.Sprintf("protocol: field %s of %s cannot be encoded: a field is exported, not embedded, has a msgpack tag and is one of the first %d", f.Name, t, maxTableFields))
		}
		key, option, _ := strings.Cut(tag, ",")
		w := wire{writing: true}
		w.putText(key)
		field := tableField{key: key, head: w.data, index: i, walk: p.walkOf(f.Type)}
		if option == "omitempty" {
			field.omit = p.omitterOf(f.Type)
		}
		plan = append(plan, field)
	}
	p.plans[t] = plan
	return plan
}

// omitterOf returns what reports whether a value of a type is left out where its tag says omitempty.
func (p *planner) omitterOf(t reflect.Type) func(reflect.Value) bool {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ IsZero() bool }]()) {
		return func(v reflect.Value) bool { return v.Addr().Interface().(interface{ IsZero() bool }).IsZero() }
	}
	switch t.Kind() {
	case reflect.Slice, reflect.String:
		return func(v reflect.Value) bool { return v.Len() == 0 }
	case reflect.Struct:
		if p.walks[t] != nil && p.plans[t] == nil {
			return nil // a row is written whatever it holds, unless it says itself that it is zero
		}
		return p.planOf(t).areAllOmitted
	}
	return reflect.Value.IsZero
}

func walkIntValue(w *wire, v reflect.Value) {
	if w.writing {
		w.putInt(v.Int())
	} else {
		v.SetInt(w.readInt())
	}
}

func walkUintValue(w *wire, v reflect.Value) {
	if w.writing {
		w.putUint(v.Uint())
	} else {
		v.SetUint(uint64(w.readInt()))
	}
}

func walkTextValue(w *wire, v reflect.Value) {
	if w.writing {
		w.putText(v.String())
	} else {
		v.SetString(w.readText())
	}
}

func walkBoolValue(w *wire, v reflect.Value) {
	if w.writing {
		w.putBool(v.Bool())
	} else {
		v.SetBool(w.readBool())
	}
}

// listWalk returns the walk of a list other than one of rows. Of structs, an empty list is the same as a nil
// one, as it is of rows; a nil list of others is encoded as nil.
func (p *planner) listWalk(t reflect.Type) valueWalk {
	walk, size, ofStructs := p.walkOf(t.Elem()), t.Elem().Size(), t.Elem().Kind() == reflect.Struct
	return func(w *wire, v reflect.Value) {
		switch {
		case w.writing && v.IsNil() && !ofStructs:
			w.data = append(w.data, 0xc0)
		case w.writing:
			w.putCount(v.Len(), 0x90)
		default:
			f, _ := w.peekHead()
			if n := w.readListHead(); f == formNil || n == 0 && ofStructs || !w.reserveMemory(n, size) {
				v.SetZero()
			} else {
				v.Set(reflect.MakeSlice(t, n, n))
			}
		}
		for i := range v.Len() {
			walk(w, v.Index(i))
		}
	}
}

// A bodyPlan encodes and decodes the bodies of one kind.
type bodyPlan struct {
	typ     reflect.Type
	walk    valueWalk
	scratch sync.Pool // of *reflect.Value: zero bodies that are addressable
}

// newBodyPlan returns the plan of bodies of a type.
func newBodyPlan(t reflect.Type, walk valueWalk) *bodyPlan {
	return &bodyPlan{typ: t, walk: walk, scratch: sync.Pool{New: func() any {
		v := reflect.New(t).Elem()
		return &v
	}}}
}

// writeBody writes a body.
func (p *bodyPlan) writeBody(w *wire, body Body) {
	v := p.scratch.Get().(*reflect.Value)
	v.Set(reflect.ValueOf(body))
	p.walk(w, *v)
	v.SetZero()
	p.scratch.Put(v)
}

// readBody reads a body; w.err says whether it is one.
func (p *bodyPlan) readBody(w *wire) Body {
	v := p.scratch.Get().(*reflect.Value)
	p.walk(w, *v)
	body := v.Interface().(Body)
	v.SetZero()
	p.scratch.Put(v)
	return body
}
