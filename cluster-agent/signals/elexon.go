package signals

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// elexon reads data.elexon.co.uk: Great Britain's market index, the price in GBP/MWh at which an
// exchange traded each half hour, known when it is over. No key is needed. The zone is the
// exchange: APXMIDP (EPEX SPOT, the default) or N2EXMIDP (Nord Pool).
type elexon struct{ Config }

// fetchSpans requests the period up to now in parts of six days: one answer has at most seven.
func (s elexon) fetchSpans(ctx context.Context, d *serviceClient, from, _ time.Time) ([]Span, error) {
	const form = "2006-01-02T15:04Z"
	provider, now := firstNonEmpty(s.Zone, "APXMIDP"), d.now().UTC()
	var all []Span
	for from.Before(now) {
		end := from.Add(6 * 24 * time.Hour)
		if end.After(now) {
			end = now
		}
		body, err := d.getQuery(ctx, s.baseURL("https://data.elexon.co.uk/bmrs/api/v1")+"/balancing/pricing/market-index", url.Values{
			"from": {from.UTC().Format(form)}, "to": {end.Format(form)}, "dataProviders": {provider}, "format": {"json"},
		})
		if err != nil {
			return nil, err
		}
		spans, err := decodeElexon(provider, body)
		if err != nil {
			return nil, err
		}
		all = append(all, spans...)
		from = end
	}
	return s.convertToDollars(all), nil
}

// decodeElexon parses an answer. A half hour without trades has the price 0, which is a gap.
func decodeElexon(provider string, body []byte) ([]Span, error) {
	var p struct {
		Data []struct {
			Start    string         `json:"startTime"`
			Provider string         `json:"dataProvider"`
			Price    nullableNumber `json:"price"`
			Volume   nullableNumber `json:"volume"`
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
		switch {
		case x.Provider != provider:
			return nil, unexpectedUnitError("dataProvider", x.Provider, provider)
		case !x.Price.present:
			return nil, missingFieldError("price")
		case !x.Volume.present:
			return nil, missingFieldError("volume")
		case x.Price.null || x.Volume.null || x.Volume.value == 0:
			continue
		}
		from, err := parseInstant(x.Start)
		if err != nil {
			return nil, fmt.Errorf("startTime: %w", err)
		}
		spans = append(spans, Span{From: from, To: from.Add(30 * time.Minute), Value: x.Price.value})
	}
	return spans, nil
}
