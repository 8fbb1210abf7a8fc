package signals

import (
	"errors"
	"maps"
	"math"
	"time"
)

// A SourceStatus describes the state of a source.
type SourceStatus struct {
	Source   string    `json:"source"`
	Tells    string    `json:"tells"`
	Unit     string    `json:"unit,omitempty"`
	Value    *float64  `json:"value"` // of this hour, else the last fact; null: none
	Of       time.Time `json:"of"`    // the hour of Value
	Guess    bool      `json:"guess,omitempty"`
	Age      float64   `json:"age_seconds"`     // time since the last hour that is known, measured or estimated; 0: the current hour is known
	Horizon  float64   `json:"horizon_seconds"` // time from now until the end of the last known hour
	Hours    int       `json:"hours"`           // number of known hours
	Read     time.Time `json:"read"`            // last successful reading
	Stale    bool      `json:"stale"`           // no hour became known for longer than three polling intervals and an hour
	Failures int       `json:"failures"`        // since the process started
	Error    string    `json:"error,omitempty"` // of the last reading, if it failed

	Why map[string]int `json:"why,omitempty"` // failures by kind: see FailureKind
}

// SourceStatuses returns the state of all sources, in order of precedence.
func (f *Poller) SourceStatuses(now time.Time) []SourceStatus {
	out := make([]SourceStatus, len(f.Sources))
	for i, r := range f.Sources {
		out[i] = r.StatusAt(now)
	}
	return out
}

// StatusAt returns the state of the source at now.
func (r *Source) StatusAt(now time.Time) SourceStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := SourceStatus{Source: r.SourceName(), Tells: r.cfg.Tells, Unit: boundsByQuantity[r.quantity].unit, Read: r.read, Stale: true, Why: maps.Clone(r.failures)}
	if err := errors.Join(r.err, r.noForecast); err != nil {
		s.Error = err.Error()
	}
	for _, n := range r.failures {
		s.Failures += n
	}
	hours := hourlyMeans(r.spans)
	s.Hours = len(hours)
	this := now.UTC().Truncate(time.Hour)
	// known is the last hour with a fact or an estimate, end the end of the last hour with any value.
	var known, end time.Time
	for at, h := range hours {
		if at.Add(time.Hour).After(end) {
			end = at.Add(time.Hour)
		}
		if !h.guess && !at.After(this) && !at.Before(known) {
			known = at
		}
	}
	for _, x := range r.spans {
		if at := x.From.Truncate(time.Hour); x.Estimate && !at.After(this) && at.After(known) {
			known = at
		}
	}
	if end.After(now) {
		s.Horizon = end.Sub(now).Seconds()
	}
	if !known.IsZero() {
		age := max(now.Sub(known.Add(time.Hour)), 0)
		s.Age, s.Stale = age.Seconds(), age > 3*r.interval+time.Hour
	}
	h, ok := hours[this]
	// Without a value of this hour show the last fact, with its own hour.
	if s.Of = this; !ok && !known.IsZero() {
		h, ok, s.Of = hours[known], true, known
	}
	if ok {
		value := math.Round(h.value*1e6) / 1e6
		s.Value, s.Guess = &value, h.guess || r.cfg.Forecast
	}
	return s
}
