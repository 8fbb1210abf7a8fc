package protocol

// fields is a table being counted, written or read: one walk serves all three.
type fields struct {
	w     *wire
	doing int
	n     int    // counting: fields so far; reading: keys left, with this one
	key   []byte // reading: of the value that comes next
}

const (
	counting = iota
	writing
	reading
)

// When a field is written.
const (
	always     = false
	unlessZero = true
)

func (w *wire) fields(walk func(*fields)) {
	f := &fields{w: w}
	if w.writing {
		walk(f)
		w.putCount(f.n, 0x80)
		f.doing = writing
		walk(f)
		return
	}
	f.doing, f.n = reading, w.want(table, "a table")
	f.next()
	// We write fields in the order of the walk, so one walk reads them all.
	// Others may not: walk again as long as that finds some, and skip the key
	// that stops it, which is one of a newer speaker.
	for f.n > 0 && w.err == nil {
		before := f.n
		walk(f)
		if f.n == before {
			w.skip(0)
			f.n--
			f.next()
		}
	}
}

func (f *fields) next() {
	if f.n > 0 {
		f.key = f.w.bytes(f.w.want(text, "a key"))
	}
}

// now reports whether the value under key is to be written or read now.
func (f *fields) now(key string, leave bool) bool {
	switch f.doing {
	case reading:
		return f.n > 0 && string(f.key) == key && f.w.err == nil
	case counting:
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

// done goes on to the next key when reading.
func (f *fields) done() {
	f.n--
	f.next()
}

func keyInt[T ~int | ~int64](f *fields, key string, p *T, omit bool) {
	if !f.now(key, omit && *p == 0) {
		return
	}
	if f.doing == writing {
		f.w.putInt(int64(*p))
		return
	}
	*p = T(f.w.int())
	f.done()
}

func keyText[T ~string](f *fields, key string, p *T, omit bool) {
	if !f.now(key, omit && *p == "") {
		return
	}
	if f.doing == writing {
		f.w.putText(string(*p))
		return
	}
	*p = T(f.w.text())
	f.done()
}

func keyFlag(f *fields, key string, p *bool) {
	if !f.now(key, !*p) {
		return
	}
	if f.doing == writing {
		f.w.data = append(f.w.data, 0xc3)
		return
	}
	*p = f.w.bool()
	f.done()
}

func keyTexts(f *fields, key string, p *[]string) {
	if !f.now(key, len(*p) == 0) {
		return
	}
	if f.doing == writing {
		f.w.putCount(len(*p), 0x90)
		for _, s := range *p {
			f.w.putText(s)
		}
		return
	}
	*p = room[string](f.w, f.w.list())
	for i := range *p {
		(*p)[i] = f.w.text()
	}
	f.done()
}
