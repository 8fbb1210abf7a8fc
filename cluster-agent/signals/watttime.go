package signals

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// wattTime reads api.watttime.org, version 3: the marginal emission rate (co2_moer)
// in pounds per MWh. A login's token is valid for half an hour.
type wattTime struct {
	Config
	token *bearerToken // of the last login
}

// gramsPerPound is also g/kWh of 1000 lb/MWh.
const gramsPerPound = 453.59237

// fetchSpans requests the history and, unless disabled, the forecast of up to 72 hours, which not
// every subscription has.
func (s wattTime) fetchSpans(ctx context.Context, d *serviceClient, from, to time.Time) ([]Span, error) {
	base := s.baseURL("https://api.watttime.org")
	history := url.Values{"region": {s.Zone}, "signal_type": {"co2_moer"}, "start": {from.Format(time.RFC3339)}, "end": {d.now().UTC().Format(time.RFC3339)}}
	all, err := s.querySpans(ctx, d, base+"/v3/historical", history, false)
	if err != nil || s.NoForecast {
		return all, err
	}
	hours := min(max(int(to.Sub(d.now()).Hours()), 1), 72)
	return withForecast(all, func() ([]Span, error) {
		return s.querySpans(ctx, d, base+"/v3/forecast", url.Values{"region": {s.Zone}, "signal_type": {"co2_moer"}, "horizon_hours": {fmt.Sprint(hours)}}, true)
	})
}

// querySpans sends a request with a valid token and logs in if necessary.
func (s wattTime) querySpans(ctx context.Context, d *serviceClient, address string, query url.Values, guess bool) ([]Span, error) {
	body, err := s.token.queryWithLogin(func() ([]byte, error) {
		return d.getQuery(ctx, s.baseURL("https://api.watttime.org")+"/login", nil,
			"Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(s.User+":"+s.key)))
	}, "token", func(bearer string) ([]byte, error) {
		return d.getQuery(ctx, address, query, "Authorization", bearer)
	}, http.StatusUnauthorized, http.StatusForbidden)
	if err != nil {
		return nil, err
	}
	return decodeWattTime(s.Zone, guess, body)
}

// decodeWattTime parses an answer and checks region, signal and unit.
func decodeWattTime(region string, guess bool, body []byte) ([]Span, error) {
	var p struct {
		Data []struct {
			At    string         `json:"point_time"`
			Value nullableNumber `json:"value"`
		} `json:"data"`
		Meta *struct {
			Region string `json:"region"`
			Signal string `json:"signal_type"`
			Units  string `json:"units"`
			Period int    `json:"data_point_period_seconds"`
		} `json:"meta"`
	}
	if err := parseJSON(body, &p); err != nil {
		return nil, err
	}
	switch {
	case p.Meta == nil:
		return nil, missingFieldError("meta")
	case p.Data == nil:
		return nil, missingFieldError("data")
	case p.Meta.Region != region:
		return nil, unexpectedUnitError("meta.region", p.Meta.Region, region)
	case p.Meta.Signal != "co2_moer":
		return nil, unexpectedUnitError("meta.signal_type", p.Meta.Signal, "co2_moer")
	case p.Meta.Units != "lbs_co2_per_mwh":
		return nil, unexpectedUnitError("meta.units", p.Meta.Units, "lbs_co2_per_mwh")
	// The period is the length of every span; bound it before use.
	case p.Meta.Period < 60 || p.Meta.Period > 3600:
		return nil, fmt.Errorf("meta.data_point_period_seconds is %d; want 60..3600", p.Meta.Period)
	}
	spans := make([]Span, 0, len(p.Data))
	for _, x := range p.Data {
		switch {
		case !x.Value.present:
			return nil, missingFieldError("data.value")
		case x.Value.null:
			continue
		}
		at, err := parseInstant(x.At)
		if err != nil {
			return nil, fmt.Errorf("point_time: %w", err)
		}
		spans = append(spans, Span{From: at, To: at.Add(time.Duration(p.Meta.Period) * time.Second), Value: x.Value.value * gramsPerPound / 1000, Guess: guess})
	}
	return spans, nil
}
