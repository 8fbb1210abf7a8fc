package signals

import (
	"context"
	"encoding/xml"
	"fmt"
	"slices"
	"time"
)

// An exchangeRates holds the reference rates that the European Central Bank publishes on each of its
// working days at about 16:00 in Frankfurt, for the last 90 days.
type exchangeRates struct {
	url  string
	read time.Time        // last successful reading
	days []ratesOfDay     // ascending
	now  func() time.Time // clock of the source
	get  *serviceClient   // client of the source: same limits, same errors
}

// ratesOfDay are the units of each currency for one euro, from a day on.
type ratesOfDay struct {
	day   time.Time
	rates map[string]float64
}

// ecbURL is the bank's file of the last 90 days.
const ecbURL = "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-hist-90d.xml"

// ratesKept is how long a reading is used: the bank publishes once a day.
const ratesKept = 6 * time.Hour

// refresh reads the file if what is known is old. A reading that fails leaves what is known, as
// long as there is any.
func (x *exchangeRates) refresh(ctx context.Context) error {
	if now := x.now(); !x.read.IsZero() && now.Sub(x.read) < ratesKept {
		return nil
	}
	body, err := x.get.getQuery(ctx, firstNonEmpty(x.url, ecbURL), nil)
	var days []ratesOfDay
	if err == nil {
		days, err = decodeECB(body)
	}
	switch {
	case err == nil:
		x.days, x.read = days, x.now()
	case len(x.days) == 0:
		return fmt.Errorf("exchange rates: %w", err)
	}
	return nil
}

// dollarsFor returns the dollars for one unit of a currency at an instant: by the last rates that
// were published before, or the first that are known.
func (x *exchangeRates) dollarsFor(currency string, at time.Time) (float64, error) {
	day := x.days[0]
	for _, d := range x.days {
		if d.day.After(at) {
			break
		}
		day = d
	}
	per := day.rates[currency]
	if currency == "EUR" {
		per = 1
	}
	if per <= 0 || day.rates[marketCurrency] <= 0 {
		return 0, fmt.Errorf("exchange rates: the European Central Bank has none of %s: set rate", currency)
	}
	return day.rates[marketCurrency] / per, nil
}

// convert converts prices to dollars by the rate of each one's day.
func (x *exchangeRates) convert(currency string, spans []Span) ([]Span, error) {
	for i, s := range spans {
		rate, err := x.dollarsFor(currency, s.From)
		if err != nil {
			return nil, err
		}
		spans[i].Value *= rate
	}
	return spans, nil
}

// decodeECB parses the bank's file. Rates of a day are known from 16:00 UTC on.
func decodeECB(body []byte) ([]ratesOfDay, error) {
	var p struct {
		Days []struct {
			Day   string `xml:"time,attr"`
			Rates []struct {
				Currency string  `xml:"currency,attr"`
				Rate     float64 `xml:"rate,attr"`
			} `xml:"Cube"`
		} `xml:"Cube>Cube"`
	}
	if err := xml.Unmarshal(body, &p); err != nil {
		return nil, fmt.Errorf("unexpected XML: %w", err)
	}
	var days []ratesOfDay
	for _, d := range p.Days {
		day, err := time.Parse("2006-01-02", d.Day)
		if err != nil {
			return nil, fmt.Errorf("day %.20q: want one such as 2026-02-10", d.Day)
		}
		rates := make(map[string]float64, len(d.Rates))
		for _, r := range d.Rates {
			if !(r.Rate > 0 && r.Rate < 1e7) {
				return nil, fmt.Errorf("rate %g of %.10q: want a positive number", r.Rate, r.Currency)
			}
			rates[r.Currency] = r.Rate
		}
		days = append(days, ratesOfDay{day.Add(16 * time.Hour), rates})
	}
	if len(days) == 0 {
		return nil, missingFieldError("Cube")
	}
	slices.SortFunc(days, func(a, b ratesOfDay) int { return a.day.Compare(b.day) })
	return days, nil
}
