package signals

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// gridStatus reads api.gridstatus.io, which has the markets of North America in one form. The query
// names the dataset, such as pjm_lmp_real_time_5_min, the zone its location, such as
// DOM or WESTERN HUB; prices are in the column lmp unless column names another (spp
// of ERCOT's). Dollars per MWh; all times are UTC.
type gridStatus struct{ Config }

// gridStatusRows bounds an answer: 9 days of five-minute prices are 2,592 rows.
const gridStatusRows = 50_000

// fetchSpans requests the period at once; real-time prices up to now.
func (s gridStatus) fetchSpans(ctx context.Context, d *serviceClient, from, to time.Time) ([]Span, error) {
	if s.Market == "real-time" {
		to = d.now().UTC()
	}
	body, err := d.getQuery(ctx, s.baseURL("https://api.gridstatus.io/v1")+"/datasets/"+url.PathEscape(s.Query)+"/query", url.Values{
		"start_time": {from.UTC().Format(time.RFC3339)}, "end_time": {to.UTC().Format(time.RFC3339)},
		"filter_column": {"location"}, "filter_value": {s.Zone}, "limit": {fmt.Sprint(gridStatusRows)},
	}, "x-api-key", s.key)
	if err != nil {
		return nil, err
	}
	return decodeGridStatus(s.Zone, s.priceColumn(), body)
}

// priceColumn returns the column with the prices.
func (s gridStatus) priceColumn() string {
	if s.Column == "" || s.Column == "value" { // the default of tables
		return "lmp"
	}
	return s.Column
}

// decodeGridStatus parses an answer: rows whose columns depend on the dataset.
func decodeGridStatus(location, column string, body []byte) ([]Span, error) {
	var p struct {
		Data []map[string]any `json:"data"`
		Meta struct {
			More bool `json:"hasNextPage"`
		} `json:"meta"`
	}
	if err := parseJSON(body, &p); err != nil {
		return nil, err
	}
	switch {
	case p.Data == nil:
		return nil, missingFieldError("data")
	case p.Meta.More:
		return nil, fmt.Errorf("over %d rows: want a dataset of the prices of one location", gridStatusRows)
	}
	spans := make([]Span, 0, len(p.Data))
	for _, row := range p.Data {
		var at [2]time.Time
		for i, key := range []string{"interval_start_utc", "interval_end_utc"} {
			text, ok := row[key].(string)
			if !ok {
				return nil, missingFieldError(key)
			}
			var err error
			if at[i], err = parseInstant(text); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
		if got := fmt.Sprint(row["location"]); got != location {
			return nil, unexpectedUnitError("location", got, location)
		}
		price, there := row[column]
		if !there {
			return nil, missingFieldError(column)
		}
		if price == nil { // null: a gap
			continue
		}
		value, ok := price.(float64)
		if !ok {
			return nil, fmt.Errorf("%s %.40q is not a number", column, fmt.Sprint(price))
		}
		spans = append(spans, Span{From: at[0], To: at[1], Value: value})
	}
	return spans, nil
}
