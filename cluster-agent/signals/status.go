package signals

import (
	"maps"
	"math"
	"time"
)

// A Status is how a source stands.
type Status struct {
	Source   string    `json:"source"`
	Tells    string    `json:"tells"`
	Unit     string    `json:"unit,omitempty"`
	Value    *float64  `json:"value"` // of this hour, or else the last fact; null: none
	Of       time.Time `json:"of"`    // the hour of Value
	Guess    bool      `json:"guess,omitempty"`
	Age      float64   `json:"age_seconds"`     // since what is known as a fact ended; 0: this hour is
	Horizon  float64   `json:"horizon_seconds"` // for how long from now it tells anything
	Hours    int       `json:"hours"`           // that are known
	Read     time.Time `json:"read"`            // when it last answered
	Stale    bool      `json:"stale"`           // it has told no fact for longer than three readings, and an hour
	Failures int       `json:"failures"`        // since the process began
	Error    string    `json:"error,omitempty"` // of the last reading

	Why map[string]int `json:"why,omitempty"` // failures, by Why
}

// Status returns how all sources stand, in the order in which they are believed.
func (f *Feed) Status(now time.Time) []Status {
	out := make([]Status, len(f.Readers))
	for i, r := range f.Readers {
		out[i] = r.Status(now)
	}
	return out
}

// Status returns how the source stands at now.
func (r *Reader) Status(now time.Time) Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{Source: r.Name(), Tells: r.cfg.Tells, Unit: bounds[r.what].unit, Read: r.read, Stale: true, Why: maps.Clone(r.failures)}
	if r.err != nil {
		s.Error = r.err.Error()
	}
	for _, n := range r.failures {
		s.Failures += n
	}
	hours := hourly(r.spans)
	s.Hours = len(hours)
	this := now.UTC().Truncate(time.Hour)
	var known, end time.Time
	for at, h := range hours {
		if at.Add(time.Hour).After(end) {
			end = at.Add(time.Hour)
		}
		if !h.guess && !at.After(this) && !at.Before(known) {
			known = at
		}
	}
	if end.After(now) {
		s.Horizon = end.Sub(now).Seconds()
	}
	if !known.IsZero() {
		age := max(now.Sub(known.Add(time.Hour)), 0)
		s.Age, s.Stale = age.Seconds(), age > 3*r.every+time.Hour
	}
	h, ok := hours[this]
	if s.Of = this; !ok && !known.IsZero() {
		h, ok, s.Of = hours[known], true, known
	}
	if ok {
		value := math.Round(h.value*1e6) / 1e6
		s.Value, s.Guess = &value, h.guess
	}
	return s
}
