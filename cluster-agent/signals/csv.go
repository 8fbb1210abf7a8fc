package signals

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// csvTable reads a CSV file, local or at an address, with a column of times and one of
// values. Each value holds until the next one; the last holds as long as the one
// before. Future values count as facts, as in a tariff.
type csvTable struct{ Config }

// fetchSpans reads the whole table each time: files have no query for a period.
func (s csvTable) fetchSpans(ctx context.Context, d *serviceClient, _, _ time.Time) ([]Span, error) {
	var body []byte
	var err error
	if s.File != "" {
		body, err = readLimitedFile(s.File)
	} else {
		headers := []string(nil)
		if s.key != "" {
			headers = []string{"Authorization", "Bearer " + s.key}
		}
		body, err = d.getQuery(ctx, s.URL, nil, headers...)
	}
	if err != nil {
		return nil, err
	}
	var where *time.Location
	if s.Timezone != "" {
		if where, err = time.LoadLocation(s.Timezone); err != nil {
			return nil, fmt.Errorf("timezone: %w", err)
		}
	}
	spans, err := decodeTable(s.TimeColumn, s.Column, where, body)
	return s.convertUnits(spans), err
}

// readLimitedFile reads a file of at most maxResponseBytes.
func readLimitedFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, maxResponseBytes+1))
	if err == nil && len(body) > maxResponseBytes {
		err = fmt.Errorf("%s: over %d MiB", name, maxResponseBytes>>20)
	}
	return body, err
}

// decodeTable parses a table. Times have offsets, or are local times of where if it
// is not nil. In the hour that clocks repeat in autumn, times that would not ascend
// are of the second pass.
func decodeTable(when, what string, where *time.Location, body []byte) ([]Span, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(body, []byte("\ufeff")))) // spreadsheets write a byte order mark
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("not a CSV: %w", err)
	}
	// Columns are found by their names: an operator may add others.
	at, value := slices.Index(head, when), slices.Index(head, what)
	if at < 0 {
		return nil, missingFieldError(when)
	}
	if value < 0 {
		return nil, missingFieldError(what)
	}
	var spans []Span
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("not a CSV: %w", err)
		}
		if len(spans) == maxSpans {
			return nil, fmt.Errorf("over %d rows", maxSpans)
		}
		// Times in the repeated hour of autumn are resolved by the row before.
		var last time.Time
		if len(spans) > 0 {
			last = spans[len(spans)-1].From
		}
		t, err := parseTableTime(row[at], where, last)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(spans)+2, err)
		}
		// Equal or descending times would make spans of no or negative length.
		if len(spans) > 0 && !t.After(last) {
			return nil, fmt.Errorf("line %d: %s is not after the line before", len(spans)+2, row[at])
		}
		var v flexibleNumber
		if err := v.UnmarshalJSON([]byte(row[value])); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(spans)+2, err)
		}
		spans = append(spans, Span{From: t, Value: float64(v)})
	}
	// A row holds until the next one.
	for i := range spans {
		switch {
		case i+1 < len(spans):
			spans[i].To = spans[i+1].From
		// The last row has no successor: assume the step before it.
		case i > 0:
			spans[i].To = spans[i].From.Add(spans[i].From.Sub(spans[i-1].From))
		default:
			spans[i].To = spans[i].From.Add(time.Hour)
		}
	}
	return spans, nil
}

// parseTableTime parses a time of a table; last is the time of the row before.
func parseTableTime(s string, where *time.Location, last time.Time) (time.Time, error) {
	if where == nil {
		return parseInstant(s)
	}
	for _, form := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		t, err := time.Parse(form, s)
		if err != nil {
			continue
		}
		sinceMidnight := time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
		at, err := parseLocalTime(t.Format("2006-01-02"), sinceMidnight, false, where)
		if err == nil && !last.IsZero() && !at.After(last) {
			at, err = parseLocalTime(t.Format("2006-01-02"), sinceMidnight, true, where)
		}
		return at, err
	}
	return time.Time{}, fmt.Errorf("%.40q is not a local time of %s, such as 2026-11-21T18:00", s, where)
}
