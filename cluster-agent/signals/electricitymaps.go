package signals

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// electricityMaps reads api.electricitymaps.com, version 3: mean life-cycle intensity
// of a zone's consumption in gCO2eq/kWh. It provides the last 24 hours, the latest
// hour and, in paid plans, a forecast.
type electricityMaps struct{ Config }

// electricityMapsPoint is one hour of an answer.
type electricityMapsPoint struct {
	Zone     string          `json:"zone"`
	Value    *flexibleNumber `json:"carbonIntensity"`
	At       string          `json:"datetime"`
	Factor   string          `json:"emissionFactorType"`
	Estimate bool            `json:"isEstimated"`
}

// electricityMapsPage is an answer; which fields are set depends on the page.
type electricityMapsPage struct {
	electricityMapsPoint
	Unit     string                 `json:"unit"`
	Grain    string                 `json:"temporalGranularity"`
	History  []electricityMapsPoint `json:"history"`
	Forecast []electricityMapsPoint `json:"forecast"`
}

// fetchSpans requests history, the latest hour and, unless disabled, the forecast.
func (s electricityMaps) fetchSpans(ctx context.Context, d *serviceClient, _, _ time.Time) ([]Span, error) {
	pages := []string{"history", "latest"}
	if !s.NoForecast {
		pages = append(pages, "forecast")
	}
	var all []Span
	for _, page := range pages {
		body, err := d.getQuery(ctx, s.baseURL("https://api.electricitymaps.com/v3")+"/carbon-intensity/"+page, url.Values{"zone": {s.Zone}}, "auth-token", s.key)
		if err != nil {
			return nil, err
		}
		spans, err := decodeElectricityMaps(page, s.Zone, body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", page, err)
		}
		all = append(all, spans...)
	}
	return all, nil
}

// decodeElectricityMaps parses one page and checks zone, unit and emission factors.
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
	// grain is the length of one value; an answer without it has hourly values.
	grain := map[string]time.Duration{"": time.Hour, "hourly": time.Hour, "15_minutes": 15 * time.Minute, "5_minutes": 5 * time.Minute}[p.Grain]
	if grain == 0 {
		return nil, unexpectedUnitError("temporalGranularity", p.Grain, "hourly")
	}
	spans := make([]Span, 0, len(points))
	for _, x := range points {
		if x.Value == nil {
			return nil, missingFieldError("carbonIntensity")
		}
		if x.Factor != "" && x.Factor != "lifecycle" {
			return nil, unexpectedUnitError("emissionFactorType", x.Factor, "lifecycle")
		}
		at, err := parseInstant(x.At)
		if err != nil {
			return nil, fmt.Errorf("datetime: %w", err)
		}
		// Spans begin at multiples of the grain, even if the answer's instant does not.
		at = at.Truncate(grain)
		spans = append(spans, Span{From: at, To: at.Add(grain), Value: float64(*x.Value), Guess: page == "forecast"})
	}
	return spans, nil
}
