package signals

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// entsoe reads the ENTSO-E transparency platform: day-ahead prices (A44), or
// generation by plant type (A75), from which the carbon intensity is computed. Its
// days are local and have 23, 24 or 25 hours; its timestamps are UTC.
type entsoe struct{ Config }

// fetchSpans requests prices up to tomorrow, or generation up to now.
func (s entsoe) fetchSpans(ctx context.Context, d *serviceClient, from, to time.Time) ([]Span, error) {
	q := url.Values{"securityToken": {s.key}, "documentType": {"A44"}, "in_Domain": {s.Zone}, "out_Domain": {s.Zone}}
	// A75 is generation by type and A16 the realised one; it has no future.
	if s.Tells == "carbon" {
		q = url.Values{"securityToken": {s.key}, "documentType": {"A75"}, "processType": {"A16"}, "in_Domain": {s.Zone}}
		to = d.now()
	}
	q.Set("periodStart", from.UTC().Truncate(time.Hour).Format("200601021504"))
	q.Set("periodEnd", to.UTC().Truncate(time.Hour).Add(time.Hour).Format("200601021504"))
	body, err := d.getQuery(ctx, s.baseURL("https://web-api.tp.entsoe.eu/api"), q)
	if err != nil {
		return nil, err
	}
	if s.Tells == "carbon" {
		return decodeEntsoeMix(body)
	}
	spans, err := decodeEntsoePrice(body, s.usedCurrency())
	return s.convertToDollars(spans), err
}

// entsoeDocument is the common part of both document types.
type entsoeDocument struct {
	XMLName xml.Name
	Reasons []string       `xml:"Reason>text"`
	Series  []entsoeSeries `xml:"TimeSeries"`
}

// entsoeSeries is one auction's prices, or one plant type's generation.
type entsoeSeries struct {
	Auction  int            `xml:"classificationSequence_AttributeInstanceComponent.position"`
	Currency string         `xml:"currency_Unit.name"`
	Per      string         `xml:"price_Measure_Unit.name"`
	Quantity string         `xml:"quantity_Measure_Unit.name"`
	Made     string         `xml:"inBiddingZone_Domain.mRID"` // empty for consumption, such as that of pumps
	Plant    string         `xml:"MktPSRType>psrType"`
	Curve    string         `xml:"curveType"`
	Periods  []entsoePeriod `xml:"Period"`
}

// entsoePeriod is a part of a series with one resolution.
type entsoePeriod struct {
	Start  string `xml:"timeInterval>start"`
	End    string `xml:"timeInterval>end"`
	Grain  string `xml:"resolution"`
	Points []struct {
		Position int     `xml:"position"`
		Price    *string `xml:"price.amount"`
		Quantity *string `xml:"quantity"`
	} `xml:"Point"`
}

// parseEntsoeDocument parses a document and checks its type.
func parseEntsoeDocument(body []byte, root string) ([]entsoeSeries, error) {
	var doc entsoeDocument
	if err := xml.Unmarshal(body, &doc); err != nil {
		return nil, fmt.Errorf("unexpected XML: %w", err)
	}
	switch {
	case doc.XMLName.Local == "Acknowledgement_MarketDocument":
		return nil, fmt.Errorf("the platform has no data: %s", plainExcerpt([]byte(strings.Join(doc.Reasons, "; "))))
	case doc.XMLName.Local != root:
		return nil, unexpectedUnitError("document", doc.XMLName.Local, root)
	case len(doc.Series) == 0:
		return nil, missingFieldError("TimeSeries")
	}
	return doc.Series, nil
}

// decodeEntsoePrice returns prices in the platform's currency. If there are several
// auctions, the first is the day-ahead price; others are of other exchanges or
// resolutions.
func decodeEntsoePrice(body []byte, currency string) ([]Span, error) {
	series, err := parseEntsoeDocument(body, "Publication_MarketDocument")
	if err != nil {
		return nil, err
	}
	// Series without an auction number have 0 and come first.
	slices.SortStableFunc(series, func(x, y entsoeSeries) int { return cmp.Compare(x.Auction, y.Auction) })
	first := series[0].Auction
	var all []Span
	for _, s := range series {
		switch {
		case s.Auction != first:
			continue
		case s.Currency != currency:
			return nil, unexpectedUnitError("currency_Unit.name", s.Currency, currency)
		case s.Per != "MWH":
			return nil, unexpectedUnitError("price_Measure_Unit.name", s.Per, "MWH")
		}
		spans, err := s.spansOfSeries(func(p entsoePoint) *string { return p.price })
		if err != nil {
			return nil, err
		}
		all = append(all, spans...)
	}
	return all, nil
}

