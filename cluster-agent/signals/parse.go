package signals

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	_ "time/tzdata" // a container may have no clocks of other places
)

// parseJSON decodes a body that consists of exactly one JSON value.
func parseJSON(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("unexpected JSON: %w", err)
	}
	if d.More() {
		return fmt.Errorf("more than one JSON value")
	}
	return nil
}

// missingFieldError reports a field that the service's known format has.
func missingFieldError(field string) error {
	return fmt.Errorf("field %s is missing: the service may have changed its format", field)
}

// unexpectedUnitError reports a value, such as a unit, that differs from the only one that we convert.
func unexpectedUnitError(what, got, want string) error {
	return fmt.Errorf("%s is %q; want %q: other values are not converted", what, got, want)
}

// A flexibleNumber is a JSON number, or a number in quotes as some services write it. It is
// finite.
type flexibleNumber float64

// UnmarshalJSON implements json.Unmarshaler.
func (n *flexibleNumber) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseFloat(string(bytes.Trim(text, `"`)), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("%.40q is not a finite number", text)
	}
	*n = flexibleNumber(v)
	return nil
}

// A nullableNumber is a number that a service leaves out by null: a gap. A field that is not there
// is no gap but another format.
type nullableNumber struct {
	present, null bool
	value         float64
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *nullableNumber) UnmarshalJSON(text []byte) error {
	if n.present = true; string(text) == "null" {
		n.null = true
		return nil
	}
	var v flexibleNumber
	err := v.UnmarshalJSON(text)
	n.value = float64(v)
	return err
}

// parseInstant parses a time with an offset. A time without one is refused, because its
// time zone is unknown.
func parseInstant(s string) (time.Time, error) {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00"} {
		if t, err := time.Parse(form, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is not a time with an offset, such as 2026-11-21T18:00:00Z", s)
}

// parseLocalTime returns the instant of a local time. Later selects the second of the two
// hours that clocks repeat in autumn. A time that clocks skip in spring is an error.
func parseLocalTime(day string, sinceMidnight time.Duration, later bool, where *time.Location) (time.Time, error) {
	d, err := time.Parse("2006-01-02", day) // in UTC: where may lack a midnight on that day
	if err != nil {
		return time.Time{}, fmt.Errorf("%.40q is not a day, such as 2026-11-21", day)
	}
	h, m := int(sinceMidnight/time.Hour), int(sinceMidnight%time.Hour/time.Minute)
	t := time.Date(d.Year(), d.Month(), d.Day(), h, m, 0, 0, where)
	if t.Hour() != h || t.Minute() != m {
		return time.Time{}, fmt.Errorf("%s %02d:%02d does not exist in %s: the clocks skip it", day, h, m, where)
	}
	// time.Date does not specify which of two equal local times it returns, so check
	// both neighbours.
	for _, other := range []time.Time{t.Add(-time.Hour), t.Add(time.Hour)} {
		if other.Hour() == h && other.Minute() == m && other.Day() == t.Day() && other.After(t) == later {
			t = other
		}
	}
	return t.UTC(), nil
}
