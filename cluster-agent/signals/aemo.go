package signals

import (
	"context"
	"fmt"
	"time"
)

// aemo reads the data that the dashboard of Australia's market operator shows: prices of a region
// of the National Electricity Market (NSW1, QLD1, SA1, TAS1, VIC1) in AUD/MWh: those of
// the last day, every five minutes, and the operator's forecast of about 16 hours, every half hour.
// No key is needed.
type aemo struct{ Config }

// aemoClock is the market's time: UTC+10, never daylight saving.
var aemoClock = time.FixedZone("NEM", 10*3600)

// fetchSpans requests the one report that there is.
func (s aemo) fetchSpans(ctx context.Context, d *serviceClient, _, _ time.Time) ([]Span, error) {
	body, err := d.postJSON(ctx, s.baseURL("https://visualisations.aemo.com.au/aemo/apps/api/report")+"/5MIN", `{"timeScale":["30MIN"]}`)
	if err != nil {
		return nil, err
	}
	spans, err := decodeAEMO(s.Zone, s.NoForecast, body)
	return s.convertToDollars(spans), err
}

// decodeAEMO returns the rows of one region. A row is named by the end of its period, and the
// report holds all regions, each in order of time.
func decodeAEMO(region string, noForecast bool, body []byte) ([]Span, error) {
	var p struct {
		Rows []struct {
			End    string         `json:"SETTLEMENTDATE"`
			Region string         `json:"REGIONID"`
			Price  nullableNumber `json:"RRP"`
			Kind   string         `json:"PERIODTYPE"`
		} `json:"5MIN"`
	}
	if err := parseJSON(body, &p); err != nil {
		return nil, err
	}
	if p.Rows == nil {
		return nil, missingFieldError("5MIN")
	}
	const short, long = 5 * time.Minute, 30 * time.Minute
	var spans []Span
	var before time.Time // end of the row before
	for _, x := range p.Rows {
		if x.Region != region {
			continue
		}
		end, err := time.ParseInLocation("2006-01-02T15:04:05", x.End, aemoClock)
		width := short
		switch {
		case err != nil:
			return nil, fmt.Errorf("SETTLEMENTDATE %.40q: want a time such as 2026-02-10T16:35:00", x.End)
		case x.Kind != "ACTUAL" && x.Kind != "FORECAST":
			return nil, unexpectedUnitError("PERIODTYPE", x.Kind, "ACTUAL or FORECAST")
		case !x.Price.present:
			return nil, missingFieldError("RRP")
		case !before.IsZero() && !end.After(before):
			return nil, fmt.Errorf("SETTLEMENTDATE %s follows a later one", x.End)
		case x.Kind == "FORECAST":
			width = long
		}
		// The first forecast may be of a half hour that has begun.
		from := end.Add(-width)
		if from.Before(before) {
			from = before
		}
		before = end
		if x.Price.null || noForecast && x.Kind == "FORECAST" {
			continue
		}
		spans = append(spans, Span{From: from.UTC(), To: end.UTC(), Value: x.Price.value, Guess: x.Kind == "FORECAST"})
	}
	return spans, nil
}
