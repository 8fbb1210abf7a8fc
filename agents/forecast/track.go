package forecast

// A track holds the received values of one quantity, by hour. It is dense:
// [GridState.RecordSignal] bounds how far it reaches.
type track struct {
	first hour // of cells[0]
	cells []cell
}

type cell struct {
	value   int64 // the published value; until there is one, the service's forecast
	known   bool  // a value was published
	guess   bool  // a service forecast was received
	guessed int64 // that forecast
}

// guessMiss returns by how much the service's forecast was too low; 0 without both.
func (c cell) guessMiss() int64 {
	if !c.known || !c.guess {
		return 0
	}
	return c.value - c.guessed
}

// cellAt returns what was received for h; the zero cell if nothing.
func (t *track) cellAt(h hour) cell {
	if h < t.first || h >= t.endHour() {
		return cell{}
	}
	return t.cells[h-t.first]
}

// factAt returns the published value of h.
func (t *track) factAt(h hour) (int64, bool) {
	c := t.cellAt(h)
	return c.value, c.known
}

// endHour returns the hour after the last one stored.
func (t *track) endHour() hour { return t.first + hour(len(t.cells)) }

// putValue stores the value of h. A newer value of an hour replaces an older one, but
// a service forecast (guess) never replaces a published value.
func (t *track) putValue(h hour, value int64, guess bool) {
	if guess && t.cellAt(h).known {
		return
	}
	switch {
	case len(t.cells) == 0:
		t.first = h
	case h < t.first:
		t.cells = append(make([]cell, t.first-h), t.cells...)
		t.first = h
	}
	for h >= t.endHour() {
		t.cells = append(t.cells, cell{})
	}
	c := &t.cells[h-t.first]
	c.value = value
	if guess {
		c.guess, c.guessed = true, value
	} else {
		c.known = true
	}
}

// forgetBefore drops the hours before oldest, at least a week of them at a time, so
// that it seldom copies.
func (t *track) forgetBefore(oldest hour) {
	if n := int(min(oldest, t.endHour()) - t.first); n >= 7*day {
		t.cells = append([]cell(nil), t.cells[n:]...)
		t.first += hour(n)
	}
}

// lastFactBefore returns the last published hour at or before h.
func (t *track) lastFactBefore(h hour) (hour, bool) {
	for h = min(h, t.endHour()-1); h >= t.first; h-- {
		if t.cells[h-t.first].known {
			return h, true
		}
	}
	return 0, false
}

// firstFactAfter returns the first published hour at or after h.
func (t *track) firstFactAfter(h hour) (hour, bool) {
	for h = max(h, t.first); h < t.endHour(); h++ {
		if t.cells[h-t.first].known {
			return h, true
		}
	}
	return 0, false
}

// nearestValue returns the published value of h, or else the service's forecast of it, or
// else the last published value before it, or else the first after it. known
// reports whether the value was published for h itself, ok whether there is any.
func (t *track) nearestValue(h hour) (value int64, known, ok bool) {
	if c := t.cellAt(h); c.known || c.guess {
		return c.value, c.known, true
	}
	other, ok := t.lastFactBefore(h)
	if !ok {
		other, ok = t.firstFactAfter(h)
	}
	v, _ := t.factAt(other)
	return v, false, ok
}
