package protocol

// A fieldCursor is the position in a map that is counted, written or read; one walk serves all
// three.
type fieldCursor struct {
	w     *wire
	phase int
	n     int    // counting: fields so far; reading: keys left, including this one
	key   []byte // reading: the key of the next value
}

const (
	phaseCounting = iota
	phaseWriting
	phaseReading
)

// When a field is written.
const (
	always     = false
	unlessZero = true
)

// walkTable writes or reads a map of the fields that walk visits.
func (w *wire) walkTable(walk func(*fieldCursor)) {
	f := &fieldCursor{w: w}
	if w.writing {
		walk(f)
		w.putCount(f.n, 0x80)
		f.phase = phaseWriting
		walk(f)
		return
	}
	f.phase, f.n = phaseReading, w.expectForm(formTable, "a map")
	f.readNextKey()
	// Fields are written in the order of the walk, so one walk reads them all. Other
	// writers may use another order: repeat the walk as long as it finds fields, and
	// skip the key that it stops at, which belongs to a newer version.
	for f.n > 0 && w.err == nil {
		before := f.n
		walk(f)
		if f.n == before {
			w.skipValue(0)
			f.n--
			f.readNextKey()
		}
	}
}

func (f *fieldCursor) readNextKey() {
	if f.n > 0 {
		f.key = f.w.readBytes(f.w.expectForm(formText, "a key"))
	}
}

// beginField reports whether the value under key is to be written or read in this step.
func (f *fieldCursor) beginField(key string, leave bool) bool {
	switch f.phase {
	case phaseReading:
		return f.n > 0 && string(f.key) == key && f.w.err == nil
	case phaseCounting:
		if !leave {
			f.n++
		}
		return false
	}
	if !leave {
		f.w.putText(key)
	}
	return !leave
}

// finishField advances to the next key when reading.
func (f *fieldCursor) finishField() {
	f.n--
	f.readNextKey()
}

// walkIntField visits an integer field; omit leaves out a zero.
func walkIntField[T ~int | ~int64](f *fieldCursor, key string, p *T, omit bool) {
	if !f.beginField(key, omit && *p == 0) {
		return
	}
	if f.phase == phaseWriting {
		f.w.putInt(int64(*p))
		return
	}
	*p = T(f.w.readInt())
	f.finishField()
}

// walkTextField visits a string field; omit leaves out "".
func walkTextField[T ~string](f *fieldCursor, key string, p *T, omit bool) {
	if !f.beginField(key, omit && *p == "") {
		return
	}
	if f.phase == phaseWriting {
		f.w.putText(string(*p))
		return
	}
	*p = T(f.w.readText())
	f.finishField()
}

// walkTextListField visits a list of strings, which is written only if not empty.
func walkTextListField(f *fieldCursor, key string, p *[]string) {
	if !f.beginField(key, len(*p) == 0) {
		return
	}
	if f.phase == phaseWriting {
		f.w.putCount(len(*p), 0x90)
		for _, s := range *p {
			f.w.putText(s)
		}
		return
	}
	*p = allocateList[string](f.w, f.w.readListHead())
	for i := range *p {
		(*p)[i] = f.w.readText()
	}
	f.finishField()
}

// walkRowListField visits a list of rows, which is written only if not empty.
func walkRowListField[T any, P rowWalker[T]](f *fieldCursor, key string, p *[]T) {
	if !f.beginField(key, len(*p) == 0) {
		return
	}
	walkRowList[T, P](f.w, p)
	if f.phase == phaseReading {
		f.finishField()
	}
}
