package signals

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Span is a value that holds from one instant to another: dollars per MWh,
// grams of CO2-equivalent per kWh, or PUE.
type Span struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Value float64   `json:"value"`
	Guess bool      `json:"guess,omitempty"` // the source's own forecast, and not what was or was sold
}

// bound is what a quantity can be, in the unit of a Span. What lies beyond is
// taken for another unit. Texas sold at 9,000 dollars per MWh, and lignite emits
// about 1,100 grams per kWh.
type bound struct {
	least, most float64
	unit        string
	scale       float64 // protocol units in one of ours
}

var bounds = map[protocol.Quantity]bound{
	protocol.GridPrice:  {-20_000, 20_000, "$/MWh", 1000},
	protocol.GridCarbon: {0, 3000, "g/kWh", 1000},
	protocol.GridPUE:    {1, 5, "", 1000},
}

// Bounds of what is kept of one source.
const (
	mostSpans = 50_000 // 8 days of five minutes, and then some
	longest   = 366 * 24 * time.Hour
)

// sound returns what spans tell of a time, in order and in pieces of an hour at
// most, or says what is wrong with any of them.
func sound(q protocol.Quantity, spans []Span, from, to time.Time) ([]Span, error) {
	if len(spans) > mostSpans {
		return nil, fmt.Errorf("%d values: want at most %d", len(spans), mostSpans)
	}
	b := bounds[q]
	var out []Span
	for _, s := range spans {
		switch {
		case math.IsNaN(s.Value) || s.Value < b.least || s.Value > b.most:
			return nil, fmt.Errorf("%s %g %s of %s is beyond %g..%g: is it in another unit?", q, s.Value, b.unit, s.From.UTC().Format(time.RFC3339), b.least, b.most)
		case !s.To.After(s.From) || s.To.Sub(s.From) > longest:
			return nil, fmt.Errorf("a value from %s to %s: want it to hold for a while", s.From.UTC().Format(time.RFC3339), s.To.UTC().Format(time.RFC3339))
		}
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
		if len(out) > mostSpans {
			return nil, fmt.Errorf("over %d values of the last days and the next", mostSpans)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("nothing of the last days or the next: is the place right, and does it still tell?")
	}
	return mend(out), nil
}

// mend puts spans in order, and ends each where the next begins. Of two that begin
// at once the later one in the list counts, but a fact before a guess.
func mend(spans []Span) []Span {
	out := slices.Clone(spans)
	rank := func(s Span) int {
		if s.Guess {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(out, func(x, y Span) int { return cmp.Or(x.From.Compare(y.From), cmp.Compare(rank(x), rank(y))) })
	n := 0
	for _, s := range out {
		s.From, s.To = s.From.UTC(), s.To.UTC()
		switch {
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

// An hour is the value of one hour.
type hour struct {
	value float64
	guess bool
}

// hourly returns the mean of each hour that spans tell of, over the part of it
// that they tell: of facts, where there are any.
func hourly(spans []Span) map[time.Time]hour {
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
	out := make(map[time.Time]hour, len(facts)+len(guesses))
	for h, x := range guesses {
		out[h] = hour{x.value / x.width, true}
	}
	for h, x := range facts {
		out[h] = hour{x.value / x.width, false}
	}
	return out
}

// point returns an hour's value as the protocol has it.
func point(q protocol.Quantity, at time.Time, value float64) protocol.Point {
	return protocol.Point{At: protocol.At(at), Value: int64(math.Round(value * bounds[q].scale))}
}
