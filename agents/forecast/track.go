package forecast

// A track holds the received values of one quantity, by hour. It is dense:
// [Known.Hear] bounds how far it reaches.
type track struct {
	first hour // of told[0]
	told  []cell
}

type cell struct {
	value  int64 // the published value; until there is one, the service's forecast
	known  bool  // a value was published
	guess  bool  // a service forecast was received
	theirs int64 // that forecast
}

// missed returns by how much the service's forecast was too low; 0 without both.
func (c cell) missed() int64 {
	if !c.known || !c.guess {
		return 0
	}
	return c.value - c.theirs
}

// of returns what was received for h; the zero cell if nothing.
func (t *track) of(h hour) cell {
	if h < t.first || h >= t.end() {
		return cell{}
	}
	return t.told[h-t.first]
}

// at returns the published value of h.
func (t *track) at(h hour) (int64, bool) {
	c := t.of(h)
	return c.value, c.known
}

// end returns the hour after the last one stored.
func (t *track) end() hour { return t.first + hour(len(t.told)) }

// put stores the value of h. A newer value of an hour replaces an older one, but
// a service forecast (guess) never replaces a published value.
func (t *track) put(h hour, value int64, guess bool) {
	if guess && t.of(h).known {
		return
	}
	switch {
	case len(t.told) == 0:
		t.first = h
	case h < t.first:
		t.told = append(make([]cell, t.first-h), t.told...)
		t.first = h
	}
	for h >= t.end() {
		t.told = append(t.told, cell{})
	}
	c := &t.told[h-t.first]
	c.value = value
	if guess {
		c.guess, c.theirs = true, value
	} else {
		c.known = true
	}
}

// forget drops the hours before oldest, at least a week of them at a time, so
// that it seldom copies.
func (t *track) forget(oldest hour) {
	if n := int(min(oldest, t.end()) - t.first); n >= 7*day {
		t.told = append([]cell(nil), t.told[n:]...)
		t.first += hour(n)
	}
}

// before returns the last published hour at or before h.
func (t *track) before(h hour) (hour, bool) {
	for h = min(h, t.end()-1); h >= t.first; h-- {
		if t.told[h-t.first].known {
			return h, true
		}
	}
	return 0, false
}

// after returns the first published hour at or after h.
func (t *track) after(h hour) (hour, bool) {
	for h = max(h, t.first); h < t.end(); h++ {
		if t.told[h-t.first].known {
			return h, true
		}
	}
	return 0, false
}

// near returns the published value of h, or else the service's forecast of it, or
// else the last published value before it, or else the first after it. told
// reports whether the value was published for h itself, ok whether there is any.
func (t *track) near(h hour) (value int64, told, ok bool) {
	if c := t.of(h); c.known || c.guess {
		return c.value, c.known, true
	}
	other, ok := t.before(h)
	if !ok {
		other, ok = t.after(h)
	}
	v, _ := t.at(other)
	return v, false, ok
}
