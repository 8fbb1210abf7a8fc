package signals

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Span is a value with its period: dollars per MWh, grams of CO2-equivalent per
// kWh, or PUE.
type Span struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Value float64   `json:"value"`
	Guess bool      `json:"guess,omitempty"` // the source's own forecast, neither measured nor sold
	// Estimate marks a guess of a time that has begun: nothing is settled by it as by a fact, but
	// the source does publish.
	Estimate bool `json:"estimate,omitempty"`
}

// quantityBounds is the plausible range of a quantity, in the unit of a Span; a value outside
// probably has another unit. ERCOT's price cap was 9,000 dollars per MWh, and lignite
// emits about 1,100 grams per kWh.
type quantityBounds struct {
	lower, upper float64
	unit         string
	scale        float64 // protocol units in one unit of a Span
}

// boundsByQuantity are the plausible ranges; the protocol counts in thousandths of a Span's unit.
var boundsByQuantity = map[protocol.Quantity]quantityBounds{
	protocol.GridPrice:  {-20_000, 20_000, "$/MWh", 1000},
	protocol.GridCarbon: {0, 3000, "g/kWh", 1000},
	protocol.GridPUE:    {1, 5, "", 1000},
}

// Limits of the values that are kept of one source.
const (
	maxSpans      = 50_000               // more than 8 days of five-minute values
	maxSpanLength = 366 * 24 * time.Hour // period of one value
)

// validateSpans validates spans, cuts them to [from, to) and splits them at full hours. It
// returns them in order, or the first fault.
func validateSpans(q protocol.Quantity, spans []Span, from, to time.Time) ([]Span, error) {
	if len(spans) > maxSpans {
		return nil, fmt.Errorf("%d values: want at most %d", len(spans), maxSpans)
	}
	b := boundsByQuantity[q]
	var out []Span
	for _, s := range spans {
		switch {
		// One implausible value rejects all: the source probably changed its unit.
		case math.IsNaN(s.Value) || s.Value < b.lower || s.Value > b.upper:
			return nil, fmt.Errorf("%s %g %s at %s is outside %g..%g: check the unit", q, s.Value, b.unit, s.From.UTC().Format(time.RFC3339), b.lower, b.upper)
		case !s.To.After(s.From) || s.To.Sub(s.From) > maxSpanLength:
			return nil, fmt.Errorf("a value from %s to %s: want an end after the start, within a year", s.From.UTC().Format(time.RFC3339), s.To.UTC().Format(time.RFC3339))
		}
		// Cut to the period, and at full hours: values are used by the hour.
		s.From, s.To = s.From.UTC(), s.To.UTC()
		if s.From.Before(from) {
			s.From = from
		}
		if s.To.After(to) {
			s.To = to
		}
		for s.From.Before(s.To) {
			piece := s
			if h := s.From.Truncate(time.Hour).Add(time.Hour); h.Before(s.To) {
				piece.To = h
			}
			out = append(out, piece)
			s.From = piece.To
		}
		if len(out) > maxSpans {
			return nil, fmt.Errorf("over %d values in the period that is read", maxSpans)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no values in the period that is read: check the zone, and whether the service still publishes it")
	}
	return sortAndTrimSpans(out), nil
}

// sortAndTrimSpans sorts spans and removes overlaps: each ends where the next begins. Of two with
// the same begin the later one in the list wins, but a fact wins over a forecast.
func sortAndTrimSpans(spans []Span) []Span {
	out := slices.Clone(spans)
	rank := func(s Span) int {
		switch {
		case s.Estimate:
			return 1
		case s.Guess:
			return 0
		}
		return 2
	}
	slices.SortStableFunc(out, func(x, y Span) int { return cmp.Or(x.From.Compare(y.From), cmp.Compare(rank(x), rank(y))) })
	n := 0
	for _, s := range out {
		s.From, s.To = s.From.UTC(), s.To.UTC()
		switch {
		// The later of two equal begins: it replaces the one before.
		case n > 0 && out[n-1].From.Equal(s.From):
			n--
		case n > 0 && s.Guess && !out[n-1].Guess && out[n-1].To.After(s.From):
			if !s.To.After(out[n-1].To) {
				continue
			}
			s.From = out[n-1].To
		case n > 0 && out[n-1].To.After(s.From):
			out[n-1].To = s.From
		}
		out[n] = s
		n++
	}
	return out[:n]
}

// An hourValue is the value of one hour; guess marks a forecast.
type hourValue struct {
	value float64
	guess bool
}

// hourlyMeans returns the time-weighted mean of each hour, over the part of the hour that
// spans cover. An hour with any fact uses facts only.
func hourlyMeans(spans []Span) map[time.Time]hourValue {
	type sum struct{ value, width float64 }
	facts, guesses := make(map[time.Time]sum), make(map[time.Time]sum)
	for _, s := range spans {
		into := facts
		if s.Guess {
			into = guesses
		}
		for from := s.From; from.Before(s.To); {
			h := from.Truncate(time.Hour)
			to := h.Add(time.Hour)
			if to.After(s.To) {
				to = s.To
			}
			x, width := into[h], to.Sub(from).Seconds()
			into[h] = sum{x.value + s.Value*width, x.width + width}
			from = to
		}
	}
	out := make(map[time.Time]hourValue, len(facts)+len(guesses))
	// Facts second: they replace the forecast of the same hour.
	for h, x := range guesses {
		out[h] = hourValue{x.value / x.width, true}
	}
	for h, x := range facts {
		out[h] = hourValue{x.value / x.width, false}
	}
	return out
}

// protocolPoint returns an hour's value in the protocol's unit.
func protocolPoint(q protocol.Quantity, at time.Time, value float64) protocol.Point {
	return protocol.Point{At: protocol.FromStdTime(at), Value: int64(math.Round(value * boundsByQuantity[q].scale))}
}
