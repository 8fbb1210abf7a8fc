package grid

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A LeadError says how far forecasts were off, at some leads.
type LeadError struct {
	From, To int            // hours between forecast and hour, To excluded
	Told     int            // hours that needed no forecast
	N        int            // forecasts
	MAE      int64          // mean absolute error, in the quantity's unit
	Mean     int64          // mean absolute value, likewise: what MAE compares with
	MAPE     protocol.Milli // mean of error over value, hours of value 0 left out
	Within   protocol.Milli // part of the errors that were within what the site said they may be
}

// Errors replays a series: each hour from the second day on, a site that heard
// what its market had made known forecasts as far as the last bound. Bounds
// ascend, in hours; the first row is from 0 to the first bound.
func Errors(q protocol.Quantity, s Series, m Market, rule Rule, bounds ...int) []LeadError {
	if len(bounds) == 0 {
		return nil
	}
	rows := make([]LeadError, len(bounds))
	tallies := make([]tally, len(bounds))
	for i, to := range bounds {
		rows[i].To = to
		if i > 0 {
			rows[i].From = bounds[i-1]
		}
	}
	k, f := New(Config{Price: rule, Carbon: rule, PUE: rule}), NewFeed(s, m)
	for now := s.Start().Ceil(time.Hour); now < s.End(); now = now.Add(time.Hour) {
		k.Hear(now, protocol.Signal{What: q, Points: f.Publish(now)})
		if now < s.Start().Add(day*time.Hour) {
			continue
		}
		t, bound := k.about(q)
		guess, off := t.outlook(rule, hourOf(now), bounds[len(bounds)-1], bound)
		row := 0
		for lead, v := range guess {
			for lead >= rows[row].To {
				row++
			}
			at := now.Add(time.Duration(lead) * time.Hour)
			actual, ok := s.At(at)
			if !ok {
				break
			}
			if _, told := t.at(hourOf(at)); told {
				rows[row].Told++
				continue
			}
			tallies[row].add(v, actual, off[lead])
		}
	}
	for i, t := range tallies {
		t.into(&rows[i])
	}
	return rows
}

// tally sums errors up.
type tally struct{ n, off, value, ratios, rated, within int64 }

func (t *tally) add(guess, actual, may int64) {
	off := int64(size(guess - actual))
	t.n++
	if off <= may {
		t.within++
	}
	t.off += off
	t.value += int64(size(actual))
	if actual != 0 {
		t.ratios += mulDiv(off, 1_000_000, int64(size(actual)))
		t.rated++
	}
}

func (t tally) into(e *LeadError) {
	e.N = int(t.n)
	if t.n > 0 {
		e.MAE, e.Mean = t.off/t.n, t.value/t.n
		e.Within = protocol.Milli(1000 * t.within / t.n)
	}
	if t.rated > 0 {
		e.MAPE = protocol.Milli(t.ratios / t.rated / 1000)
	}
}
