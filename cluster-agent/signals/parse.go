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

// parse reads one JSON value, and nothing after it.
func parse(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("no JSON as we know it: %w", err)
	}
	if d.More() {
		return fmt.Errorf("more than one JSON value")
	}
	return nil
}

// missing says that a service has another form than the one we know.
func missing(field string) error {
	return fmt.Errorf("field %s is missing: the service may have changed its format", field)
}

// unlike says that a value is in another unit than the one we convert.
func unlike(what, got, want string) error {
	return fmt.Errorf("%s is %q; want %q: nothing is converted by guess", what, got, want)
}

// A number is a JSON number, or one in quotes as some services write it.
type number float64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseFloat(string(bytes.Trim(text, `"`)), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("%.40q is no number", text)
	}
	*n = number(v)
	return nil
}

// instant reads a time with its offset; a time without one is refused, because it
// may be anybody's.
func instant(s string) (time.Time, error) {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00"} {
		if t, err := time.Parse(form, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is no time with an offset, as 2026-11-21T18:00:00Z", s)
}

// clock reads the time of day of a place where the clocks change: later tells the
// second of two hours of the same name. A time that the clocks leave out is an
// error.
func clock(day string, sinceMidnight time.Duration, later bool, where *time.Location) (time.Time, error) {
	d, err := time.Parse("2006-01-02", day) // not there, where a day may have no midnight
	if err != nil {
		return time.Time{}, fmt.Errorf("%.40q is no day, as 2026-11-21", day)
	}
	h, m := int(sinceMidnight/time.Hour), int(sinceMidnight%time.Hour/time.Minute)
	t := time.Date(d.Year(), d.Month(), d.Day(), h, m, 0, 0, where)
	if t.Hour() != h || t.Minute() != m {
		return time.Time{}, fmt.Errorf("%s %02d:%02d does not exist in %s: the clocks pass it over", day, h, m, where)
	}
	// Which of two hours time.Date picks is not told, so both are looked at.
	for _, other := range []time.Time{t.Add(-time.Hour), t.Add(time.Hour)} {
		if other.Hour() == h && other.Minute() == m && other.Day() == t.Day() && other.After(t) == later {
			t = other
		}
	}
	return t.UTC(), nil
}
