package signals

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// eia reads api.eia.gov, version 2, form EIA-930: hourly generation of a balancing
// authority by fuel in MWh, from which the carbon intensity is computed. A period is
// named by the end of its hour, in UTC.
type eia struct{ Config }

// eiaFuelFactors maps fuel types to emission factors. Storage has 0: it does not generate.
var eiaFuelFactors = map[string]float64{
	"COL": factorCoal, "NG": factorGas, "OIL": factorOil, "NUC": factorNuclear, "WAT": factorHydro, "WND": factorWind, "SUN": factorSolar, "GEO": factorGeothermal,
	"BIO": factorBiomass, "OTH": factorUnnamed, "UNK": factorUnnamed, "SNB": factorSolar, "WNB": factorWind, "OES": 0, "BAT": 0, "PS": 0, "UES": 0,
}

// eiaPage is the largest number of rows in one answer.
const eiaPage = 5000

// fetchSpans requests all pages of the period and computes the intensity from their shares:
// an hour's fuels may be on two pages.
func (s eia) fetchSpans(ctx context.Context, d *serviceClient, from, _ time.Time) ([]Span, error) {
	var all []plantOutput
	// 20 pages bound the requests of one read; the period of a read needs fewer.
	for offset := 0; offset < 20*eiaPage; offset += eiaPage {
		body, err := d.getQuery(ctx, s.baseURL("https://api.eia.gov/v2")+"/electricity/rto/fuel-type-data/data/", url.Values{
			"api_key": {s.key}, "frequency": {"hourly"}, "data[0]": {"value"}, "facets[respondent][]": {s.Zone},
			"start": {from.UTC().Format("2006-01-02T15")}, "sort[0][column]": {"period"}, "sort[0][direction]": {"asc"},
			"offset": {fmt.Sprint(offset)}, "length": {fmt.Sprint(eiaPage)},
		})
		if err != nil {
			return nil, err
		}
		shares, total, err := decodeEIA(s.Zone, body)
		if err != nil {
			return nil, err
		}
		all = append(all, shares...)
		// total counts the rows of all pages.
		if offset+eiaPage >= total {
			break
		}
	}
	return intensityOfMix(all), nil
}

// decodeEIA returns the rows of one page, and the number of rows of all pages.
func decodeEIA(respondent string, body []byte) ([]plantOutput, int, error) {
	var p struct {
		Response *struct {
			Total *flexibleNumber `json:"total"`
			Data  []struct {
				Period     string          `json:"period"`
				Respondent string          `json:"respondent"`
				Fuel       string          `json:"fueltype"`
				Value      *flexibleNumber `json:"value"`
				Units      string          `json:"value-units"`
			} `json:"data"`
		} `json:"response"`
	}
	if err := parseJSON(body, &p); err != nil {
		return nil, 0, err
	}
	switch {
	case p.Response == nil:
		return nil, 0, missingFieldError("response")
	case p.Response.Data == nil:
		return nil, 0, missingFieldError("response.data")
	case p.Response.Total == nil || *p.Response.Total < 0 || *p.Response.Total > 1e6:
		return nil, 0, missingFieldError("response.total")
	}
	var shares []plantOutput
	for _, x := range p.Response.Data {
		factor, known := eiaFuelFactors[x.Fuel]
		end, err := time.Parse("2006-01-02T15", x.Period)
		switch {
		case x.Fuel == "":
			return nil, 0, missingFieldError("fueltype")
		case !known:
			return nil, 0, fmt.Errorf("unknown fueltype %.10q: the service may have changed its format", x.Fuel)
		case x.Respondent != respondent:
			return nil, 0, unexpectedUnitError("respondent", x.Respondent, respondent)
		case x.Units != "megawatthours":
			return nil, 0, unexpectedUnitError("value-units", x.Units, "megawatthours")
		case err != nil:
			return nil, 0, fmt.Errorf("period %.20q: want an hour in UTC, such as 2026-11-21T18", x.Period)
		}
		if x.Value != nil && factor > 0 { // null: not reported
			shares = append(shares, plantOutput{end.Add(-time.Hour), end, float64(*x.Value), factor})
		}
	}
	return shares, int(*p.Response.Total), nil
}
