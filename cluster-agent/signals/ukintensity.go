package signals

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// ukIntensity reads api.carbonintensity.org.uk: mean intensity of Great Britain's
// generation by half hours, in gCO2/kWh, measured and forecast up to 96 hours ahead; with
// a zone, that of one of its 17 regions, of which the service has estimates alone.
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
		base, period := s.baseURL("https://api.carbonintensity.org.uk"), "/intensity/"+from.UTC().Format(form)+"/"+end.UTC().Format(form)
		if s.Zone != "" {
			base, period = base+"/regional", period+"/regionid/"+s.Zone
		}
		body, err := d.getQuery(ctx, base+period, nil)
		if err != nil {
			return nil, err
		}
		spans, err := decodeUKIntensity(s.Zone, d.now(), body)
		if err != nil {
			return nil, err
		}
		all = append(all, spans...)
		from = end
	}
	return all, nil
}

// ukHalfHour is one value of an answer.
type ukHalfHour struct {
	From      string `json:"from"`
	To        string `json:"to"`
	Intensity *struct {
		Forecast *flexibleNumber `json:"forecast"`
		Actual   *flexibleNumber `json:"actual"`
	} `json:"intensity"`
}

// checkUKRegion checks the number of a region.
func checkUKRegion(zone string) error {
	if n, err := strconv.Atoi(zone); zone != "" && (err != nil || n < 1 || n > 17 || strconv.Itoa(n) != zone) {
		return ConfigFault{"zone", fmt.Sprintf("is %q; want the number of a region, 1..17, such as 13 for London, or none for Great Britain", zone)}
	}
	return nil
}

// ukHalfHours returns the values of an answer. Those of a region are one level deeper.
func ukHalfHours(region string, body []byte) ([]ukHalfHour, error) {
	if region == "" {
		var p struct {
			Data []ukHalfHour `json:"data"`
		}
		err := parseJSON(body, &p)
		return p.Data, err
	}
	var p struct {
		Data *struct {
			Region *int         `json:"regionid"`
			Data   []ukHalfHour `json:"data"`
		} `json:"data"`
	}
	if err := parseJSON(body, &p); err != nil || p.Data == nil {
		return nil, err
	}
	if p.Data.Region == nil {
		return nil, missingFieldError("data.regionid")
	}
	if got := strconv.Itoa(*p.Data.Region); got != region {
		return nil, unexpectedUnitError("data.regionid", got, region)
	}
	return p.Data.Data, nil
}

// decodeUKIntensity prefers the measured value of a half hour; without one it returns
// the forecast, which for a region's half hour before now is the service's estimate.
func decodeUKIntensity(region string, now time.Time, body []byte) ([]Span, error) {
	data, err := ukHalfHours(region, body)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, missingFieldError("data")
	}
	var spans []Span
	for _, x := range data {
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
			spans = append(spans, Span{From: from, To: to, Value: float64(*v.Forecast), Guess: true, Estimate: region != "" && !from.After(now)})
		default:
			return nil, missingFieldError("data.intensity.forecast")
		}
	}
	return spans, nil
}
