package signals

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// energyCharts reads api.energy-charts.info of Fraunhofer ISE: day-ahead prices of Europe's
// bidding zones in EUR/MWh, by hours or quarter hours, without a key. The zone is the
// service's own name of one, such as DE-LU or NO2.
type energyCharts struct{ Config }

// fetchSpans requests the period at once.
func (s energyCharts) fetchSpans(ctx context.Context, d *serviceClient, from, to time.Time) ([]Span, error) {
	body, err := d.getQuery(ctx, s.baseURL("https://api.energy-charts.info")+"/price", url.Values{
		"bzn": {s.Zone}, "start": {strconv.FormatInt(from.Unix(), 10)}, "end": {strconv.FormatInt(to.Unix(), 10)},
	})
	if err != nil {
		return nil, err
	}
	spans, err := decodeEnergyCharts(body)
	return s.convertToDollars(spans), err
}

// decodeEnergyCharts parses an answer. A price holds until the next begins, at most an hour; a
// price that is null is a gap.
func decodeEnergyCharts(body []byte) ([]Span, error) {
	var p struct {
		Seconds []int64          `json:"unix_seconds"`
		Price   []nullableNumber `json:"price"`
		Unit    string           `json:"unit"`
	}
	if err := parseJSON(body, &p); err != nil {
		return nil, err
	}
	switch {
	case p.Seconds == nil:
		return nil, missingFieldError("unix_seconds")
	case p.Price == nil:
		return nil, missingFieldError("price")
	case p.Unit != "EUR / MWh":
		return nil, unexpectedUnitError("unit", p.Unit, "EUR / MWh")
	case len(p.Seconds) != len(p.Price):
		return nil, fmt.Errorf("%d times and %d prices", len(p.Seconds), len(p.Price))
	}
	var spans []Span
	width := time.Hour // of the last price, which has no next one
	for i, at := range p.Seconds {
		if at < 0 || at > 1e11 || i > 0 && at <= p.Seconds[i-1] {
			return nil, fmt.Errorf("time %d after %d values: want ascending seconds since 1970", at, i)
		}
		if i+1 < len(p.Seconds) {
			width = min(time.Duration(max(p.Seconds[i+1]-at, 0))*time.Second, time.Hour)
		}
		if p.Price[i].null {
			continue
		}
		from := time.Unix(at, 0).UTC()
		spans = append(spans, Span{From: from, To: from.Add(width), Value: p.Price[i].value})
	}
	return spans, nil
}
