package signals

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// electricityMaps reads api.electricitymaps.com. Carbon, version 3: mean life-cycle
// intensity of a zone's consumption in gCO2eq/kWh, the last 24 hours, the latest hour
// and a forecast of 72 hours. Price, version 4: day-ahead prices of the last 24 hours
// and of the next 24.
type electricityMaps struct{ Config }

// electricityMapsHorizon is the longest forecast of carbon; the service sends 24 hours unless it
// is asked for more.
const electricityMapsHorizon = "72"

// electricityMapsPoint is one hour of an answer.
type electricityMapsPoint struct {
	Zone     string         `json:"zone"`
	Value    nullableNumber `json:"carbonIntensity"`
	At       string         `json:"datetime"`
	Factor   string         `json:"emissionFactorType"`
	Estimate bool           `json:"isEstimated"`
}

// electricityMapsPage is an answer; which fields are set depends on the page.
type electricityMapsPage struct {
	electricityMapsPoint
	Unit     string                 `json:"unit"`
	Grain    string                 `json:"temporalGranularity"`
	History  []electricityMapsPoint `json:"history"`
	Forecast []electricityMapsPoint `json:"forecast"`
}

// fetchSpans requests history, the latest hour and, unless disabled, the forecast. Many
// subscriptions have no forecast, so its failure is a [missingForecastError].
func (s electricityMaps) fetchSpans(ctx context.Context, d *serviceClient, _, _ time.Time) ([]Span, error) {
	if s.Tells == "price" {
		return s.fetchPrices(ctx, d)
	}
	read := func(page string, query url.Values) ([]Span, error) {
		query.Set("zone", s.Zone)
		body, err := d.getQuery(ctx, s.baseURL("https://api.electricitymaps.com/v3")+"/carbon-intensity/"+page, query, "auth-token", s.key)
		if err != nil {
			return nil, err
		}
		spans, err := decodeElectricityMaps(page, s.Zone, body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", page, err)
		}
		return spans, nil
	}
	var all []Span
	for _, page := range []string{"history", "latest"} {
		spans, err := read(page, url.Values{})
		if err != nil {
			return nil, err
		}
		all = append(all, spans...)
	}
	if s.NoForecast {
		return all, nil
	}
	return withForecast(all, func() ([]Span, error) { return read("forecast", url.Values{"horizonHours": {electricityMapsHorizon}}) })
}

// electricityMapsGrain returns the length of one value; an answer that states none has hourly
// values.
func electricityMapsGrain(stated string) (time.Duration, error) {
	grain := map[string]time.Duration{"": time.Hour, "hourly": time.Hour, "15_minutes": 15 * time.Minute, "5_minutes": 5 * time.Minute}[stated]
	if grain == 0 {
		return 0, unexpectedUnitError("temporalGranularity", stated, "hourly")
	}
	return grain, nil
}

// decodeElectricityMaps parses one page and checks zone, unit and emission factors. An hour
// without a value is a gap. An estimate, which the service replaces when the hour is
// measured, is no fact.
func decodeElectricityMaps(page, zone string, body []byte) ([]Span, error) {
	var p electricityMapsPage
	if err := parseJSON(body, &p); err != nil {
		return nil, err
	}
	// Check before use: a value of another zone or unit would look plausible.
	if p.Zone != zone {
		return nil, unexpectedUnitError("zone", p.Zone, zone)
	}
	if p.Unit != "" && p.Unit != "gCO2eq/kWh" {
		return nil, unexpectedUnitError("unit", p.Unit, "gCO2eq/kWh")
	}
	points := p.History
	switch page {
	case "latest":
		points = []electricityMapsPoint{p.electricityMapsPoint}
	case "forecast":
		points = p.Forecast
	}
	if points == nil {
		return nil, missingFieldError(page)
	}
	grain, err := electricityMapsGrain(p.Grain)
	if err != nil {
		return nil, err
	}
	spans := make([]Span, 0, len(points))
	for _, x := range points {
		switch {
		case !x.Value.present:
			return nil, missingFieldError("carbonIntensity")
		case x.Value.null:
			continue
		case x.Factor != "" && x.Factor != "lifecycle":
			return nil, unexpectedUnitError("emissionFactorType", x.Factor, "lifecycle")
		}
		at, err := parseInstant(x.At)
		if err != nil {
			return nil, fmt.Errorf("datetime: %w", err)
		}
		// Spans begin at multiples of the grain, even if the answer's instant does not.
		at = at.Truncate(grain)
		estimate := x.Estimate && page != "forecast"
		spans = append(spans, Span{From: at, To: at.Add(grain), Value: x.Value.value, Guess: page == "forecast" || estimate, Estimate: estimate})
	}
	return spans, nil
}

// fetchPrices requests the prices of the last and of the next 24 hours: an auction has sold most
// of them; the service's own model fills in the rest, which are forecasts.
func (s electricityMaps) fetchPrices(ctx context.Context, d *serviceClient) ([]Span, error) {
	var all []Span
	for _, page := range []string{"history", "combined"} {
		// Without the last key the service answers for the place of whoever asks when it does not know
		// the zone.
		query := url.Values{"zone": {s.Zone}, "disableCallerLookup": {"true"}}
		body, err := d.getQuery(ctx, s.baseURL("https://api.electricitymaps.com/v4")+"/price-day-ahead/"+page, query, "auth-token", s.key)
		if err != nil {
			return nil, err
		}
		spans, err := decodeElectricityMapsPrices(s.Zone, s.usedCurrency(), body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", page, err)
		}
		all = append(all, spans...)
	}
	return s.convertToDollars(all), nil
}

// decodeElectricityMapsPrices parses one page of prices and checks zone and unit.
func decodeElectricityMapsPrices(zone, currency string, body []byte) ([]Span, error) {
	type point struct {
		Zone   string         `json:"zone"`
		At     string         `json:"datetime"`
		Value  nullableNumber `json:"value"`
		Unit   string         `json:"unit"`
		Source string         `json:"source"`
	}
	var p struct {
		Zone  string  `json:"zone"`
		Unit  string  `json:"unit"`
		Grain string  `json:"temporalGranularity"`
		Data  []point `json:"data"`
	}
	if err := parseJSON(body, &p); err != nil {
		return nil, err
	}
	grain, err := electricityMapsGrain(p.Grain)
	switch {
	case err != nil:
		return nil, err
	case p.Data == nil:
		return nil, missingFieldError("data")
	}
	spans := make([]Span, 0, len(p.Data))
	for _, x := range p.Data {
		unit := firstNonEmpty(x.Unit, p.Unit)
		switch {
		case firstNonEmpty(x.Zone, p.Zone, zone) != zone:
			return nil, unexpectedUnitError("zone", firstNonEmpty(x.Zone, p.Zone), zone)
		case unit == "":
			return nil, missingFieldError("unit")
		case unit != currency+"/MWh":
			return nil, unexpectedUnitError("unit", unit, currency+"/MWh")
		case !x.Value.present:
			return nil, missingFieldError("value")
		case x.Value.null:
			continue
		}
		at, err := parseInstant(x.At)
		if err != nil {
			return nil, fmt.Errorf("datetime: %w", err)
		}
		// Prices without an exchange, or by the service itself, are of its model.
		modelled := x.Source == "" || strings.Contains(strings.ToLower(strings.ReplaceAll(x.Source, " ", "")), "electricitymap")
		at = at.Truncate(grain)
		spans = append(spans, Span{From: at, To: at.Add(grain), Value: x.Value.value, Guess: modelled})
	}
	return spans, nil
}

// firstNonEmpty returns the first text that is not empty.
func firstNonEmpty(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
