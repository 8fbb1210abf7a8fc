package forecast

// A track is what is known of one quantity, by hour. It is dense: bounds on
// how far it reaches are kept by [Known.Hear].
type track struct {
	first hour // of told[0]
	told  []cell
}

type cell struct {
	value  int64 // the fact; as long as there is none, the guess
	known  bool  // as a fact
	guess  bool  // by others
	theirs int64 // what they guessed
}

// missed returns by how much others guessed too little; nothing, if they did not.
func (c cell) missed() int64 {
	if !c.known || !c.guess {
		return 0
	}
	return c.value - c.theirs
}

// of returns what was told of h.
func (t *track) of(h hour) cell {
	if h < t.first || h >= t.end() {
		return cell{}
	}
	return t.told[h-t.first]
}

// at returns the value told of h as a fact.
func (t *track) at(h hour) (int64, bool) {
	c := t.of(h)
	return c.value, c.known
}

// end returns the hour past the last told.
func (t *track) end() hour { return t.first + hour(len(t.told)) }

// put remembers the value of h. A newer word about an hour replaces the older,
// but a guess never a fact.
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

// forget drops the hours before oldest, a week of them at a time.
func (t *track) forget(oldest hour) {
	if n := int(min(oldest, t.end()) - t.first); n >= 7*day {
		t.told = append([]cell(nil), t.told[n:]...)
		t.first += hour(n)
	}
}

// before returns the last hour told that is not after h.
func (t *track) before(h hour) (hour, bool) {
	for h = min(h, t.end()-1); h >= t.first; h-- {
		if t.told[h-t.first].known {
			return h, true
		}
	}
	return 0, false
}

// after returns the first hour told that is not before h.
func (t *track) after(h hour) (hour, bool) {
	for h = max(h, t.first); h < t.end(); h++ {
		if t.told[h-t.first].known {
			return h, true
		}
	}
	return 0, false
}

// near returns the value of h, or else what others guessed it to be, or else that
// of the last hour told before it, or else of the first after it; told is whether
// it is a fact of h itself, and ok whether anything was told at all.
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
