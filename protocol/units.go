package protocol

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Units. The package comment says why they are integers.
type (
	Microdollars int64 // millionths of a US dollar
	Millijoules  int64 // 3,600,000,000 of them are one kWh
	Milliwatts   int64
	Milligrams   int64 // of CO2-equivalent
	Milli        int64 // thousandths: of one GPU, one processor core, or one
	MiB          int64
)

// InKWh returns e in kilowatt-hours, for display.
func (e Millijoules) InKWh() float64 { return float64(e) / 3.6e9 }

// InKilograms returns c in kilograms, for display.
func (c Milligrams) InKilograms() float64 { return float64(c) / 1e6 }

// DollarsToMicrodollars converts an amount in dollars from a file, rounded to the nearest;
// usual is the value of a missing amount.
func DollarsToMicrodollars(dollars *float64, usual Microdollars) Microdollars {
	if dollars == nil {
		return usual
	}
	return Microdollars(math.Round(1e6 * *dollars))
}

// InDollars returns m in dollars, for display.
func (m Microdollars) InDollars() float64 { return float64(m) / 1e6 }

// A Time is an instant: milliseconds since 1970-01-01T00:00:00Z. Zero means that no time
// is set.
type Time int64

// FromStdTime returns the instant of t, truncated to milliseconds.
func FromStdTime(t time.Time) Time { return Time(t.UnixMilli()) }

// StdTime returns t as a time.Time in UTC.
func (t Time) StdTime() time.Time { return time.UnixMilli(int64(t)).UTC() }

// Add returns t plus d, truncated to milliseconds.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// Sub returns the duration from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Millisecond }

// Floor returns the last multiple of d, counted from 1970, that is not after t. It panics
// if d is below a millisecond.
func (t Time) Floor(d time.Duration) Time {
	step := Time(d.Milliseconds())
	rest := t % step
	if rest < 0 {
		rest += step
	}
	return t - rest
}

// Ceil returns the first multiple of d, counted from 1970, that is not before t.
func (t Time) Ceil(d time.Duration) Time {
	f := t.Floor(d)
	if f == t {
		return t
	}
	return f.Add(d)
}

// String returns t as RFC 3339 in UTC, with milliseconds only if they are not zero.
func (t Time) String() string {
	if t == 0 {
		return "never"
	}
	return t.StdTime().Format("2006-01-02T15:04:05.999Z07:00")
}

// earliestRFC3339 and latestRFC3339 are the first and the last instant that RFC 3339 can express:
// the years 0 to 9999.
const earliestRFC3339, latestRFC3339 Time = -62_167_219_200_000, 253_402_300_799_999

// MarshalJSON implements json.Marshaler, for display; messages carry a plain integer. It
// clamps an instant that RFC 3339 cannot express, since a sender may send any integer.
func (t Time) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, min(max(t, earliestRFC3339), latestRFC3339).String()), nil
}

// UnmarshalJSON implements json.Unmarshaler for the output of MarshalJSON.
func (t *Time) UnmarshalJSON(text []byte) error {
	s, err := strconv.Unquote(string(text))
	if err != nil {
		return fmt.Errorf("protocol: time %s: want a string", text)
	}
	if s == "never" {
		*t = 0
		return nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return fmt.Errorf("protocol: time %q: want RFC 3339, or never", s)
	}
	*t = FromStdTime(at)
	return nil
}
