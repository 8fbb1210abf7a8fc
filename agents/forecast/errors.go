package forecast

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A LeadError is the error of forecasts over a range of leads.
type LeadError struct {
	From, To  int            // hours between forecast and hour, To excluded
	Published int            // hours that were published already and needed no forecast
	N         int            // forecasts
	MAE       int64          // mean absolute error, in the quantity's unit
	Mean      int64          // mean absolute value, likewise: what MAE compares with
	MAPE      protocol.Milli // mean of error over value, hours of value 0 left out
	Within    protocol.Milli // part of the errors that stayed within the site's stated bound
}

// A Case is a series to forecast: the actual values, when each became known, and
// the forecasts of a service. If Bulletins is not empty, only hours that the service
// forecast count.
type Case struct {
	Series         Series
	Market         Market
	Bulletins      []Bulletin
	IgnoresService bool // the site does not receive the service's forecasts: to compare with
}

// MeasureErrors replays cases and adds their errors up. At each hour from the second
// day of a series on, a site that has received all values known by then forecasts
// as far as the last bound. Bounds ascend, in hours; the first row covers leads
// from 0 to the first bound.
func MeasureErrors(q protocol.Quantity, rule Rule, cases []Case, bounds ...int) []LeadError {
	if len(bounds) == 0 {
		return nil
	}
	rows := make([]LeadError, len(bounds))
	tallies := make([]errorTally, len(bounds))
	for i, to := range bounds {
		rows[i].To = to
		if i > 0 {
			rows[i].From = bounds[i-1]
		}
	}
	for _, c := range cases {
		c.addErrors(q, rule, rows, tallies)
	}
	for i, t := range tallies {
		t.fillRow(&rows[i])
	}
	return rows
}

// addErrors adds the forecast errors of one case to the tally of each row.
func (c Case) addErrors(q protocol.Quantity, rule Rule, rows []LeadError, tallies []errorTally) {
	k, f, others := New(Config{Price: rule, Carbon: rule, PUE: rule}), NewSeriesPublisher(c.Series, c.Market), NewService(c.Bulletins)
	foretold := make(map[protocol.Time]bool)
	for now := c.Series.Start().Ceil(time.Hour); now < c.Series.End(); now = now.Add(time.Hour) {
		for p := others.Publish(now); len(p) > 0; p = others.Publish(now) {
			for _, hour := range p {
				foretold[hour.At] = true
			}
			if !c.IgnoresService {
				k.RecordSignal(now, protocol.Signal{What: q, Points: p, Guess: true})
			}
		}
		k.RecordSignal(now, protocol.Signal{What: q, Points: f.Publish(now)})
		if now < c.Series.Start().Add(day*time.Hour) {
			continue
		}
		t, bound := k.trackOf(q)
		guess, off := t.forecastHours(rule, hourOf(now), rows[len(rows)-1].To, bound)
		row := 0
		for lead, v := range guess {
			for lead >= rows[row].To {
				row++
			}
			at := now.Add(time.Duration(lead) * time.Hour)
			actual, ok := c.Series.ValueAt(at)
			if !ok {
				break
			}
			_, known := t.factAt(hourOf(at))
			switch {
			case len(c.Bulletins) > 0 && !foretold[at]:
			case known:
				rows[row].Published++
			default:
				tallies[row].addError(v, actual, off[lead])
			}
		}
	}
}

// errorTally accumulates errors.
type errorTally struct{ n, off, value, ratios, rated, within int64 }

func (t *errorTally) addError(guess, actual, may int64) {
	off := int64(absValue(guess - actual))
	t.n++
	if off <= may {
		t.within++
	}
	t.off += off
	t.value += int64(absValue(actual))
	if actual != 0 {
		t.ratios += mulDiv(off, 1_000_000, int64(absValue(actual)))
		t.rated++
	}
}

func (t errorTally) fillRow(e *LeadError) {
	e.N = int(t.n)
	if t.n > 0 {
		e.MAE, e.Mean = t.off/t.n, t.value/t.n
		e.Within = protocol.Milli(1000 * t.within / t.n)
	}
	if t.rated > 0 {
		e.MAPE = protocol.Milli(t.ratios / t.rated / 1000)
	}
}
