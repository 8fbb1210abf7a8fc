package signals

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// prometheusQuery reads a Prometheus server: a query with a single series, in steps of five
// minutes. The configuration states its unit.
type prometheusQuery struct{ Config }

// prometheusStep is the distance of samples; a sample counts until the next is due.
const prometheusStep = 5 * time.Minute

// fetchSpans requests the samples of the period up to now; a server has no forecasts.
func (s prometheusQuery) fetchSpans(ctx context.Context, d *serviceClient, from, _ time.Time) ([]Span, error) {
	headers := []string(nil)
	if s.key != "" {
		headers = []string{"Authorization", "Bearer " + s.key}
	}
	body, err := d.getQuery(ctx, s.URL+"/api/v1/query_range", url.Values{
		"query": {s.Query}, "step": {strconv.Itoa(int(prometheusStep.Seconds()))},
		"start": {strconv.FormatInt(from.Truncate(prometheusStep).Unix(), 10)}, "end": {strconv.FormatInt(d.now().Unix(), 10)},
	}, headers...)
	if err != nil {
		return nil, err
	}
	spans, err := decodePrometheus(body)
	return s.convertUnits(spans), err
}

// noPrometheusValue are the results of a division by zero in a query. Such samples are skipped:
// as errors they would block all other samples of the period.
var noPrometheusValue = []string{`"NaN"`, `"+Inf"`, `"-Inf"`}

// decodePrometheus parses the answer of a range query. An empty result is no error
// here: validateSpans reports it.
func decodePrometheus(body []byte) ([]Span, error) {
	var p struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Data   *struct {
			Type   string `json:"resultType"`
			Result []struct {
				Values [][2]json.RawMessage `json:"values"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := parseJSON(body, &p); err != nil {
		return nil, err
	}
	switch {
	case p.Status != "success":
		return nil, fmt.Errorf("status %.20q: %s", p.Status, plainExcerpt([]byte(p.Error)))
	case p.Data == nil:
		return nil, missingFieldError("data")
	case p.Data.Type != "matrix":
		return nil, unexpectedUnitError("resultType", p.Data.Type, "matrix")
	// Several series would have to be combined, and only the operator knows how.
	case len(p.Data.Result) > 1:
		return nil, fmt.Errorf("the query has %d series: aggregate them into one, with avg or sum", len(p.Data.Result))
	case len(p.Data.Result) == 0:
		return nil, nil
	case p.Data.Result[0].Values == nil:
		return nil, missingFieldError("values")
	}
	var spans []Span
	for _, x := range p.Data.Result[0].Values {
		var at, v flexibleNumber
		if err := at.UnmarshalJSON(x[0]); err != nil {
			return nil, err
		}
		if slices.Contains(noPrometheusValue, string(x[1])) {
			continue
		}
		if err := v.UnmarshalJSON(x[1]); err != nil {
			return nil, err
		}
		if at < 0 || at > 1e11 {
			return nil, fmt.Errorf("sample time %g s is out of range", float64(at))
		}
		t := time.UnixMilli(int64(float64(at) * 1000)).UTC()
		spans = append(spans, Span{From: t, To: t.Add(prometheusStep), Value: float64(v)})
	}
	return spans, nil
}
