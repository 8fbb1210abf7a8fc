package trace

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// An HourlyMean is one hour of a series that was joined from a file.
type HourlyMean struct {
	protocol.Point
	Filled bool // the file has no value: that of the hour before stands here
}

// timeColumns are how public files call the beginning of their hours; of others it is the first
// column.
var timeColumns = []string{"time_utc", "Datetime (UTC)", "datetime", "Datetime"}

// ReadDatedSeries reads a series of a public file for [from, to): a time column in the clock of zone
// where it has no offset, and a column that source names, perhaps with a factor as "Price
// (EUR/MWh)*1.08". Several values of an hour give their mean. An hour without any is an error or, if
// fill allows, as the hour before.
func ReadDatedSeries(r io.Reader, file, source string, what protocol.Quantity, zone *time.Location, from, to protocol.Time, fill GapPolicy) ([]HourlyMean, error) {
	lo, hi, err := quantityBounds(file, what)
	if err != nil {
		return nil, err
	}
	t, err := openTable(r, file)
	if err != nil {
		return nil, err
	}
	s, err := t.parseSource(source)
	if err != nil || s.column == "" {
		return nil, fmt.Errorf("trace: %s: no column %q: want one of %q", file, source, t.cols)
	}
	when := t.cols[0]
	for _, c := range timeColumns {
		if t.hasColumn(c) {
			when = c
			break
		}
	}
	hours := int(to.Sub(from) / time.Hour)
	sums, counts := make([]float64, hours), make([]int, hours)
	for t.nextRow() {
		at := t.localInstant(when, zone)
		if t.err != nil || at < from || at >= to || t.textField(s.column) == "" {
			continue
		}
		i := int(at.Sub(from) / time.Hour)
		sums[i] += t.numberOf(s, lo, hi)
		counts[i]++
	}
	if t.err != nil {
		return nil, t.err
	}
	out := make([]HourlyMean, hours)
	for i := range out {
		out[i].At = from.Add(time.Duration(i) * time.Hour)
		switch {
		case counts[i] > 0:
			out[i].Value = int64(1000*sums[i]/float64(counts[i]) + map[bool]float64{true: 0.5, false: -0.5}[sums[i] >= 0])
		case i > 0 && fill == PersistGaps:
			out[i].Value, out[i].Filled = out[i-1].Value, true
		default:
			return nil, fmt.Errorf("trace: %s: no %s at %v: name a file that has it, check the clock, or allow --fill", file, s.column, out[i].At)
		}
	}
	return out, nil
}

// localInstant returns a time that has an offset, or is in the clock of a zone.
func (t *csvTable) localInstant(col string, zone *time.Location) protocol.Time {
	text := t.textField(col)
	for i, layout := range append(instantLayouts, "2006-01-02T15:04", "2006-01-02 15:04") {
		at, err := time.Parse(layout, text)
		if i >= len(instantLayouts)-localLayouts && !strings.HasSuffix(text, "Z") {
			at, err = time.ParseInLocation(layout, text, zone)
		}
		if err == nil && at.Year() >= 1971 && at.Year() <= 2200 {
			return protocol.FromStdTime(at)
		}
	}
	t.failField(col, "a time as 2022-04-13T00:00:00Z or 2022-04-13 00:00:00")
	return 0
}
