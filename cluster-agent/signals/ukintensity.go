package signals

import (
	"context"
	"fmt"
	"time"
)

// ukIntensity reads api.carbonintensity.org.uk: mean intensity of Great Britain's
// generation by half hours, in gCO2/kWh, measured and forecast 48 hours ahead.
type ukIntensity struct{ Config }

// fetchSpans requests the period in parts of seven days.
func (s ukIntensity) fetchSpans(ctx context.Context, d *serviceClient, from, to time.Time) ([]Span, error) {
	const form = "2006-01-02T15:04Z"
	var all []Span
	for from.Before(to) { // the service limits an answer to 14 days; past its forecast it returns nothing
		end := from.Add(7 * 24 * time.Hour)
		if end.After(to) {
			end = to
		}
		body, err := d.getQuery(ctx, s.baseURL("https://api.carbonintensity.org.uk")+"/intensity/"+from.UTC().Format(form)+"/"+end.UTC().Format(form), nil)
		if err != nil {
			return nil, err
		}
		spans, err := decodeUKIntensity(body)
		if err != nil {
			return nil, err
		}
		all = append(all, spans...)
		from = end
	}
	return all, nil
}

// decodeUKIntensity prefers the measured value of a half hour; without one it returns
// the forecast.
func decodeUKIntensity(body []byte) ([]Span, error) {
	var p struct {
		Data []struct {
			From      string `json:"from"`
			To        string `json:"to"`
			Intensity *struct {
				Forecast *flexibleNumber `json:"forecast"`
				Actual   *flexibleNumber `json:"actual"`
			} `json:"intensity"`
		} `json:"data"`
	}
	if err := parseJSON(body, &p); err != nil {
		return nil, err
	}
	if p.Data == nil {
		return nil, missingFieldError("data")
	}
	var spans []Span
	for _, x := range p.Data {
		if x.Intensity == nil {
			return nil, missingFieldError("data.intensity")
		}
		from, err := parseInstant(x.From)
		if err != nil {
			return nil, fmt.Errorf("from: %w", err)
		}
		to, err := parseInstant(x.To)
		if err != nil {
			return nil, fmt.Errorf("to: %w", err)
		}
		switch v := x.Intensity; {
		case v.Actual != nil:
			spans = append(spans, Span{From: from, To: to, Value: float64(*v.Actual)})
		case v.Forecast != nil:
			spans = append(spans, Span{From: from, To: to, Value: float64(*v.Forecast), Guess: true})
		default:
			return nil, missingFieldError("data.intensity.forecast")
		}
	}
	return spans, nil
}
