package signals

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"
)

// caiso reads CAISO's OASIS: prices of a node in $/MWh, day-ahead (DAM) or real-time
// (RTM, five minutes), as CSV in a zip archive with UTC timestamps.
type caiso struct{ Config }

// fetchSpans requests one report. The zip archive may contain several CSV files.
func (s caiso) fetchSpans(ctx context.Context, d *serviceClient, from, to time.Time) ([]Span, error) {
	const form = "20060102T15:04-0000"
	query, version, market := "PRC_LMP", "12", "DAM" // each report has its own version
	if s.Market == "real-time" {
		query, version, market = "PRC_INTVL_LMP", "3", "RTM"
		to = d.now()
		// Real time starts with one day of history: OASIS requires five seconds
		// between two requests. The first hour must be whole, because its mean would
		// otherwise be that of a part.
		if first := to.Add(-24*time.Hour - time.Nanosecond).Truncate(time.Hour).Add(time.Hour); from.Before(first) {
			from = first
		}
	}
	body, err := d.getQuery(ctx, s.baseURL("https://oasis.caiso.com/oasisapi")+"/SingleZip", url.Values{
		"resultformat": {"6"}, "queryname": {query}, "version": {version}, "market_run_id": {market}, "node": {s.Zone},
		"startdatetime": {from.UTC().Format(form)}, "enddatetime": {to.UTC().Format(form)},
	})
	if err != nil {
		return nil, err
	}
	return decodeCAISO(s.Zone, market, body)
}

// decodeCAISO parses the CSV files of a zip archive.
func decodeCAISO(node, market string, body []byte) ([]Span, error) {
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, fmt.Errorf("not a zip archive: %w", err)
	}
	var all []Span
	left := maxResponseBytes // of all files together, against zip bombs
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("zip: %w", err)
		}
		text, err := io.ReadAll(io.LimitReader(r, int64(left)+1))
		_ = r.Close()
		left -= len(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("zip: %w", err)
		case left < 0:
			return nil, fmt.Errorf("zip: over %d MiB unpacked", maxResponseBytes>>20)
		case !strings.HasSuffix(f.Name, ".csv"):
			return nil, fmt.Errorf("OASIS returned the file %.60q: %s", f.Name, plainExcerpt(text))
		}
		spans, err := decodeOASIS(node, market, text)
		if err != nil {
			return nil, err
		}
		all = append(all, spans...)
	}
	return all, nil
}

// decodeOASIS parses one CSV file and checks that it is of the requested node and market.
func decodeOASIS(node, market string, text []byte) ([]Span, error) {
	r := csv.NewReader(bytes.NewReader(text))
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("not a CSV: %w", err)
	}
	column := func(names ...string) (int, error) {
		for _, n := range names {
			if i := slices.Index(head, n); i >= 0 {
				return i, nil
			}
		}
		return 0, missingFieldError(names[0])
	}
	var at [6]int
	// The name of the value's column differs between reports.
	for i, names := range [][]string{{"INTERVALSTARTTIME_GMT"}, {"INTERVALENDTIME_GMT"}, {"NODE"}, {"MARKET_RUN_ID"}, {"LMP_TYPE"}, {"MW", "VALUE", "PRC"}} {
		if at[i], err = column(names...); err != nil {
			return nil, err
		}
	}
	var spans []Span
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return spans, nil
		}
		if err != nil {
			return nil, fmt.Errorf("not a CSV: %w", err)
		}
		if row[at[4]] != "LMP" { // skip the price components: energy, congestion, losses, greenhouse gas
			continue
		}
		if row[at[2]] != node {
			return nil, unexpectedUnitError("NODE", row[at[2]], node)
		}
		if row[at[3]] != market {
			return nil, unexpectedUnitError("MARKET_RUN_ID", row[at[3]], market)
		}
		from, err := parseInstant(row[at[0]])
		if err != nil {
			return nil, err
		}
		to, err := parseInstant(row[at[1]])
		if err != nil {
			return nil, err
		}
		var v flexibleNumber
		if err := v.UnmarshalJSON([]byte(row[at[5]])); err != nil {
			return nil, err
		}
		spans = append(spans, Span{From: from, To: to, Value: float64(v)})
	}
}