// entsoePlantFactors maps plant types to emission factors. Pumped storage (B10) and batteries
// (B25) are missing: they do not generate.
var entsoePlantFactors = map[string]float64{
	"B01": factorBiomass, "B02": factorCoal, "B03": factorGas, "B04": factorGas, "B05": factorCoal, "B06": factorOil, "B07": factorOil, "B08": factorCoal, "B09": factorGeothermal,
	"B11": factorHydro, "B12": factorHydro, "B13": factorOcean, "B14": factorNuclear, "B15": factorBiomass, "B16": factorSolar, "B17": factorUnnamed, "B18": factorWind, "B19": factorWind, "B20": factorUnnamed,
}

// decodeEntsoeMix returns the carbon intensity of a zone's generation.
func decodeEntsoeMix(body []byte) ([]Span, error) {
	series, err := parseEntsoeDocument(body, "GL_MarketDocument")
	if err != nil {
		return nil, err
	}
	var shares []plantOutput
	for _, s := range series {
		factor, known := entsoePlantFactors[s.Plant]
		switch {
		case s.Plant == "":
			return nil, missingFieldError("MktPSRType.psrType")
		case s.Quantity != "MAW":
			return nil, unexpectedUnitError("quantity_Measure_Unit.name", s.Quantity, "MAW")
		case s.Made == "" || s.Plant == "B10" || s.Plant == "B25":
			continue
		case !known:
			return nil, fmt.Errorf("unknown psrType %.10q: the platform may have changed its format", s.Plant)
		}
		spans, err := s.spansOfSeries(func(p entsoePoint) *string { return p.quantity })
		if err != nil {
			return nil, err
		}
		for _, x := range spans {
			shares = append(shares, plantOutput{x.From, x.To, x.Value, factor})
		}
	}
	return intensityOfMix(shares), nil
}

// entsoePoint selects which value of a point is read.
type entsoePoint struct{ price, quantity *string }

// spansOfSeries returns the points of a series with their periods. A point of curve type A03
// holds until the next given point or the end of its period; one of A01 for one
// resolution step.
func (s entsoeSeries) spansOfSeries(value func(entsoePoint) *string) ([]Span, error) {
	if s.Curve != "A01" && s.Curve != "A03" {
		return nil, unexpectedUnitError("curveType", s.Curve, "A01 or A03")
	}
	var out []Span
	for _, p := range s.Periods {
		grain := map[string]time.Duration{"PT60M": time.Hour, "PT30M": 30 * time.Minute, "PT15M": 15 * time.Minute}[p.Grain]
		if grain == 0 {
			return nil, unexpectedUnitError("resolution", p.Grain, "PT60M, PT30M or PT15M")
		}
		start, err := parseInstant(p.Start)
		if err != nil {
			return nil, fmt.Errorf("timeInterval: start: %w", err)
		}
		end, err := parseInstant(p.End)
		if err != nil {
			return nil, fmt.Errorf("timeInterval: end: %w", err)
		}
		// Bound the period before computing positions from it: the document is external
		// input.
		if !end.After(start) || end.Sub(start) > maxSpanLength {
			return nil, fmt.Errorf("timeInterval from %s to %s: want an end after the start, within a year", p.Start, p.End)
		}
		if len(p.Points) == 0 {
			return nil, missingFieldError("Point")
		}
		n := int(end.Sub(start) / grain)
		for i, x := range p.Points {
			// Positions are 1-based; with curve A03 positions may be left out, but
			// never repeat.
			if x.Position < 1 || x.Position > n || i > 0 && x.Position <= p.Points[i-1].Position {
				return nil, fmt.Errorf("position %d in a period of %d positions, after %d points: want ascending positions", x.Position, n, i)
			}
			text := value(entsoePoint{x.Price, x.Quantity})
			if text == nil {
				return nil, missingFieldError("price.amount or quantity")
			}
			var v flexibleNumber
			if err := v.UnmarshalJSON([]byte(strings.TrimSpace(*text))); err != nil {
				return nil, err
			}
			span := Span{From: start.Add(time.Duration(x.Position-1) * grain), Value: float64(v)}
			span.To = span.From.Add(grain)
			if s.Curve == "A03" {
				span.To = end
				if i+1 < len(p.Points) {
					span.To = start.Add(time.Duration(p.Points[i+1].Position-1) * grain)
				}
			}
			if !span.To.After(span.From) {
				return nil, fmt.Errorf("position %d is followed by an earlier one", x.Position)
			}
			out = append(out, span)
		}
	}
	return out, nil
}
