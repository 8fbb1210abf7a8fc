package signals

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"
)

// openMeteo reads api.open-meteo.com: hourly wet-bulb temperature at coordinates,
// past and forecast, from which the site's cooling model computes PUE.
type openMeteo struct{ Config }

// fetchSpans requests whole past days: the service has no other unit for history, and at most
// nine are needed.
func (s openMeteo) fetchSpans(ctx context.Context, d *serviceClient, from, _ time.Time) ([]Span, error) {
	place := func(v *float64) string { return strconv.FormatFloat(*v, 'f', 4, 64) }
	past := min(max(int(d.now().Sub(from).Hours()/24)+1, 1), 9)
	base, query := "https://api.open-meteo.com/v1", url.Values{
		"latitude": {place(s.Latitude)}, "longitude": {place(s.Longitude)}, "hourly": {"wet_bulb_temperature_2m"},
		"timezone": {"GMT"}, "past_days": {strconv.Itoa(past)}, "forecast_days": {"5"},
	}
	if s.key != "" { // the free server is for non-commercial use
		base = "https://customer-api.open-meteo.com/v1"
		query.Set("apikey", s.key)
	}
	body, err := d.getQuery(ctx, s.baseURL(base)+"/forecast", query)
	if err != nil {
		return nil, err
	}
	return decodeOpenMeteo(s.coolingOrDefault(), d.now(), body)
}

// Cooling models PUE by the wet-bulb temperature T in degrees Celsius: Base +
// PerDegree x max(0, T - Free).
type Cooling struct {
	Base      float64 `yaml:"base"`
	PerDegree float64 `yaml:"per_degree"`
	Free      float64 `yaml:"free"`
}

// defaultCooling is a water-cooled building with free cooling below 2 degrees: the
// linear part of the model that comes with the weather data of the recorded days.
var defaultCooling = Cooling{Base: 1.06, PerDegree: 0.008, Free: 2}

// pueAtWetBulb returns PUE at a wet-bulb temperature.
func (c Cooling) pueAtWetBulb(t float64) float64 { return c.Base + c.PerDegree*math.Max(0, t-c.Free) }

// decodeOpenMeteo computes PUE from the temperatures of an answer; hours after now
// are forecasts.
func decodeOpenMeteo(c Cooling, now time.Time, body []byte) ([]Span, error) {
	var p struct {
		Offset *int `json:"utc_offset_seconds"`
		Units  *struct {
			Wet string `json:"wet_bulb_temperature_2m"`
		} `json:"hourly_units"`
		Hourly *struct {
			Time []string          `json:"time"`
			Wet  []*flexibleNumber `json:"wet_bulb_temperature_2m"`
		} `json:"hourly"`
	}
	if err := parseJSON(body, &p); err != nil {
		return nil, err
	}
	switch {
	case p.Offset == nil:
		return nil, missingFieldError("utc_offset_seconds")
	// The times have no offset of their own.
	case *p.Offset != 0:
		return nil, unexpectedUnitError("utc_offset_seconds", fmt.Sprint(*p.Offset), "0")
	case p.Units == nil:
		return nil, missingFieldError("hourly_units")
	case p.Units.Wet != "°C":
		return nil, unexpectedUnitError("hourly_units.wet_bulb_temperature_2m", p.Units.Wet, "°C")
	case p.Hourly == nil || p.Hourly.Wet == nil:
		return nil, missingFieldError("hourly.wet_bulb_temperature_2m")
	case len(p.Hourly.Wet) != len(p.Hourly.Time):
		return nil, fmt.Errorf("%d times and %d values", len(p.Hourly.Time), len(p.Hourly.Wet))
	}
	var spans []Span
	for i, v := range p.Hourly.Wet {
		if v == nil {
			continue // beyond the forecast's horizon
		}
		if *v < -60 || *v > 45 {
			return nil, fmt.Errorf("wet-bulb temperature %g °C: want -60..45", float64(*v))
		}
		at, err := time.Parse("2006-01-02T15:04", p.Hourly.Time[i])
		if err != nil {
			return nil, fmt.Errorf("time %.20q: want an hour in GMT, such as 2026-11-21T18:00", p.Hourly.Time[i])
		}
		spans = append(spans, Span{From: at, To: at.Add(time.Hour), Value: c.pueAtWetBulb(float64(*v)), Guess: at.After(now)})
	}
	return spans, nil
}
